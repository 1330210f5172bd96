package report

import "image/color"

// Colours that stay apart for people with any kind of colour blindness (after
// Okabe and Ito, without their red). Red means an overlap, and nothing else.
var (
	owners = []color.NRGBA{
		hex(0x0072B2), // blue
		hex(0xE69F00), // orange
		hex(0x009E73), // green
		hex(0x56B4E9), // sky
		hex(0xCC79A7), // pink
		hex(0x8C6D31), // brown
		hex(0x5B4FA3), // violet
	}
	red      = hex(0xD1001F)
	ink      = hex(0x1A1A1A)
	quiet    = hex(0x5F6368) // words that explain
	nobody   = hex(0xB5B5B5) // keys of attempts that failed
	faulty   = hex(0x43474D) // faults
	hairline = hex(0xE3E5E8)
	laneEdge = hex(0xC4C8CD)
	white    = hex(0xFFFFFF)
	stripe   = hex(0xF6F7F9) // every other lane
	none     = color.NRGBA{}
)

func hex(rgb uint32) color.NRGBA {
	return color.NRGBA{R: uint8(rgb >> 16), G: uint8(rgb >> 8), B: uint8(rgb), A: 255}
}

// colours gives each client one, those of findings first: where colours have to
// repeat, they repeat elsewhere.
func (p *painter) colours() {
	p.colour = map[int]color.NRGBA{}
	give := func(client int) {
		if _, given := p.colour[client]; !given && client > 0 {
			p.colour[client] = owners[len(p.colour)%len(owners)]
		}
	}
	if len(p.t.clients) > len(owners) {
		for i := range p.run.Marks {
			if m := &p.run.Marks[i]; m.Name == p.t.name && p.visible(span{m.From, m.To}) {
				for _, client := range m.Clients {
					give(client)
				}
			}
		}
	}
	for _, c := range sorted(p.t.clients) {
		give(c.number)
	}
}

// colourOf returns a client's colour. Bars carry the client's number too: with
// many clients colours repeat.
func (p *painter) colourOf(client int) color.NRGBA {
	if c, ok := p.colour[client]; ok {
		return c
	}
	return nobody
}

// faded returns c with a share of it left, as it looks on white.
func faded(c color.NRGBA, share float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(255 - float64(255-v)*share) }
	return color.NRGBA{R: mix(c.R), G: mix(c.G), B: mix(c.B), A: c.A}
}

// dark returns a darker c, for edges.
func dark(c color.NRGBA) color.NRGBA {
	return color.NRGBA{R: uint8(int(c.R) * 6 / 10), G: uint8(int(c.G) * 6 / 10), B: uint8(int(c.B) * 6 / 10), A: c.A}
}

// sheer returns c, through which share of what is below is seen.
func sheer(c color.NRGBA, share float64) color.NRGBA {
	c.A = uint8(255 * (1 - share))
	return c
}

// inkOn returns the colour of words on a ground of colour c.
func inkOn(c color.NRGBA) color.NRGBA {
	if 299*int(c.R)+587*int(c.G)+114*int(c.B) > 135_000 {
		return ink
	}
	return white
}
