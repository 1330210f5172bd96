package check

import (
	"container/heap"
	"fmt"

	"github.com/quorumlock/redlock/chaos/history"
)

// Overlaps finds every two beliefs in the same lock that have time in common,
// also two of one client: this is what the library promises never to happen. A
// belief that ends in the instant in which another begins does not overlap it.
//
// On simulated time it is exact. On real time the history's beliefs begin after
// the grant and end before the release, so it may miss an overlap of the length
// of scheduling noise, and never reports one that was not.
func Overlaps(h *history.History) Findings { return newIndex(h).overlaps() }

// Revivals finds clients that held a token again after they had given it up, or
// after its end had passed, and tokens that were granted twice.
func Revivals(h *history.History) Findings { return newIndex(h).oddities }

func (x *index) overlaps() Findings {
	var all Findings
	for _, n := range x.names {
		var found Findings
		live := &byEnd{x: x}
		for _, i := range n.beliefs {
			b := &x.beliefs[i]
			if b.From == b.To {
				continue // no time to share
			}
			for len(live.of) > 0 && x.beliefs[live.of[0]].To <= b.From {
				heap.Pop(live)
			}
			for at, other := range live.of {
				if len(found.List) == MaxFindings {
					found.Count += len(live.of) - at // pairs may be many: they are only counted
					break
				}
				found.add(func() Finding { return overlap(&x.beliefs[other], b) })
			}
			heap.Push(live, i)
		}
		all.merge(found)
	}
	return all
}

func overlap(a, b *Belief) Finding {
	from, to := max(a.From, b.From), min(a.To, b.To)
	return Finding{
		Check: CheckOverlap, Name: a.Name, From: from, To: to,
		Clients: []int{a.Client, b.Client}, Tokens: []string{a.Token, b.Token},
		Text: fmt.Sprintf("%s (token %s) and %s (token %s) both believed for %v that they held %q",
			history.Owner(a.Client), short(a.Token), history.Owner(b.Client), short(b.Token), to-from, a.Name),
	}
}

// byEnd is a heap of beliefs, the one that ends first on top.
type byEnd struct {
	x  *index
	of []int
}

func (h *byEnd) Len() int           { return len(h.of) }
func (h *byEnd) Less(i, j int) bool { return h.x.beliefs[h.of[i]].To < h.x.beliefs[h.of[j]].To }
func (h *byEnd) Swap(i, j int)      { h.of[i], h.of[j] = h.of[j], h.of[i] }
func (h *byEnd) Push(v any)         { h.of = append(h.of, v.(int)) }

func (h *byEnd) Pop() any {
	last := len(h.of) - 1
	v := h.of[last]
	h.of = h.of[:last]
	return v
}
