package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// crowded is how many things in one lane can still be told apart.
const crowded = 60

// interesting returns the name of the lock that the picture is about: that of
// the first overlap, else of the first other finding, else the busiest.
func interesting(run Run) (name string, of int) {
	grants := map[string]int{}
	for i := range run.History.Events {
		switch e := &run.History.Events[i]; e.Kind {
		case history.Begin:
			grants[e.Name]++
		case history.Holds:
			grants[e.Name] += 1000 // one that is held shows more
		}
	}
	for _, kind := range []MarkKind{Overlap, LostUpdate, StaleWrite, Note} {
		if m := first(run.Marks, kind, ""); m != nil && (m.Name != "" || kind == Overlap) {
			return m.Name, len(grants)
		}
	}
	names := slices.SortedFunc(maps.Keys(grants), func(a, b string) int {
		return cmp.Or(cmp.Compare(grants[b], grants[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return "", 0
	}
	return names[0], len(names)
}

// A cut is the part of a run that is shown.
type cut struct {
	span
	why string // "": it is the whole run
}

// window chooses what of t to show: all of it, if it can be read, else what is
// around the first overlap, else around the first fault, else the beginning.
func (t *tracks) window(marks []Mark) cut {
	whole := span{0, max(t.end, 1)}
	if m := first(marks, Overlap, t.name); m != nil {
		return t.around(whole, t.story(m), m.From, "around the first overlap")
	}
	if m := first(marks, LostUpdate, t.name); m != nil {
		return t.around(whole, t.story(m), m.From, "around the first lost update")
	}
	if m := first(marks, StaleWrite, t.name); m != nil {
		return t.around(whole, t.story(m), m.From, "around the first stale write")
	}
	if !t.crowded(whole) {
		return cut{span: whole}
	}
	at, why := time.Duration(0), "the beginning"
	if s := t.firstStrike(); s != nil {
		at, why = s.from, "around the first fault"
	}
	// A third of it is before the fault: what it changed is seen by comparing.
	w := whole
	for n := whole.length(); t.crowded(w) && n > 100; {
		n = n * 4 / 5
		w.from = max(0, min(at-n/3, whole.to-n))
		w.to = w.from + n
	}
	return cut{whole.rounded(w), why}
}

// rounded returns w with ends that people can read, still within s.
func (s span) rounded(w span) span {
	unit := time.Duration(1)
	for unit*200 < w.length() {
		unit *= 10
	}
	return span{max(s.from, w.from/unit*unit), min(s.to, (w.to+unit-1)/unit*unit)}
}

// story returns the finding m with what led to it: the acquisitions and beliefs
// of its clients, and the last fault before it if that is near.
func (t *tracks) story(m *Mark) span {
	s := span{m.From, max(m.To, m.From)}
	at := span{m.From, m.From}
	for _, number := range m.Clients {
		c := t.clients[number]
		if c == nil {
			continue
		}
		for _, bars := range [][]bar{c.beliefs, c.works} {
			for i := range bars {
				if bars[i].meets(at) {
					s = span{min(s.from, bars[i].from), max(s.to, bars[i].to)}
				}
			}
		}
	}
	if f := t.lastStrike(m.From); f != nil && f.from < s.from && s.from-f.from < 2*s.length() {
		s.from = f.from
	}
	return s
}

// around returns s with room on both sides, or what is around its point if that
// is crowded, or the whole if there is not much more.
func (t *tracks) around(whole, s span, point time.Duration, why string) cut {
	room := s.length() / 4
	if room == 0 { // a moment that nothing led to
		room = whole.length()/100 + 50
	}
	w := span{max(0, s.from-room), min(whole.to, s.to+room)}
	if w.to <= w.from { // a finding after the last event
		w = span{max(0, whole.to-100), whole.to}
	}
	if whole.length() <= 2*w.length() && !t.crowded(whole) {
		return cut{span: whole}
	}
	for n := w.length(); t.crowded(w) && n > 100; {
		n = n * 4 / 5
		w = span{max(w.from, point-n/2), min(w.to, point+n/2)}
	}
	return cut{whole.rounded(w), why}
}

// crowded reports whether a lane has more in w than can be told apart.
func (t *tracks) crowded(w span) bool {
	for _, all := range []map[int]*track{t.clients, t.nodes} {
		for _, l := range all {
			if l.in(w) > crowded {
				return true
			}
		}
	}
	return false
}

// in counts what of l is in w.
func (l *track) in(w span) int {
	n := 0
	for _, bars := range [][]bar{l.waits, l.beliefs, l.stalls, l.keys} {
		for i := range bars {
			if bars[i].meets(w) {
				n++
			}
		}
	}
	for i := range l.strikes {
		if l.strikes[i].meets(w) {
			n++
		}
	}
	return n
}

// firstStrike returns the first fault of all, or nil.
func (t *tracks) firstStrike() *strike {
	return t.pick(func(s, best *strike) bool { return best == nil || s.from < best.from })
}

// lastStrike returns the last fault that had begun at a time, or nil.
func (t *tracks) lastStrike(at time.Duration) *strike {
	return t.pick(func(s, best *strike) bool {
		return s.from <= at && (best == nil || s.from > best.from)
	})
}

func (t *tracks) pick(better func(s, best *strike) bool) *strike {
	var best *strike
	for _, all := range []map[int]*track{t.nodes, t.clients} {
		for _, l := range sorted(all) {
			for i := range l.strikes {
				if better(&l.strikes[i], best) {
					best = &l.strikes[i]
				}
			}
		}
	}
	return best
}
