package report

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"slices"
	"time"
)

// A View says what of a run a picture shows. The zero View lets the run decide:
// the lock and the time that are interesting.
type View struct {
	Name     string        // of the lock
	From, To time.Duration // true time since the run began; To 0: chosen
}

// A Picture shows who believed what when, what the nodes kept, and what was
// done to them.
type Picture struct{ scene scene }

// WriteSVG writes the picture as SVG. Pointing at a thing shows its details.
func (p *Picture) WriteSVG(w io.Writer) error { return p.scene.writeSVG(w) }

// WritePNG writes the same picture as PNG, scale times as large.
func (p *Picture) WritePNG(w io.Writer, scale float64) error { return p.scene.writePNG(w, scale) }

// Sizes in pixels.
const (
	pictureWidth = 1280.0
	margin       = 20.0
	labelWidth   = 128.0 // the column with names of lanes
	titleSize    = 17.0
	sayingSize   = 14.0
	textSize     = 12.0
	smallSize    = 11.0
)

// maxLanes is how many clients, and how many nodes, are drawn.
const maxLanes = 20

// A painter draws a run from top to bottom. Layers are painted one over the
// other: behind the lanes, the lanes, before them.
type painter struct {
	back, lanes, front scene

	run    Run
	t      *tracks
	cut    cut
	axis   axis
	names  int                 // of locks in the run
	colour map[int]color.NRGBA // by client
	y      float64
	used   map[string]bool // what the legend has to explain
}

// Draw draws run. It never fails: what cannot be shown is left out, and the
// picture says so.
func Draw(run Run, view View) *Picture {
	run = run.bounded().complete()
	name, names := interesting(run)
	if view.Name != "" {
		name = view.Name
	}
	t := follow(run.History, name)
	shown := t.window(run.Marks)
	if view.To > view.From {
		shown = cut{span{bound(view.From), bound(view.To)}, "as asked for"}
	}
	shown.to = max(shown.to, shown.from+1)
	p := &painter{run: run, t: t, cut: shown, names: names, used: map[string]bool{},
		axis: axis{shown.span, margin + labelWidth, pictureWidth - margin}}
	p.colours()
	return p.paint()
}

func (p *painter) paint() *Picture {
	clients := p.chosen(p.t.clients)
	nodes := p.chosen(p.t.nodes)
	p.heading(len(clients), len(nodes))
	p.overview()
	overlaps := p.overlapLabels()

	top := p.y
	p.notes()
	p.section("CLIENTS", "what each of them believes about "+p.lock())
	for i, c := range clients {
		p.clientLane(c, i%2 == 0)
	}
	p.section("NODES", p.rule())
	for i, n := range nodes {
		p.nodeLane(n, i%2 == 0)
	}
	p.grid(top)
	for _, m := range overlaps {
		p.band(m, top)
	}
	p.legend()

	all := scene{width: pictureWidth, height: p.y + margin/2, about: p.title() + ". " + p.seen()}
	for _, layer := range []*scene{&p.back, &p.lanes, &p.front} {
		all.shapes = append(all.shapes, layer.shapes...)
	}
	return &Picture{all}
}

// chosen returns the lanes to be drawn, by number: all, or those with findings
// and then those where most happens.
func (p *painter) chosen(all map[int]*track) []*track {
	some := sorted(all)
	if len(some) <= maxLanes {
		return some
	}
	weight := map[*track]int{}
	for _, l := range some {
		weight[l] = l.in(p.cut.span)
	}
	for i := range p.run.Marks {
		if m := &p.run.Marks[i]; m.Name == p.t.name && p.cut.meets(span{m.From, m.To}) {
			for _, number := range m.Clients {
				if l := p.t.clients[number]; l != nil && all[number] == l {
					weight[l] += 1_000_000
				}
			}
		}
	}
	slices.SortStableFunc(some, func(a, b *track) int { return cmp.Compare(weight[b], weight[a]) })
	some = some[:maxLanes]
	slices.SortFunc(some, func(a, b *track) int { return cmp.Compare(a.number, b.number) })
	return some
}

// section begins a group of lanes with a line that says how to read it.
func (p *painter) section(name, reading string) {
	p.y += 22
	p.lanes.text("section", margin, p.y-5, name, textSize, true, ink)
	reading = fitting(reading, p.axis.right-p.axis.left, textSize, false)
	if reading == "" {
		return
	}
	// The grid and the bands of overlaps pass behind the words.
	p.lanes.box("reading", p.axis.left-2, p.y-17, wide(reading, textSize, false)+6, 16, sheer(white, 0.1), none, "")
	p.lanes.text("reading", p.axis.left, p.y-5, reading, textSize, false, quiet)
}

// lock returns what the picture is about.
func (p *painter) lock() string {
	if p.t.name == "" {
		return "the lock"
	}
	return "lock " + quoted(p.t.name)
}

// rule says how nodes make a holder.
func (p *painter) rule() string {
	h := p.run.History
	if len(p.t.nodes) == 0 {
		return "none"
	}
	rule := fmt.Sprintf("whoever gets his key onto %d of %d nodes holds the lock; bars: whose key a node keeps", h.Quorum, h.Nodes)
	for _, n := range p.t.nodes {
		if len(n.keys) > 0 {
			return rule
		}
	}
	return "what was done to them (whose keys they kept was not recorded)"
}

// grid paints the true time, from top down, and its axis under the lanes.
func (p *painter) grid(top float64) {
	all, unit := p.axis.ticks()
	bottom := p.y + 4
	p.front.begin("axis", "true time since the run began")
	last := p.axis.left - 100
	for _, t := range all {
		x := p.axis.x(t.at)
		p.back.line("grid", hairline, 1, point{x, top + 22}, point{x, bottom})
		p.front.line("tick", ink, 1, point{x, bottom}, point{x, bottom + 5})
		w := wide(t.label, textSize, false)
		if x-w/2 < last+8 || x+w/2 > p.axis.right+margin {
			continue
		}
		last = x + w/2
		p.front.text("time", x-w/2, bottom+18, t.label, textSize, false, ink)
	}
	p.front.line("axis", ink, 1, point{p.axis.left, bottom}, point{p.axis.right, bottom})
	label := "true time since the run began, in " + unit + " (the observer's clock, not that of a client or a node)"
	p.front.text("axis-label", (p.axis.left+p.axis.right-wide(label, textSize, false))/2, bottom+35, label, textSize, false, quiet)
	p.front.end()
	p.y = bottom + 44
}
