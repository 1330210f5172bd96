package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// Rates compare how many locks were granted in calm times with how many while a
// minority of the nodes was struck.
type Rates struct {
	CalmGrants, StruckGrants int
	CalmTime, StruckTime     time.Duration // from the first Begin to Healed
}

// Add adds other.
func (r *Rates) Add(other Rates) {
	r.CalmGrants += other.CalmGrants
	r.StruckGrants += other.StruckGrants
	r.CalmTime += other.CalmTime
	r.StruckTime += other.StruckTime
}

// MaxCost is what a minority that is down or hangs may cost: a fifth.
const MaxCost = 0.2

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

// TooSlow reports whether the faults cost more than MaxCost beyond doubt: where
// they cost just that, so few grants come by chance once in 700 runs.
func (r Rates) TooSlow() bool {
	if _, ok := r.Cost(); !ok {
		return false
	}
	struck := (1 - MaxCost) * r.StruckTime.Seconds()
	share := struck / (struck + r.CalmTime.Seconds()) // of the grants, that come while it is struck
	n := float64(r.CalmGrants + r.StruckGrants)
	return float64(r.StruckGrants) < n*share-3*math.Sqrt(n*share*(1-share))
}

// GrantRate counts grants by what acts on the nodes: nothing, or faults on at
// most N - quorum of them. Other times do not count, nor do those in which a
// client is struck. A plan that kills or hangs a minority may ask for a Cost of
// at most MaxCost over some runs: it is a statistic, so Judge does not judge it.
func GrantRate(h *history.History) Rates {
	x := newIndex(h)
	from, to := x.last, x.last
	if len(x.calls) > 0 {
		from = x.calls[0].begin
	}
	if x.healed >= 0 {
		to = x.healed
	}
	var r Rates
	nodes, elsewhere := map[int]int{}, 0 // faults that act, by node and of others
	var since time.Duration
	next := 0 // belief
	pass := func(until time.Duration) {
		grants := 0
		for ; next < len(x.beliefs) && x.beliefs[next].From < until; next++ {
			if b := &x.beliefs[next]; b.Grant && b.From >= from && b.From < to {
				grants++
			}
		}
		passed := max(min(until, to)-max(since, from), 0)
		since = until
		switch {
		case elsewhere > 0 || len(nodes) > h.Nodes-h.Quorum:
		case len(nodes) == 0:
			r.CalmTime += passed
			r.CalmGrants += grants
		default:
			r.StruckTime += passed
			r.StruckGrants += grants
		}
	}
	for _, c := range x.changes() {
		pass(c.at)
		if c.node == 0 {
			elsewhere += c.by
		} else if nodes[c.node] += c.by; nodes[c.node] == 0 {
			delete(nodes, c.node)
		}
	}
	pass(to)
	return r
}

// A change is the beginning of a fault, or its end.
type change struct {
	at       time.Duration
	node, by int
}

func (x *index) changes() []change {
	var all []change
	for i := range x.episodes {
		e := &x.episodes[i]
		all = append(all, change{e.from, e.node, 1}, change{e.to, e.node, -1})
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.by, a.by)) })
	return all
}
