package check

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// Losses looks for holders that were told something wrong about the end of their
// lock, where time is simulated (Header.Exact) and so nothing but the library can
// be late:
//   - a lock that was over when it was granted;
//   - a lock whose announced end passed before its holder was told of the loss;
//   - an extension that moved the end back;
//   - and where nodes were watched, a loss that comes earlier before the end
//     than the margin for stopping, a tenth of the TTL, although a quorum of the
//     nodes had kept the key for NodeTimeout.
//
// Clients that are struck themselves are left out: a paused one hears late, and
// a clock that is set moves every end.
func Losses(h *history.History) Findings { return newIndex(h).losses() }

func (x *index) losses() Findings {
	if !x.h.Exact {
		return Findings{}
	}
	var wrong Findings
	struck := map[int]bool{}
	for i := range x.episodes {
		if e := &x.episodes[i]; e.ofClient() && e.to > e.from {
			struck[e.client] = true
		}
	}
	tell := func(b *Belief, what string) {
		wrong.add(func() Finding {
			return Finding{
				Check: CheckLoss, Name: b.Name, From: b.From, To: b.To, Clients: []int{b.Client}, Tokens: []string{b.Token},
				Text: fmt.Sprintf("the lock %q of %s (token %s) %s", b.Name, history.Owner(b.Client), short(b.Token), what),
			}
		})
	}
	var keys map[string][]key
	for i := range x.beliefs {
		b := &x.beliefs[i]
		switch {
		case struck[b.Client]:
		case b.Grant && b.until <= b.From:
			tell(b, "was over when it was granted")
		case b.End == "" && b.until+instantly < x.last && (!b.closed || b.closedAt > b.until+instantly):
			tell(b, fmt.Sprintf("ended at %v, and its holder was not told", b.until))
		case b.movedBack > 0:
			tell(b, fmt.Sprintf("ended %v earlier after an extension", b.movedBack))
		case b.End == history.Lost && x.h.Watched && b.To < b.until-x.margin():
			if keys == nil {
				keys = x.keysByToken()
			}
			kept := 0
			for _, k := range keys[b.Token] {
				if k.from <= b.To-x.h.Timeout-time.Millisecond && k.to > b.To {
					kept++
				}
			}
			if kept >= x.h.Quorum {
				tell(b, fmt.Sprintf("was lost %v before its end, although %d of %d nodes kept the key", b.until-b.To, kept, x.h.Nodes))
			}
		}
	}
	return wrong
}

func (x *index) keysByToken() map[string][]key {
	by := map[string][]key{}
	for _, k := range x.keys() {
		by[k.token] = append(by[k.token], k)
	}
	return by
}

// instantly is within what timers of simulated clients run.
const instantly = 100 * time.Microsecond

// margin is how long before the end a lock may count as lost.
func (x *index) margin() time.Duration { return x.grown(x.h.MaxTTL/10) + time.Millisecond }
