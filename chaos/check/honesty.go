package check

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// Floors are what a run must have seen at least to prove anything.
type Floors struct {
	Attempts  int // rounds of SETs
	Grants    int // locks acquired
	Contended int // calls during which another client asked for that lock or held it
	Faults    int // that were seen to take effect
	Healed    int // locks acquired after everything was healed
}

// A FaultCount tells how often a fault struck, and was seen to take effect.
type FaultCount struct{ Struck, Seen int }

// Honesty returns what a run lacks to prove anything, in words; nil: nothing.
//
// A run in model must also have kept the assumption about rates (A1), as far as
// clocks were measured: where they strayed further than the drift factor covers,
// a quiet run tells nothing about the promise.
func Honesty(h *history.History, floors Floors) []string {
	x := newIndex(h)
	var s Stats
	x.count(&s)
	return x.honesty(floors, &s)
}

func (x *index) honesty(floors Floors, s *Stats) []string {
	var missing []string
	need := func(floor, got int, what string) {
		if got < floor {
			missing = append(missing, fmt.Sprintf("%d %s, want at least %d", got, what, floor))
		}
	}
	if !x.inOrder {
		missing = append(missing, "the events are not in the order of their times")
	}
	seen := 0
	for _, f := range s.Faults {
		seen += f.Seen
	}
	need(floors.Attempts, x.h.Attempts, "attempts")
	need(floors.Grants, s.Grants, "grants")
	need(floors.Contended, s.Contended, "contended acquisitions")
	need(floors.Faults, seen, "faults that were seen to take effect")
	need(floors.Healed, s.GrantsHealed, "grants after everything was healed")
	if x.h.Class != history.OutOfModel {
		if broken := x.rates(); broken != "" {
			missing = append(missing, broken)
		}
	}
	return missing
}

// rates returns how measured clocks broke assumption A1: that a client's clock
// runs at no less than 1-drift of a node's rate. It compares the fastest node
// with the slowest client of the whole run, each as the measurements' noise
// excuses it. A clock that was never measured counts as true.
func (x *index) rates() string {
	type clock struct{ node, client int }
	noise := time.Microsecond // of the rounding of simulated clocks
	if !x.h.Exact {
		noise = x.h.Timeout // a slower answer is no measurement
	}
	before := map[clock]*history.Event{}
	node, client, fastest, slowest := 1.0, 1.0, 0, 0
	for i := range x.events {
		e := &x.events[i]
		if e.Kind != history.Offset {
			continue
		}
		c := clock{e.Node, e.Client}
		b := before[c]
		before[c] = e
		if b == nil {
			continue
		}
		passed, strayed := float64(max(e.At-b.At, 1)), e.Offset-b.Offset
		switch {
		case e.Node != 0 && strayed > noise:
			if rate := 1 + float64(strayed-noise)/passed; rate > node {
				node, fastest = rate, e.Node
			}
		case e.Node == 0 && strayed < -noise:
			if rate := 1 + float64(strayed+noise)/passed; rate < client {
				client, slowest = rate, e.Client
			}
		}
	}
	if client >= (1-x.h.Drift)*node*(1-1e-9) {
		return ""
	}
	return fmt.Sprintf("assumption A1 was not kept: the fastest node's clock (%s) ran at %.4f, the slowest client's (%s) at %.4f of true time, more than the drift factor %v covers",
		known("node", fastest), node, known("client", slowest), client, x.h.Drift)
}

func known(what string, number int) string {
	if number == 0 {
		return what + "s not measured"
	}
	return fmt.Sprintf("%s %d", what, number)
}

// count fills in what happened, as against what was wrong.
func (x *index) count(s *Stats) {
	s.Events, s.Names, s.Attempts = len(x.events), len(x.names), len(x.calls)
	s.Failed, s.Faults = map[string]int{}, map[string]FaultCount{}
	for i := range x.beliefs {
		if b := &x.beliefs[i]; b.Grant {
			s.Grants++
			if x.healed >= 0 && b.From >= x.healed {
				s.GrantsHealed++
			}
		}
	}
	for i := range x.calls {
		if c := &x.calls[i]; c.outcome == failed {
			s.Failed[c.class]++
		}
	}
	for i := range x.episodes {
		e := &x.episodes[i]
		f := s.Faults[e.fault]
		f.Struck++
		if e.seen {
			f.Seen++
		}
		s.Faults[e.fault] = f
	}
	for _, n := range x.names {
		s.Contended += x.contended(n)
	}
}

// contended counts the calls for a lock that met a claim of another client.
func (x *index) contended(n *lock) (count int) {
	var all crowd
	by := map[int]*crowd{}
	claim := func(client int, s span) {
		if by[client] == nil {
			by[client] = &crowd{}
		}
		all.add(s)
		by[client].add(s)
	}
	for _, i := range n.calls {
		c := &x.calls[i]
		claim(c.client, span{c.begin, c.end})
	}
	for _, i := range n.beliefs {
		b := &x.beliefs[i]
		claim(b.Client, span{b.From, b.To})
	}
	all.sort()
	for _, c := range by {
		c.sort()
	}
	for _, i := range n.calls {
		c := &x.calls[i]
		s := span{c.begin, c.end}
		if all.meets(s) > by[c.client].meets(s) {
			count++
		}
	}
	return count
}
