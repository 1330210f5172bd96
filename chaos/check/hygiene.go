package check

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A Dirt is what a run left behind or should not have touched.
type Dirt struct {
	Orphans    Findings // keys that nobody holds, after they must be gone
	Foreign    Findings // keys deleted in the name of another token
	WithoutTTL Findings // keys that would stay for ever
	Goroutines int      // left at the end
	Lingering  int      // keys of nobody that an inspection saw when they might still be there
}

// Hygiene looks for keys that should not be there, or that were deleted in the
// name of another token than theirs.
//
// After Calm nobody holds anything, and the keys of failed attempts must be gone
// on every node
//   - when the longest TTL in use has run out on the slowest clock since the
//     last thing that can have set a key: Calm, the end of the last fault (which
//     may have delivered a SET), the last crash (which nobody undoes), and where
//     it was watched, the last time that the node set that key;
//   - and, far earlier, within Header.Clean after Calm, by which a node that
//     answers has been asked to undo what it did. This is judged where the
//     history can tell that nodes answered and that nothing could come late: the
//     network is reliable but for faults, and the last of them and the last crash
//     are longer ago than a key lives.
func Hygiene(h *history.History) Dirt { return newIndex(h).hygiene() }

func (x *index) hygiene() Dirt {
	var d Dirt
	limit, strict := x.orphanLimit()
	believed := map[string]time.Duration{} // until when, by token
	for i := range x.beliefs {
		b := &x.beliefs[i]
		believed[b.Token] = max(believed[b.Token], b.To)
	}
	type key struct {
		node        int
		name, token string
	}
	kept := map[key]time.Duration{} // when it was set last
	for i := range x.events {
		e := &x.events[i]
		k := key{e.Node, e.Name, e.Token}
		switch e.Kind {
		case history.Kept:
			kept[k] = e.At
			if e.Until == 0 {
				d.WithoutTTL.add(func() Finding { return leftover(e, "node %d set the key of token %s without a TTL") })
			}
		case history.Deleted:
			if e.By != e.Token {
				d.Foreign.add(func() Finding {
					f := leftover(e, "node %d deleted the key of token %s for token "+short(e.By))
					f.Tokens = append(f.Tokens, e.By)
					return f
				})
			}
		case history.Found:
			at := limit
			if !strict {
				at = max(limit, kept[k]+x.lease()+1)
			}
			switch {
			case e.Until == 0:
				d.WithoutTTL.add(func() Finding { return leftover(e, "node %d has the key of token %s without a TTL") })
			case x.calm < 0 || e.At < x.calm || believed[e.Token] >= e.At:
			case e.At >= at:
				d.Orphans.add(func() Finding {
					return leftover(e, "node %d still had the key of token %s, "+(e.At-x.calm).String()+" after everything was released")
				})
			default:
				d.Lingering++
			}
		case history.End:
			d.Goroutines += max(e.Count, 0)
		}
	}
	return d
}

// orphanLimit returns from when on no key may be found that nobody holds, and
// whether that holds whatever the node was seen to set.
func (x *index) orphanLimit() (at time.Duration, strict bool) {
	expired := x.lease() + 1 // in the instant of its end a key may still be seen
	trouble := x.lastTrouble()
	if x.h.Reliable && trouble+x.lease() < x.calm {
		return x.calm + min(x.h.Clean, expired), true
	}
	return max(x.calm, trouble) + expired, false
}

// leftover makes the finding about a key. text has verbs for node and token.
func leftover(e *history.Event, text string) Finding {
	f := Finding{
		Check: CheckHygiene, Name: e.Name, From: e.At, To: max(e.At, e.Until), Tokens: []string{e.Token},
		Text: fmt.Sprintf(text, e.Node, short(e.Token)),
	}
	if e.Client != 0 {
		f.Clients = []int{e.Client}
	}
	return f
}

// Prolonged finds keys that a client extended or healed after it had called
// Release for them: from then on it only deletes. Only simulated clusters record
// what is sent.
func Prolonged(h *history.History) Findings { return newIndex(h).prolonged() }

func (x *index) prolonged() (wrong Findings) {
	released := map[holding]bool{}
	for i := range x.events {
		e := &x.events[i]
		key := holding{e.Client, e.Token}
		switch {
		case e.Kind == history.Release:
			released[key] = true
		case e.Kind == history.Prolongs && released[key]:
			wrong.add(func() Finding {
				return leftover(e, "node %d was sent "+e.Text+" of token %s after its release")
			})
		}
	}
	return wrong
}
