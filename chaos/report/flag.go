package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A flag is something in a lane that has a label: a fault, a finding, a crash.
type flag struct {
	span
	label   string
	title   string
	class   string
	instant bool
	row     int
	labelAt float64 // -1: there is no room for it
	inside  bool    // the label is in the bar
}

// Sizes of flags.
const (
	flagHeight = 15.0
	flagRows   = 4 // at most in one lane
)

// flagsOf returns the flags of a client or node that are in the window.
func (p *painter) flagsOf(l *track, client bool) []flag {
	var all []flag
	add := func(f flag) {
		if f.meets(p.cut.span) {
			all = append(all, f)
		}
	}
	for i := range l.strikes {
		s := &l.strikes[i]
		f := flag{span: s.span, label: s.fault, class: "fault", instant: s.instant}
		if len(s.with) > 0 {
			slices.Sort(s.with)
			if len(s.with) < len(p.t.clients) {
				f.label += " (" + clientsInWords(s.with) + ")"
			} else {
				f.label += " (all clients)"
			}
		}
		f.title = f.label + ", " + instant(s.from)
		if !s.instant {
			f.title += " to " + instant(s.to)
		}
		for _, seen := range slices.Compact(slices.Sorted(slices.Values(s.seen))) {
			f.title += "; confirmed: " + seen
		}
		add(f)
	}
	if !client {
		return all
	}
	for _, at := range l.crashes {
		add(flag{span: span{at, at}, label: "crash", class: "crash", instant: true,
			title: history.Owner(l.number) + " crashes at " + instant(at)})
	}
	for i := range p.run.Marks {
		m := &p.run.Marks[i]
		if m.Kind != StaleWrite && m.Kind != LostUpdate || m.Name != p.t.name || len(m.Clients) == 0 || m.Clients[0] != l.number {
			continue
		}
		class := map[MarkKind]string{StaleWrite: "stale-write", LostUpdate: "lost-update"}[m.Kind]
		add(flag{span: span{m.From, m.From}, label: string(m.Kind), class: class, instant: true,
			title: string(m.Kind) + " at " + instant(m.From) + ": " + m.Text})
	}
	return all
}

// place gives every flag a row, so that neither bars nor labels meet, and
// returns how many rows there are. Where that takes too many rows, the rest
// lose their labels.
func (p *painter) place(flags []flag) int {
	slices.SortStableFunc(flags, func(a, b flag) int { return cmp.Compare(a.from, b.from) })
	var ends []float64
	for i := range flags {
		f := &flags[i]
		left, right := p.axis.x(f.from), p.axis.x(f.to)
		need := wide(f.label, smallSize, false)
		f.instant = f.instant || right-left < 4 // too short for a bar
		f.inside = !f.instant && right-left >= need+8
		end := right + 4
		f.labelAt = left + 4
		if !f.inside {
			f.labelAt = max(right, left+3) + 6
			if f.labelAt+need > p.axis.right { // it would leave the picture: to the left
				f.labelAt = left - 9 - need
				left = f.labelAt
			} else {
				end = f.labelAt + need + 6
			}
		}
		f.row = slices.IndexFunc(ends, func(e float64) bool { return e <= left-2 })
		switch {
		case f.row >= 0:
			ends[f.row] = end
		case len(ends) < flagRows:
			f.row = len(ends)
			ends = append(ends, end)
		default:
			f.row, f.labelAt = len(ends)-1, -1
			ends[f.row] = max(ends[f.row], right+4)
		}
	}
	return len(ends)
}

// paintFlags paints placed flags from y down. Moments are drawn on to bottom,
// so that one sees what they meet.
func (p *painter) paintFlags(flags []flag, y, bottom float64) {
	for i := range flags {
		f := &flags[i]
		p.used[f.class] = true
		top := y + float64(f.row)*flagHeight
		left, right := p.axis.x(f.from), p.axis.x(f.to)
		words := ink
		switch {
		case f.instant:
			p.used[f.class+"-moment"] = true
			p.lanes.line("moment", faulty, 1, point{left, top + 7}, point{left, bottom})
			p.glyph(&p.lanes, f.class, left, top+7, f.title)
		default:
			p.used[f.class+"-bar"] = true
			fill, edge := faulty, white
			if f.class == "note" {
				fill, edge = white, faulty
			}
			p.lanes.box(f.class, left, top+1, right-left, flagHeight-2, fill, edge, f.title)
			if f.inside {
				words = inkOn(fill)
			}
		}
		if f.labelAt >= 0 {
			p.lanes.text("label", f.labelAt, top+11, f.label, smallSize, false, words)
		}
	}
}

// glyph paints the sign of a moment.
func (p *painter) glyph(s *scene, class string, x, y float64, title string) {
	const r = 5.5
	one := shape{form: area, class: class, title: title, edge: ink, thick: 1, fill: faulty}
	switch class {
	case "crash":
		s.line("crash", ink, 2.5, point{x - r + 1, y - r + 1}, point{x + r - 1, y + r - 1})
		s.line("crash", ink, 2.5, point{x - r + 1, y + r - 1}, point{x + r - 1, y - r + 1})
		return
	case "stale-write": // a warning sign
		one.points = []point{{x, y - r}, {x + r, y + r - 1}, {x - r, y + r - 1}}
		one.fill = hex(0xF0E442)
	case "note":
		one.points = []point{{x, y - r}, {x + r, y}, {x, y + r}, {x - r, y}}
		one.fill = white
	case "lost-update":
		one.points = []point{{x - r, y - r + 1}, {x + r, y - r + 1}, {x, y + r}}
		one.fill = white
	default:
		one.points = []point{{x, y - r}, {x + r, y}, {x, y + r}, {x - r, y}}
	}
	s.add(one)
}

// notes paints findings that belong to no lane.
func (p *painter) notes() {
	var flags []flag
	for i := range p.run.Marks {
		if m := &p.run.Marks[i]; m.Kind == Note {
			f := flag{span: span{m.From, max(m.From, m.To)}, label: shortened(clean(m.Text), 80), title: m.Text,
				class: "note", instant: m.To <= m.From}
			if f.meets(p.cut.span) && len(flags) < crowded {
				flags = append(flags, f)
			}
		}
	}
	if len(flags) == 0 {
		return
	}
	p.section("FINDINGS", "")
	p.y -= 16
	p.lanes.begin("findings", "what the checkers found")
	rows := p.place(flags)
	bottom := p.y + float64(rows)*flagHeight
	p.paintFlags(flags, p.y, bottom)
	p.lanes.end()
	p.y = bottom + 4
}

// clip returns the part of s that is shown.
func (p *painter) clip(s span) (left, right float64) { return p.axis.x(s.from), p.axis.x(s.to) }

// visible reports whether s is shown, at least in part.
func (p *painter) visible(s span) bool { return s.meets(p.cut.span) }

// within returns the indices of bars that are shown, at most as many as can be
// told apart.
func (p *painter) within(bars []bar) []bar {
	var some []bar
	for i := range bars {
		if p.visible(bars[i].span) {
			some = append(some, bars[i])
		}
	}
	return some[:min(len(some), 4*crowded)]
}

// isIn reports whether a moment is shown.
func (p *painter) isIn(at time.Duration) bool { return p.cut.from <= at && at <= p.cut.to }
