package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/quorumlock/redlock/chaos/history"
)

// title returns plan, seed, class and verdict.
func (p *painter) title() string {
	h := p.run.History
	words := []string{"Plan " + cmp.Or(h.Plan, "without a name"), fmt.Sprintf("seed %d", h.Seed)}
	if h.Class != "" {
		words = append(words, h.Class)
	}
	if p.run.Verdict != "" {
		words = append(words, "verdict: "+p.run.Verdict)
	}
	return strings.Join(words, " · ")
}

// heading writes what the picture shows, and of what.
func (p *painter) heading(clients, nodes int) {
	p.y = margin
	write := func(id, text string, size float64, bold bool, c string, below float64) {
		colour := ink
		if c == "quiet" {
			colour = quiet
		}
		for _, l := range wrapped(text, pictureWidth-2*margin, size, bold) {
			l = fitting(l, pictureWidth-2*margin, size, bold)
			p.y += size
			p.lanes.text(id, margin, p.y, l, size, bold, colour)
			p.y += below
		}
	}
	write("title", p.title(), titleSize, true, "ink", 7)
	write("seen", p.seen(), sayingSize, false, "ink", 6)
	write("shown", p.shown(clients, nodes), textSize, false, "quiet", 4)
	p.y += 4
}

// seen returns the picture's one sentence.
func (p *painter) seen() string {
	if p.run.Seen != "" {
		return p.run.Seen
	}
	return sentence(p.run, p.t)
}

// sentence says in one sentence what was seen of a run.
func sentence(run Run, t *tracks) string {
	m := first(run.Marks, Overlap, t.name)
	if m == nil {
		return calmSentence(run, t)
	}
	s := fmt.Sprintf("%s believed that they held %s at the same time, for %s from %s on",
		both(m.Clients), quoted(m.Name), length(m.To-m.From), about(m.From, t.end))
	if f, place := t.cause(m); f != nil {
		s += fmt.Sprintf("; the last fault before it: %s %s at %s", f.fault, place, about(f.from, t.end))
	}
	return s + "."
}

func calmSentence(run Run, t *tracks) string {
	grants, faults := 0, 0
	for _, all := range []map[int]*track{t.clients, t.nodes} {
		for _, l := range all {
			faults += len(l.strikes)
		}
	}
	seen := map[grant]bool{}
	for i := range run.History.Events {
		e := &run.History.Events[i]
		if g := (grant{e.Client, e.Token}); e.Kind == history.Holds && !seen[g] {
			seen[g] = true
			grants++
		}
	}
	s := fmt.Sprintf("%s to %s under %s", plural(grants, "grant"), plural(len(t.clients), "client"), plural(faults, "fault"))
	switch other := first(run.Marks, "", ""); {
	case run.count(Overlap) > 0:
		return s + ": two clients did believe at once, but not in " + quoted(t.name) + "."
	case other != nil:
		return fmt.Sprintf("%s: no two clients believed at once that they held the same lock; found: %s.", s, run.inWords())
	}
	return s + ": at no time did two clients believe that they held the same lock."
}

// inWords counts the findings that are no overlaps.
func (run *Run) inWords() string {
	var words []string
	for _, kind := range []MarkKind{LostUpdate, StaleWrite, Note} {
		if n := run.count(kind); n > 0 {
			words = append(words, plural(n, string(kind)))
		}
	}
	if len(words) == 0 {
		return "nothing else"
	}
	return listed(words)
}

// both names the owners of an overlap.
func both(clients []int) string {
	switch {
	case len(clients) == 0:
		return "Two clients"
	case len(clients) == 1, len(clients) == 2 && clients[0] == clients[1]:
		return "Two workers of " + history.Owner(clients[0]) + " both"
	}
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = history.Owner(c)
	}
	if len(clients) == 2 {
		return listed(names) + " both"
	}
	return listed(names) + " all"
}

// cause returns the last fault that had begun before m, and where.
func (t *tracks) cause(m *Mark) (f *strike, place string) {
	f = t.lastStrike(m.From)
	for _, n := range sorted(t.nodes) {
		for i := range n.strikes {
			if &n.strikes[i] == f {
				return f, fmt.Sprintf("on node %d", n.number)
			}
		}
	}
	for _, c := range sorted(t.clients) {
		for i := range c.strikes {
			if &c.strikes[i] == f {
				return f, "on " + history.Owner(c.number)
			}
		}
	}
	return nil, ""
}

// shown says what of the run is drawn.
func (p *painter) shown(clients, nodes int) string {
	h := p.run.History
	of := func(drawn, all int, noun string) string {
		if drawn < all {
			return fmt.Sprintf("%d of %s", drawn, plural(all, noun))
		}
		return plural(all, noun)
	}
	s := fmt.Sprintf("Shown: %s", p.lock())
	if p.names > 1 {
		s += fmt.Sprintf(" (one of %d locks; holding another is a thin grey line)", p.names)
	}
	if p.cut.why == "" {
		s += ", the whole run of " + length(p.t.end)
	} else {
		s += fmt.Sprintf(", %s to %s of %s (%s)", instant(p.cut.from), instant(p.cut.to), about(p.t.end, p.t.end), p.cut.why)
	}
	if n := p.run.count(Overlap); n > 0 {
		s += fmt.Sprintf("; %s in the whole run", plural(n, "overlap"))
	}
	s += fmt.Sprintf(". %s, %s, %s", of(clients, len(p.t.clients), "client"), of(nodes, len(p.t.nodes), "node"),
		cmp.Or(h.Backend, "unknown")+" backend")
	if p.run.Commit != "" {
		s += ", commit " + p.run.Commit
	}
	return s + "."
}

// overview paints the whole run as a strip, and which part of it is shown.
func (p *painter) overview() {
	if p.cut.why == "" {
		return
	}
	whole := axis{span{0, max(p.t.end, 1)}, p.axis.left, p.axis.right}
	const height = 14
	p.lanes.begin("overview", "the whole run, and which part of it is shown")
	p.lanes.text("section", margin, p.y+height-3, "THE WHOLE RUN", smallSize, true, ink)
	p.lanes.box("overview", whole.left, p.y, whole.right-whole.left, height, stripe, laneEdge, "")
	for _, all := range []map[int]*track{p.t.nodes, p.t.clients} {
		p.overviewStrikes(all, whole, p.y+height)
	}
	for i := range p.run.Marks {
		if m := &p.run.Marks[i]; m.Kind == Overlap {
			x := whole.x(m.From)
			p.lanes.box("overview-overlap", x-1, p.y, max(2, whole.x(m.To)-x), height, red, none, "")
		}
	}
	left := whole.x(p.cut.from)
	w := max(4, whole.x(p.cut.to)-left)
	p.lanes.box("window", left-1, p.y-2, w+2, height+4, none, ink, "shown below")
	p.lanes.end()
	// Two lines lead the eye from the part to the whole width below.
	p.back.line("zoom", laneEdge, 1, point{left, p.y + height + 2}, point{p.axis.left, p.y + height + 16})
	p.back.line("zoom", laneEdge, 1, point{left + w, p.y + height + 2}, point{p.axis.right, p.y + height + 16})
	p.y += height + 18
}

// overviewStrikes paints when faults acted. A pixel is painted once, however
// many faults it stands for.
func (p *painter) overviewStrikes(all map[int]*track, whole axis, bottom float64) {
	painted := map[int]bool{}
	for _, l := range sorted(all) {
		for i := range l.strikes {
			from, to := whole.x(l.strikes[i].from), whole.x(l.strikes[i].to)
			if key := int(from)<<16 + int(to); !painted[key] {
				painted[key] = true
				p.lanes.box("overview-fault", from, bottom-5, max(1.5, to-from), 5, faulty, none, "")
			}
		}
	}
	if len(painted) > 0 {
		p.used["overview-fault"] = true
	}
}
