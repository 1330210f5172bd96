package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A span is a stretch of true time.
type span struct{ from, to time.Duration }

// meets reports whether s and o have a moment in common.
func (s span) meets(o span) bool { return s.from <= o.to && o.from <= s.to }

func (s span) length() time.Duration { return s.to - s.from }

// A bar is something that lasted.
type bar struct {
	span
	token string
	owner int    // a client; 0: unknown
	ended string // how, for people
	title string // all about it, for people
}

// A strike is a fault's action on one node or client.
type strike struct {
	span
	fault   string
	with    []int // clients, if it acts on their connections to a node
	instant bool  // it has no duration
	seen    []string
}

// A reading is a measured clock.
type reading struct {
	at     time.Duration
	offset time.Duration
}

// A track is what happened to one client or node.
type track struct {
	number  int
	strikes []strike
	clock   []reading

	// Of a client, about one lock:
	waits, beliefs, works, stalls []bar
	elsewhere                     []bar // it held other locks
	crashes                       []time.Duration

	// Of a node: whose keys of that lock it kept.
	keys []bar
}

// Tracks are a history as lanes, as far as it concerns one lock.
type tracks struct {
	name    string
	clients map[int]*track
	nodes   map[int]*track
	end     time.Duration // of the run
	healed  time.Duration // when every fault was over; end, if that was not recorded
}

// lanes limits how many lanes a header may ask for: a history may come from
// anywhere.
const lanes = 1000

// follow makes the tracks of h for the lock called name.
func follow(h *history.History, name string) *tracks {
	t := &tracks{name: name, clients: map[int]*track{}, nodes: map[int]*track{}}
	for i := range min(h.Clients, lanes) {
		t.client(i + 1)
	}
	for i := range min(h.Nodes, lanes) {
		t.node(i + 1)
	}
	for i := range h.Events {
		t.end = max(t.end, h.Events[i].At)
	}
	t.healed = t.end
	for i := range h.Events {
		if h.Events[i].Kind == history.Healed {
			t.healed = h.Events[i].At
		}
	}
	t.acquisitions(h)
	t.beliefs(h)
	t.steps(h)
	t.keys(h)
	t.faults(h)
	return t
}

func (t *tracks) client(number int) *track { return lane(t.clients, number) }
func (t *tracks) node(number int) *track   { return lane(t.nodes, number) }

// lane returns the track of number. Events that name nobody go to a track that
// is not kept.
func lane(all map[int]*track, number int) *track {
	if number < 1 {
		return &track{}
	}
	if all[number] == nil {
		all[number] = &track{number: number}
	}
	return all[number]
}

// sorted returns the tracks by number.
func sorted(all map[int]*track) []*track {
	return slices.SortedFunc(maps.Values(all), func(a, b *track) int { return cmp.Compare(a.number, b.number) })
}

// faults finds what struck whom when, and what the clocks showed.
func (t *tracks) faults(h *history.History) {
	for _, s := range strikes(h, t.healed) {
		if s.node > 0 {
			n := t.node(s.node)
			n.add(s)
		} else {
			c := t.client(s.client)
			c.add(s)
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Offset {
			continue
		}
		of := t.client(e.Client)
		if e.Node > 0 {
			of = t.node(e.Node)
		}
		of.clock = append(of.clock, reading{e.At, e.Offset})
	}
}

// add adds s. What strikes a node's connections to several clients in the same
// way is one strike.
func (l *track) add(s blow) {
	for i := len(l.strikes) - 1; i >= 0 && l.strikes[i].from == s.from; i-- {
		o := &l.strikes[i]
		if s.client > 0 && len(o.with) > 0 && o.fault == s.fault && o.span == s.span {
			if !slices.Contains(o.with, s.client) {
				o.with = append(o.with, s.client)
			}
			o.seen = append(o.seen, s.seen...)
			return
		}
	}
	one := strike{span: s.span, fault: s.fault, instant: s.instant, seen: s.seen}
	if s.node > 0 && s.client > 0 {
		one.with = []int{s.client}
	}
	l.strikes = append(l.strikes, one)
}

// byTime sorts bars by their beginning. Bars were made from maps: the order of
// equal ones must not depend on that.
func byTime(bars []bar) {
	slices.SortFunc(bars, func(a, b bar) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to),
			cmp.Compare(a.token, b.token), cmp.Compare(a.title, b.title))
	})
}
