package report

import "time"

// noticeable is from what offset on a clock is drawn.
const noticeable = time.Millisecond

// A step is a clock's offset between two measurements.
type step struct {
	span
	offset  time.Duration
	changed bool // it differs from the one before
}

// shifts returns a clock's offsets in the window as steps, and their range, which
// includes 0. None, if it was right all the time.
func (p *painter) shifts(clock []reading) (steps []step, low, high time.Duration) {
	for i, r := range clock {
		s := step{span: span{r.at, p.t.end}, offset: r.offset}
		if i+1 < len(clock) {
			s.to = clock[i+1].at
		}
		if s.to > p.cut.from && s.from <= p.cut.to {
			steps = append(steps, s)
			low, high = min(low, r.offset), max(high, r.offset)
		}
	}
	if max(-low, high) < noticeable {
		return nil, 0, 0
	}
	for i := range steps {
		steps[i].changed = i == 0 || (steps[i].offset-steps[i-1].offset).Abs() > (high-low)/20
	}
	return steps, low, high
}

// clock paints how far ahead of the true time a clock was measured to be, as
// steps, with numbers where they change.
func (p *painter) clock(steps []step, low, high time.Duration, y float64) {
	p.caption(y+13, "clock")
	p.used["clock"] = true
	const height = clockRow - 8
	at := func(offset time.Duration) float64 {
		return y + 1 + height*(float64(high)-float64(offset))/(float64(high)-float64(low))
	}
	p.lanes.line("true-time", laneEdge, 1, point{p.axis.left, at(0)}, point{p.axis.right, at(0)})
	var points []point
	busy := p.axis.left - 1 // up to where there are numbers
	for _, s := range steps {
		left, right := p.clip(s.span)
		points = append(points, point{left, at(s.offset)}, point{right, at(s.offset)})
		label := signed(s.offset)
		w := wide(label, smallSize, false)
		if !s.changed || s.length() == 0 || left+4 <= busy || left+4+w >= p.axis.right {
			continue
		}
		base := at(s.offset) + 11
		if at(s.offset) > y+height/2 {
			base = at(s.offset) - 3
		}
		p.lanes.text("offset", left+4, base, label, smallSize, false, ink)
		busy = left + 10 + w
	}
	p.lanes.line("clock", ink, 1.5, points...)
}
