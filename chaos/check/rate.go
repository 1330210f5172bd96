package check

import (
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// Rates compare how many locks were granted in calm times with how many while a
// minority of the nodes was struck.
type Rates struct {
	CalmGrants, StruckGrants int
	CalmTime, StruckTime     time.Duration // from the first Begin to Healed
}

// Cost returns which part of the calm grants a second the faults cost, below 0
// if there were more; ok is false if one of both times is missing or nothing was
// granted in calm ones.
func (r Rates) Cost() (cost float64, ok bool) {
	if r.CalmGrants == 0 || r.CalmTime <= 0 || r.StruckTime <= 0 {
		return 0, false
	}
	calm := float64(r.CalmGrants) / r.CalmTime.Seconds()
	return 1 - float64(r.StruckGrants)/r.StruckTime.Seconds()/calm, true
}

// GrantRate counts grants by what acts on the nodes: nothing, or faults on at
// most N - quorum of them. Other times do not count, nor do those in which a
// client is struck. A plan that kills or hangs a minority may ask for a Cost of
// at most 20 %, where time is real (Header.Exact is false): it is a statistic,
// so Judge does not judge it.
func GrantRate(h *history.History) Rates {
	x := newIndex(h)
	grants := map[time.Duration]int{} // several may be at once
	for i := range x.beliefs {
		if x.beliefs[i].Grant {
			grants[x.beliefs[i].From]++
		}
	}
	var r Rates
	nodes, elsewhere := map[int]int{}, 0 // episodes that act
	active := map[blow]int{}
	begun := time.Duration(-1)
	before := time.Duration(0)
	for i := range x.events {
		e := &x.events[i]
		if begun < 0 && e.Kind != history.Begin && len(active) == 0 && e.Kind != history.Fault {
			before = e.At
			continue
		}
		if begun >= 0 && e.At > before {
			passed := e.At - before
			switch {
			case elsewhere > 0 || len(nodes) > h.Nodes-h.Quorum:
			case len(nodes) == 0:
				r.CalmTime += passed
				r.CalmGrants += grants[e.At]
			default:
				r.StruckTime += passed
				r.StruckGrants += grants[e.At]
			}
		}
		before = e.At
		switch e.Kind {
		case history.Begin:
			if begun < 0 {
				begun = e.At
			}
		case history.Fault, history.Heal:
			b, change := blowOf(e), 1
			if e.Kind == history.Heal {
				if active[b] == 0 {
					continue
				}
				change = -1
			}
			if active[b] += change; active[b] == 0 {
				delete(active, b)
			}
			if e.Node == 0 {
				elsewhere += change
			} else if nodes[e.Node] += change; nodes[e.Node] == 0 {
				delete(nodes, e.Node)
			}
		case history.Healed:
			return r
		}
	}
	return r
}
