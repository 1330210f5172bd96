package check

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// Undone looks for keys that nobody holds and that their client, although it
// lives and the node answers, has not deleted: within NodeTimeout for the
// attempt, as long again for its undo, and a second for the longest pause of a
// hunt. The time counts from the last of these
//   - the key was set, which may be long after it was sent;
//   - the release of its lock was answered, if the attempt got it;
//   - the last fault of nodes or the network ended.
//
// It is judged where nodes were watched, nothing but faults loses or delays
// messages, and every message arrives at most once and within a TTL: a SET that
// comes after everything else lives for its TTL. Not judged are the keys of
// clients that crash, and of locks that were never released.
func Undone(h *history.History) Findings { return newIndex(h).undone() }

func (x *index) undone() (left Findings) {
	if !x.h.Watched || !x.h.Reliable || !x.h.Prompt || x.calm < 0 {
		return Findings{}
	}
	type fate struct {
		over time.Duration
		held bool // and never released
	}
	fates := map[string]fate{}
	for i := range x.beliefs {
		b := &x.beliefs[i]
		f := fates[b.Token]
		f.over, f.held = max(f.over, b.To, b.released), f.held || b.released == 0
		fates[b.Token] = f
	}
	troubled, limit := x.troubled(), 2*x.h.Timeout+time.Second
	for _, k := range x.keys() {
		f := fates[k.token]
		if f.held || x.lives[k.client] > 0 {
			continue
		}
		due := max(k.from, f.over) + limit
		for {
			last, ok := troubled.touch(due-limit, due)
			if !ok {
				break
			}
			due = last.to + limit + 1
		}
		if k.to > due && due < x.calm {
			left.add(func() Finding {
				return Finding{
					Check: CheckHygiene, Name: k.name, From: k.from, To: k.to, Clients: []int{k.client}, Tokens: []string{k.token},
					Text: fmt.Sprintf("node %d kept the key of token %s of %s until %v, which nobody held: it had to be deleted by %v",
						k.node, short(k.token), history.Owner(k.client), k.to, due),
				}
			})
		}
	}
	left.sort()
	return left
}
