package report

import (
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A blow is one Fault event with its end.
type blow struct {
	span
	fault        string
	node, client int
	instant      bool
	seen         []string // what confirmed it
}

// strikes pairs the faults of h with their ends. A fault that no Heal ends has
// no duration (a set clock, a flush), unless its like has: then it lasted until
// healed, when every fault was over.
func strikes(h *history.History, healed time.Duration) []blow {
	type place struct {
		fault        string
		node, client int
	}
	var all []blow
	open := map[place][]int{} // indices in all
	lasts := map[string]bool{}
	for i := range h.Events {
		e := &h.Events[i]
		p := place{e.Fault, e.Node, e.Client}
		switch e.Kind {
		case history.Fault:
			open[p] = append(open[p], len(all))
			all = append(all, blow{span: span{e.At, e.At}, fault: e.Fault, node: e.Node, client: e.Client, instant: true})
		case history.Heal:
			if o := open[p]; len(o) > 0 {
				b := &all[o[0]]
				b.to, b.instant = e.At, e.At <= b.from
				open[p] = o[1:]
				if !b.instant {
					lasts[b.fault] = true
				}
			}
		case history.Seen:
			for j := len(all) - 1; j >= 0; j-- {
				b := &all[j]
				// A node can tell that it was cut off, not always from whom.
				if b.fault == e.Fault && b.node == e.Node && (b.client == e.Client || e.Client == 0) {
					b.seen = append(b.seen, e.Text)
					break
				}
			}
		}
	}
	for _, left := range open {
		for _, i := range left {
			if b := &all[i]; lasts[b.fault] {
				b.to, b.instant = max(b.from, healed), false
			}
		}
	}
	return all
}
