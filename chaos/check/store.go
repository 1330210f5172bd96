package check

import (
	"fmt"
	"sort"

	"github.com/quorumlock/redlock/chaos/history"
)

// A Damage is what writes under locks did to the store.
type Damage struct {
	Writes int
	// Stale writes came after their holder's end: assumption A4 was broken. That
	// is a stalled process, which no lock can help, and no violation by itself.
	Stale int
	// Lost counts the writes that overwrote updates which they had not read.
	Lost int
	// Violations are the lost updates that no stale write explains, and writes
	// under a token that nobody was granted.
	Violations Findings
}

// Store looks for lost updates: writes of a version that do not build on the one
// before (Based is not Version-1).
//
// A lost update has a writer, and the writes between what it had read and what
// it wrote, whose updates it lost. It is explained by assumption A4
//   - if the writer is stale: it came too late, and destroyed what others wrote
//     after it had lost its right to;
//   - or if all the writes in between are stale: the writer kept to its time,
//     and what it overwrote should not have been written.
//
// If the writer and one of those in between were both in time, then both held
// the lock between the writer's read and its write: a violation. A write is
// stale if it came after the end that it carries (Until), or after the belief in
// its token had ended, whichever was first; the instant of the end is in time.
func Store(h *history.History) Damage { return newIndex(h).store() }

func (x *index) store() Damage {
	var d Damage
	beliefs := map[holding][]int{}
	for i := range x.beliefs {
		key := holding{x.beliefs[i].Client, x.beliefs[i].Token}
		beliefs[key] = append(beliefs[key], i)
	}
	for _, n := range x.names {
		x.storeOf(n, beliefs, &d)
	}
	d.Violations.sort()
	return d
}

func (x *index) storeOf(n *lock, beliefs map[holding][]int, d *Damage) {
	inTime := make([]int, len(n.writes)) // the latest write in time, up to and including this one; -1: none
	for i, at := range n.writes {
		e := &x.events[at]
		d.Writes++
		b := x.beliefOf(e, beliefs)
		if b == nil || b.Name != n.name {
			d.Violations.add(func() Finding { return writing(e, nil, "wrote to %q under a token that it was never granted") })
		}
		inTime[i] = i
		if b != nil && e.At > b.To || e.Until != 0 && e.At > e.Until {
			d.Stale++
			inTime[i] = -1
			if i > 0 {
				inTime[i] = inTime[i-1]
			}
		}
		before := e.Version - 1
		if i > 0 && x.events[n.writes[i-1]].Version != before {
			// The store itself is broken, and so is what it would tell.
			d.Violations.add(func() Finding {
				return writing(e, nil, fmt.Sprintf("made version %d of %%q, which does not follow the last one", e.Version))
			})
			continue
		}
		if e.Based == before {
			continue
		}
		d.Lost++
		if inTime[i] != i {
			continue
		}
		first := max(i-(before-e.Based), 0) // the first write that was overwritten
		switch {
		case e.Based > before || before-e.Based > i:
			d.Violations.add(func() Finding {
				return writing(e, nil, fmt.Sprintf("wrote version %d of %%q, based on %d, which nobody is known to have written", e.Version, e.Based))
			})
		case inTime[i-1] >= first:
			other := &x.events[n.writes[inTime[i-1]]]
			d.Violations.add(func() Finding {
				return writing(e, other, fmt.Sprintf("wrote version %d of %%q, based on %d, and lost version %d of %s: both in time",
					e.Version, e.Based, other.Version, history.Owner(other.Client)))
			})
		}
	}
}

// beliefOf returns the belief that e was written under, or the one before it.
func (x *index) beliefOf(e *history.Event, beliefs map[holding][]int) *Belief {
	of := beliefs[holding{e.Client, e.Token}]
	i := sort.Search(len(of), func(i int) bool { return x.beliefs[of[i]].From > e.At })
	if i == 0 {
		return nil
	}
	return &x.beliefs[of[i-1]]
}

// writing makes the finding about a write, and the one that it overwrote. text
// has a verb for the name.
func writing(e, other *history.Event, text string) Finding {
	f := Finding{
		Check: CheckStore, Name: e.Name, From: e.At, To: e.At,
		Clients: []int{e.Client}, Tokens: []string{e.Token},
		Text: history.Owner(e.Client) + " " + fmt.Sprintf(text, e.Name),
	}
	if other != nil {
		f.From = other.At
		f.Clients, f.Tokens = append(f.Clients, other.Client), append(f.Tokens, other.Token)
	}
	return f
}
