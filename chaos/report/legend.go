package report

// A sign explains something that was drawn.
type sign struct {
	class string
	words string
	paint func(p *painter, x, y float64) // in a box of 26 x 18
}

var signs = []sign{
	{"wait", "a client asks for the lock", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+6, 26, 6, faded(owners[0], 0.35), dark(owners[0]), "")
	}},
	{"refused", "in vain (stroke)", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+6, 20, 6, faded(owners[0], 0.35), dark(owners[0]), "")
		p.front.line("sign", dark(owners[0]), 1.5, point{x + 20, y + 2}, point{x + 20, y + 16})
	}},
	{"belief", "believes that it holds the lock", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+1, 26, 16, owners[0], dark(owners[0]), "")
	}},
	{"work", "works under it, from reading to writing", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+1, 26, 16, owners[0], dark(owners[0]), "")
		p.front.box("sign", x+5, y+6.5, 16, 5, ink, white, "")
	}},
	{"elsewhere", "holds another lock", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+8, 26, 2, nobody, none, "")
	}},
	{"stall", "is stopped: it sees nothing and does nothing", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+1, 26, 16, none, faulty, "")
		p.front.hatch("sign", x, y+1, 26, 16, 7, faulty)
	}},
	{"crash", "crashes", func(p *painter, x, y float64) { p.glyph(&p.front, "crash", x+13, y+9, "") }},
	{"stale-write", "wrote after its lock had ended", func(p *painter, x, y float64) { p.glyph(&p.front, "stale-write", x+13, y+9, "") }},
	{"lost-update", "wrote over an update that it had not read", func(p *painter, x, y float64) { p.glyph(&p.front, "lost-update", x+13, y+9, "") }},
	{"note", "another finding", func(p *painter, x, y float64) { p.glyph(&p.front, "note", x+13, y+9, "") }},
	{"key", "a node keeps a key, in its owner's colour", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+2, 13, 14, faded(owners[0], 0.75), dark(owners[0]), "")
		p.front.box("sign", x+13, y+2, 13, 14, faded(owners[1], 0.75), dark(owners[1]), "")
	}},
	{"nobody", "a key of an attempt that failed", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+2, 26, 14, faded(nobody, 0.75), dark(nobody), "")
	}},
	{"fault-bar", "a fault, from when to when", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+3, 26, 12, faulty, white, "")
	}},
	{"fault-moment", "a fault that is over at once", func(p *painter, x, y float64) { p.glyph(&p.front, "fault", x+13, y+9, "") }},
	{"clock", "how far a clock is ahead of true time, measured", func(p *painter, x, y float64) {
		p.front.line("sign", ink, 1.5, point{x, y + 13}, point{x + 13, y + 13}, point{x + 13, y + 5}, point{x + 26, y + 5})
	}},
	{"overlap", "two owners believe at once: mutual exclusion is broken", func(p *painter, x, y float64) {
		p.front.box("sign", x, y+1, 26, 16, sheer(red, 0.84), red, "")
	}},
}

// legend explains what was drawn, and only that.
func (p *painter) legend() {
	const row = 22.0
	p.front.begin("legend", "what the signs mean")
	p.y += 6
	x := margin
	for _, s := range signs {
		if !p.used[s.class] {
			continue
		}
		w := 26 + 6 + wide(s.words, textSize, false)
		if x > margin && x+w > pictureWidth-margin {
			x, p.y = margin, p.y+row
		}
		s.paint(p, x, p.y)
		p.front.text("meaning", x+32, p.y+13, s.words, textSize, false, ink)
		x += w + 22
	}
	p.y += row
	p.front.end()
}
