package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// An index is what all checkers know of a history: calls and beliefs, by lock.
// It takes one walk over the events.
type index struct {
	h       *history.History
	events  []history.Event // by time
	inOrder bool            // they were so already
	last    time.Duration   // of the last event

	calls   []call   // by their beginning
	beliefs []Belief // by theirs
	names   []*lock  // in the order of their first event

	healed time.Duration // the last Healed; -1: none
	calm   time.Duration // the last Calm; -1: none

	episodes []episode // faults, by their beginning
	oddities Findings  // beliefs that came back to life

	byName    map[string]*lock
	byCall    map[int]int
	byToken   map[holding]int // the latest belief
	believing map[int][]int   // by client: beliefs since it was started
	asking    map[int][]int   // by client: calls since it was started
	lives     map[int]int     // by client: how often it has crashed
	striking  map[blow][]int  // episodes that go on
	struck    map[blow]int    // the latest episode
}

// A lock is what happened to one name.
type lock struct {
	name    string
	calls   []int
	beliefs []int
	writes  []int // events
}

// How a call ended.
type outcome int

const (
	open    outcome = iota // not by the end of the history
	granted                // with a belief
	failed
	crashed // its client did
)

// A call is an acquisition.
type call struct {
	number, client int
	life           int // crashes of the client before
	name           string
	ttl            time.Duration
	try            bool
	begin, end     time.Duration
	outcome        outcome
	class, holder  string // of the failure
}

func newIndex(h *history.History) *index {
	x := &index{
		h: h, events: h.Events, healed: -1, calm: -1,
		byName: map[string]*lock{}, byCall: map[int]int{}, byToken: map[holding]int{},
		believing: map[int][]int{}, asking: map[int][]int{}, lives: map[int]int{},
		striking: map[blow][]int{}, struck: map[blow]int{},
	}
	byTime := func(a, b history.Event) int { return cmp.Compare(a.At, b.At) }
	if x.inOrder = slices.IsSortedFunc(x.events, byTime); !x.inOrder {
		x.events = slices.Clone(x.events)
		slices.SortStableFunc(x.events, byTime)
	}
	if len(x.events) > 0 {
		x.last = x.events[len(x.events)-1].At
	}
	for i := range x.events {
		x.add(i, &x.events[i])
	}
	for i := range x.calls {
		if c := &x.calls[i]; c.outcome == open {
			c.end = x.last
		}
	}
	x.endAll(x.last)
	return x
}

func (x *index) add(i int, e *history.Event) {
	switch e.Kind {
	case history.Begin:
		n := x.name(e.Name)
		x.byCall[e.Call] = len(x.calls)
		x.asking[e.Client] = append(x.asking[e.Client], len(x.calls))
		n.calls = append(n.calls, len(x.calls))
		x.calls = append(x.calls, call{
			number: e.Call, client: e.Client, life: x.lives[e.Client],
			name: e.Name, ttl: e.TTL, try: e.Try, begin: e.At,
		})
	case history.Holds:
		x.holds(e)
	case history.Failed:
		if c := x.call(e); c != nil && c.outcome == open {
			c.outcome, c.end, c.class, c.holder = failed, e.At, e.Class, e.Holder
		}
	case history.Release, history.Lost:
		if b, ok := x.byToken[holding{e.Client, e.Token}]; ok {
			x.beliefs[b].close(e.At, e.Kind)
		}
	case history.Released:
		if b, ok := x.byToken[holding{e.Client, e.Token}]; ok && x.beliefs[b].released == 0 {
			x.beliefs[b].released = e.At
		}
	case history.Crash:
		x.crash(e)
	case history.Write:
		n := x.name(e.Name)
		n.writes = append(n.writes, i)
	case history.Fault:
		x.strike(e)
	case history.Heal:
		x.heal(e)
	case history.Seen:
		x.see(e)
	case history.Healed:
		x.healed = e.At
		x.endAll(e.At)
	case history.Calm:
		x.calm = e.At
	}
}

// crash ends all that the client does. Each belief and each call is ended by one
// crash at most, so that all crashes together take linear time.
func (x *index) crash(e *history.Event) {
	for _, b := range x.believing[e.Client] {
		x.beliefs[b].close(e.At, history.Crash)
	}
	for _, i := range x.asking[e.Client] {
		if c := &x.calls[i]; c.outcome == open {
			c.outcome, c.end = crashed, e.At
		}
	}
	delete(x.believing, e.Client)
	delete(x.asking, e.Client)
	x.lives[e.Client]++
}

// call returns the call that e belongs to, or nil.
func (x *index) call(e *history.Event) *call {
	if i, ok := x.byCall[e.Call]; ok && e.Call != 0 && x.calls[i].client == e.Client {
		return &x.calls[i]
	}
	return nil
}

func (x *index) name(name string) *lock {
	n := x.byName[name]
	if n == nil {
		n = &lock{name: name}
		x.byName[name] = n
		x.names = append(x.names, n)
	}
	return n
}

// lease is how long a key of the longest TTL in use may live.
func (x *index) lease() time.Duration { return x.grown(x.h.MaxTTL) }

// grown returns d as the slowest clock in model counts it.
func (x *index) grown(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*x.h.Drift)
}
