package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// together looks for contenders that began together on a free lock, and of whom
// nobody got it.
func (x *index) together(n *lock, m *claims, troubled spans, s *Skips) {
	if !x.h.Reliable {
		return
	}
	_, sickOf := x.unwell()
	slices.SortFunc(m.all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	busy, next := time.Duration(-1), 0
	for at := 0; at < len(n.calls); {
		first := &x.calls[n.calls[at]]
		group := at
		var end time.Duration
		for ; group < len(n.calls) && x.calls[n.calls[group]].begin <= first.begin+x.h.Timeout; group++ {
			end = max(end, x.calls[n.calls[group]].end)
		}
		for ; next < len(m.all) && m.all[next].from < first.begin; next++ {
			busy = max(busy, m.all[next].to)
		}
		alone := group == len(n.calls) || x.calls[n.calls[group]].begin > end
		_, troubles := troubled.touch(first.begin, end)
		if contenders := n.calls[at:group]; busy < first.begin && alone && !troubles && x.comparable(contenders, sickOf) {
			s.Groups++
			x.oneHolds(n, contenders, end, s)
		}
		at = group
	}
}

// comparable reports whether the calls are those of contenders who were able to
// get the lock and did not wait for it.
func (x *index) comparable(calls []int, sickOf map[int]*crowd) bool {
	if len(calls) < 2 {
		return false
	}
	for _, i := range calls {
		c := &x.calls[i]
		switch {
		case !c.try || c.outcome == open || c.outcome == crashed:
			return false
		case c.outcome == failed && c.class != history.IsHeld && (c.class != history.NoQuorum || !x.h.Exact):
			return false
		}
		if sick := sickOf[c.client]; sick != nil && sick.meets(span{c.begin, c.end}) > 0 {
			return false
		}
	}
	return true
}

// oneHolds requires that one of them was granted. That no two hold at once is
// for Overlaps to say; one after the other they may.
func (x *index) oneHolds(n *lock, calls []int, end time.Duration, s *Skips) {
	var clients []int
	for _, i := range calls {
		if x.calls[i].outcome == granted {
			return
		}
		clients = append(clients, x.calls[i].client)
	}
	from := x.calls[calls[0]].begin
	s.Wrong.add(func() Finding {
		return Finding{
			Check: CheckSkip, Name: n.name, From: from, To: end, Clients: clients,
			Text: fmt.Sprintf("%d clients began together to try for %q, which was free, and nobody got it", len(clients), n.name),
		}
	})
}
