package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// Sizes of lanes.
const (
	lanePad   = 5.0
	barHeight = 18.0
	clockRow  = 22.0
)

// ground paints a lane's background.
func (p *painter) ground(height float64, striped bool) {
	fill := white
	if striped {
		fill = stripe
	}
	p.back.box("lane", margin, p.y, pictureWidth-2*margin, height, fill, none, "")
	p.back.line("lane", laneEdge, 0.5, point{margin, p.y + height}, point{pictureWidth - margin, p.y + height})
}

// caption names a row of a lane, at the right end of the label column.
func (p *painter) caption(y float64, text string) {
	x := margin + labelWidth - 8 - wide(text, smallSize, false)
	p.lanes.text("caption", x, y, text, smallSize, false, quiet)
}

// clientLane paints what a client waited for, believed and did.
func (p *painter) clientLane(c *track, striped bool) {
	flags := p.flagsOf(c, true)
	rows := p.place(flags)
	beliefs := p.within(c.beliefs)
	levels, height := levels(beliefs)
	clock, low, high := p.shifts(c.clock)

	top := p.y + lanePad
	bars := top + float64(rows)*flagHeight
	bottom := bars + float64(height)*barHeight
	end := bottom + lanePad
	if len(clock) > 0 {
		end += clockRow
	}
	p.ground(end-p.y, striped)
	p.lanes.begin(fmt.Sprintf("client-%d", c.number), "")
	p.lanes.box("swatch", margin+2, bars+4, 10, 10, p.colourOf(c.number), dark(p.colourOf(c.number)), "")
	p.lanes.text("name", margin+17, bars+13, history.Owner(c.number), textSize, true, ink)

	p.waits(c, bars)
	for i := range beliefs {
		p.belief(&beliefs[i], bars+float64(levels[i])*barHeight)
	}
	p.works(c, beliefs, levels, bars)
	for _, b := range p.within(c.stalls) {
		left, right := p.clip(b.span)
		p.used["stall"] = true
		p.lanes.box("stall", left, bars, max(2, right-left), bottom-bars, none, faulty, b.title)
		p.lanes.hatch("stall", left, bars, max(2, right-left), bottom-bars, 7, faulty)
	}
	for _, b := range p.within(c.elsewhere) {
		left, right := p.clip(b.span)
		p.used["elsewhere"] = true
		p.lanes.box("elsewhere", left, bottom+1, max(1, right-left), 2, nobody, none, b.title)
	}
	p.outlines(c.number, bars, bottom)
	p.paintFlags(flags, top, bottom)
	if len(clock) > 0 {
		p.clock(clock, low, high, bottom+lanePad)
	}
	p.lanes.end()
	p.y = end
}

// levels stacks bars that overlap, which happens when two workers of one client
// believe at once, and returns how many levels there are, at least 1.
func levels(bars []bar) (level []int, height int) {
	var ends []time.Duration
	for i := range bars {
		l := slices.IndexFunc(ends, func(e time.Duration) bool { return e <= bars[i].from })
		switch {
		case l >= 0:
			ends[l] = bars[i].to
		case len(ends) < flagRows:
			l = len(ends)
			ends = append(ends, bars[i].to)
		default:
			l = len(ends) - 1
		}
		level = append(level, l)
	}
	return level, max(1, len(ends))
}

// waits paints a client's acquisitions: thin bars, with a stroke at the end of
// those that failed.
func (p *painter) waits(c *track, y float64) {
	for _, b := range p.within(c.waits) {
		left, right := p.clip(b.span)
		p.used["wait"] = true
		colour := p.colourOf(c.number)
		p.lanes.box("wait", left, y+6, max(1, right-left), 6, faded(colour, 0.35), dark(colour), b.title)
		if b.ended != granted && p.isIn(b.to) {
			p.used["refused"] = true
			p.lanes.line("refused", dark(colour), 1.5, point{right, y + 2}, point{right, y + 16})
		}
	}
}

// belief paints one belief, with its words if there is room.
func (p *painter) belief(b *bar, y float64) {
	left, right := p.clip(b.span)
	p.used["belief"] = true
	colour := p.colourOf(b.owner)
	p.lanes.box("belief", left, y+1, max(1.5, right-left), barHeight-2, colour, dark(colour), b.title)
}

// works paints what a client did under its locks, in the bar of each, and
// beyond its end if it went on.
func (p *painter) works(c *track, beliefs []bar, levels []int, y float64) {
	for _, b := range p.within(c.works) {
		level := 0
		for i := range beliefs {
			if beliefs[i].token == b.token {
				level = levels[i]
			}
		}
		left, right := p.clip(b.span)
		p.used["work"] = true
		p.lanes.box("work", left, y+float64(level)*barHeight+6.5, max(1.5, right-left), 5, ink, white, b.title)
	}
}

// outlines frames in red what a client believes during an overlap.
func (p *painter) outlines(client int, top, bottom float64) {
	for _, m := range p.overlaps() {
		if slices.Contains(m.Clients, client) {
			left, right := p.clip(span{m.From, m.To})
			p.front.add(shape{form: box, class: "overlap", edge: red, thick: 2.5, title: p.overlapWords(m),
				points: []point{{left, top - 1}, {max(right, left+2), bottom + 1}}})
		}
	}
}

// nodeLane paints what was done to a node, whose keys it kept, and its clock.
func (p *painter) nodeLane(n *track, striped bool) {
	flags := p.flagsOf(n, false)
	rows := p.place(flags)
	top := p.y + lanePad
	bars := top + float64(rows)*flagHeight
	bottom := bars + barHeight
	end := bottom + lanePad
	clock, low, high := p.shifts(n.clock)
	if len(clock) > 0 {
		end += clockRow
	}
	p.ground(end-p.y, striped)
	p.lanes.begin(fmt.Sprintf("node-%d", n.number), "")
	p.lanes.text("name", margin+2, bars+13, fmt.Sprintf("node %d", n.number), textSize, true, ink)
	if rows > 0 {
		p.caption(top+11, "faults")
	}
	if len(n.keys) > 0 {
		p.caption(bars+13, "keys")
	}
	for _, b := range p.within(n.keys) {
		p.key(&b, bars)
	}
	p.paintFlags(flags, top, bottom)
	if len(clock) > 0 {
		p.clock(clock, low, high, bottom+lanePad)
	}
	p.lanes.end()
	p.y = end
}

// key paints a key that a node kept, with its owner if there is room.
func (p *painter) key(b *bar, y float64) {
	left, right := p.clip(b.span)
	colour := p.colourOf(b.owner)
	p.used["key"] = true
	if b.owner < 1 {
		p.used["nobody"] = true
	}
	p.lanes.box("key", left, y+2, max(1.5, right-left), barHeight-4, faded(colour, 0.75), dark(colour), b.title)
	if b.owner < 1 {
		return
	}
	for _, label := range []string{history.Owner(b.owner), fmt.Sprint(b.owner)} {
		if w := wide(label, smallSize, false); w+6 <= right-left {
			p.lanes.text("owner", left+4, y+13, label, smallSize, false, inkOn(faded(colour, 0.75)))
			return
		}
	}
}
