package report

import (
	"cmp"
	"slices"
)

// labelRows is how many rows of labels overlaps get.
const labelRows = 3

// overlaps returns the overlaps of the lock that are shown, by time.
func (p *painter) overlaps() []*Mark {
	var all []*Mark
	for i := range p.run.Marks {
		m := &p.run.Marks[i]
		if m.Kind == Overlap && m.Name == p.t.name && p.visible(span{m.From, max(m.From, m.To)}) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *Mark) int { return cmp.Compare(a.From, b.From) })
	return all[:min(len(all), crowded)]
}

// overlapWords say who overlapped how long.
func (p *painter) overlapWords(m *Mark) string {
	return "OVERLAP: " + both(m.Clients) + " believe, " + length(m.To-m.From)
}

// overlapLabels writes over the lanes which overlaps there are, and returns
// them.
func (p *painter) overlapLabels() []*Mark {
	all := p.overlaps()
	if len(all) == 0 {
		return nil
	}
	p.used["overlap"] = true
	const height = 20.0
	var ends []float64
	unnamed := 0
	for _, m := range all {
		label := p.overlapWords(m)
		w := wide(label, textSize, true) + 12
		left, right := p.clip(span{m.From, max(m.From, m.To)})
		x := min(max((left+right-w)/2, p.axis.left), p.axis.right-w)
		row := slices.IndexFunc(ends, func(e float64) bool { return e+4 <= x })
		if row < 0 {
			if len(ends) == labelRows {
				unnamed++
				continue
			}
			row = len(ends)
			ends = append(ends, 0)
		}
		ends[row] = x + w
		y := p.y + 4 + float64(row)*height
		p.front.box("overlap", x, y, w, height-3, red, none, m.Text)
		p.front.text("overlap-label", x+6, y+12.5, label, textSize, true, white)
	}
	p.lanes.text("section", margin, p.y+17, "OVERLAPS", textSize, true, red)
	if unnamed > 0 {
		p.lanes.text("section", margin, p.y+33, "and "+thousands(unnamed)+" more", smallSize, false, red)
		if len(ends) < 2 {
			ends = append(ends, 0)
		}
	}
	p.y += 4 + float64(len(ends))*height
	return all
}

// band paints an overlap through all lanes.
func (p *painter) band(m *Mark, top float64) {
	left, right := p.clip(span{m.From, max(m.From, m.To)})
	bottom := p.y - 44
	p.back.box("overlap", left, top-4, max(2, right-left), bottom-top+4, sheer(red, 0.84), none, p.overlapWords(m))
	for _, x := range []float64{left, max(right, left+2)} {
		p.back.line("overlap", red, 1, point{x, top - 4}, point{x, bottom})
	}
}
