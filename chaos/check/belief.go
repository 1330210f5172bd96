package check

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A Belief is a time during which a client believes that it holds a lock: from
// the first Holds of a token to the first of Release, Lost, the client's Crash
// and the end that the Holds events up to then announced. That end may move both
// ways while the belief lasts.
type Belief struct {
	Name   string
	Token  string
	Client int
	Call   int           // the acquisition; 0 if the history does not tell
	TTL    time.Duration // asked for by that acquisition
	From   time.Duration
	To     time.Duration // From <= To
	End    history.Kind  // what ended it; "" if its announced end passed
	Grant  bool          // it began with a grant; else it came back to life

	begin    time.Duration // of the acquisition
	released time.Duration // when the Release was answered; 0 if it was not
	closed   bool          // an event ended it
	closedAt time.Duration
	extended bool

	until     time.Duration // its end as it was announced last
	movedBack time.Duration // by how much an extension shortened it at most
}

// Beliefs returns all beliefs, by their beginning. Nothing else in this package
// depends on what a client believed.
func Beliefs(h *history.History) []Belief {
	return newIndex(h).beliefs
}

// A holding identifies a client's lock. Tokens are unique in a right run; where
// a bug makes them equal, two clients are still two.
type holding struct {
	client int
	token  string
}

// holds begins, prolongs or shortens a belief.
func (x *index) holds(e *history.Event) {
	key := holding{e.Client, e.Token}
	at, known := x.byToken[key]
	if !known {
		x.believe(e, nil)
		return
	}
	b := &x.beliefs[at]
	switch {
	case e.Call != 0 && b.Call != 0 && e.Call != b.Call || e.Name != b.Name:
		x.oddities.add(func() Finding {
			return x.odd(e, b, "was granted a second time: tokens are for one attempt")
		})
		x.believe(e, nil)
	case b.closed:
		// What was recorded by another goroutine may come late in real time; it
		// says nothing new.
		if e.At-b.closedAt <= x.grace() {
			return
		}
		x.oddities.add(func() Finding {
			return x.odd(e, b, fmt.Sprintf("was held again after %q", b.End))
		})
		x.believe(e, b)
	case e.At > b.To:
		if e.At-b.To > x.grace() {
			x.oddities.add(func() Finding {
				return x.odd(e, b, "was held again after its end had passed")
			})
		}
		x.believe(e, b)
	default:
		if back := b.until - e.Until; back > time.Microsecond { // more than rounding
			b.movedBack = max(b.movedBack, back)
		}
		b.To, b.until = max(e.At, e.Until), e.Until // it was believed in until now
		b.extended = true
	}
}

// believe begins a belief: one that was granted, or former once more.
func (x *index) believe(e *history.Event, former *Belief) {
	b := Belief{
		Name: e.Name, Token: e.Token, Client: e.Client, Call: e.Call,
		From: e.At, To: max(e.At, e.Until), Grant: former == nil, begin: e.At, until: e.Until,
	}
	if former != nil {
		b.Call, b.TTL = former.Call, former.TTL
	} else if c := x.call(e); c != nil {
		b.TTL = c.ttl
		if c.outcome == open {
			c.outcome, c.end = granted, e.At
			b.begin = c.begin
		}
	}
	x.byToken[holding{e.Client, e.Token}] = len(x.beliefs)
	x.believing[e.Client] = append(x.believing[e.Client], len(x.beliefs))
	n := x.name(e.Name)
	n.beliefs = append(n.beliefs, len(x.beliefs))
	x.beliefs = append(x.beliefs, b)
}

// close ends a belief early.
func (b *Belief) close(at time.Duration, why history.Kind) {
	if b.closed {
		return
	}
	b.closed, b.closedAt = true, at
	if at <= b.To {
		b.To, b.End = at, why
	}
}

// grace is how late a Holds may be recorded after it happened.
func (x *index) grace() time.Duration {
	if x.h.Exact {
		return 0
	}
	return x.h.Timeout
}

func (x *index) odd(e *history.Event, b *Belief, what string) Finding {
	return Finding{
		Check: CheckOverlap, Name: e.Name, From: b.To, To: e.At,
		Clients: []int{e.Client}, Tokens: []string{e.Token},
		Text: fmt.Sprintf("token %s of %s %s", short(e.Token), history.Owner(e.Client), what),
	}
}
