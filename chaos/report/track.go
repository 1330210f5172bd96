package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// acquisitions finds how long each client waited for the lock.
func (t *tracks) acquisitions(h *history.History) {
	begun := map[int]*history.Event{} // by call
	end := func(b *history.Event, at time.Duration, ended string) {
		delete(begun, b.Call)
		c := t.client(b.Client)
		c.waits = append(c.waits, bar{
			span: span{b.At, at}, owner: b.Client, ended: ended,
			title: fmt.Sprintf("%s asks for %s with TTL %v: %s after %s",
				history.Owner(b.Client), quoted(b.Name), b.TTL, ended, length(at-b.At)),
		})
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind == history.Crash {
			for _, b := range begun {
				if b.Client == e.Client {
					end(b, e.At, "crashed")
				}
			}
			continue
		}
		if e.Name != t.name {
			continue
		}
		switch b := begun[e.Call]; {
		case e.Kind == history.Begin:
			begun[e.Call] = e
		case b == nil:
		case e.Kind == history.Holds:
			end(b, e.At, granted)
		case e.Kind == history.Failed:
			ended := cmp.Or(e.Class, "failed")
			if e.Holder != "" {
				ended += " by " + e.Holder
			}
			end(b, e.At, ended)
		}
	}
	for _, b := range begun {
		end(b, t.end, "still waiting")
	}
	for _, c := range t.clients {
		byTime(c.waits)
	}
}

// granted is how a successful acquisition ends.
const granted = "granted"

// A grant is one client's belief in one token.
type grant struct {
	client int
	token  string
}

// beliefs finds from when to when each client believed that it held the lock.
func (t *tracks) beliefs(h *history.History) {
	open := map[grant]*bar{}
	names := map[grant]string{}
	closed := map[grant]time.Duration{}
	end := func(g grant, at time.Duration, ended string) {
		b := open[g]
		if b == nil {
			return
		}
		delete(open, g)
		closed[g] = at
		if at >= b.to {
			at, ended = b.to, "ran out"
		}
		c := t.client(g.client)
		b.to, b.ended = max(at, b.from), ended
		b.title = fmt.Sprintf("%s believes that it holds %s, %s to %s (%s), %s; token %s", history.Owner(g.client),
			quoted(names[g]), instant(b.from), instant(b.to), length(b.length()), ended, short(g.token))
		if names[g] == t.name {
			c.beliefs = append(c.beliefs, *b)
		} else {
			c.elsewhere = append(c.elsewhere, *b)
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		g := grant{e.Client, e.Token}
		switch e.Kind {
		case history.Holds:
			if b := open[g]; b != nil && e.At <= b.to {
				b.to = e.Until
				continue
			}
			if at, was := closed[g]; was && !h.Exact && e.At-at <= h.Timeout {
				continue // recorded by another goroutine, late: it says nothing new
			}
			end(g, e.At, "")
			open[g] = &bar{span: span{e.At, e.Until}, token: e.Token, owner: e.Client}
			names[g] = e.Name
		case history.Release:
			end(g, e.At, "released")
		case history.Lost:
			end(g, e.At, "seen as lost")
		case history.Crash:
			for o := range open {
				if o.client == e.Client {
					end(o, e.At, "crashed")
				}
			}
		}
	}
	for g := range open {
		end(g, t.end, "to the end of the run")
	}
	for _, c := range t.clients {
		byTime(c.beliefs)
		byTime(c.elsewhere)
	}
}

// steps finds what clients did under the lock, and when they were stopped.
func (t *tracks) steps(h *history.History) {
	read := map[grant]time.Duration{}
	stalled := map[int]time.Duration{}
	work := func(g grant, at time.Duration, ended string) {
		from, ok := read[g]
		if !ok {
			return
		}
		delete(read, g)
		c := t.client(g.client)
		c.works = append(c.works, bar{span: span{from, at}, token: g.token, owner: g.client, ended: ended,
			title: fmt.Sprintf("%s works, %s to %s: %s", history.Owner(g.client), instant(from), instant(at), ended)})
	}
	wake := func(client int, at time.Duration) {
		if from, ok := stalled[client]; ok {
			delete(stalled, client)
			c := t.client(client)
			c.stalls = append(c.stalls, bar{span: span{from, at}, owner: client,
				title: fmt.Sprintf("%s is stopped, %s to %s", history.Owner(client), instant(from), instant(at))})
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		g := grant{e.Client, e.Token}
		switch e.Kind {
		case history.Read:
			if e.Name == t.name {
				read[g] = e.At
			}
		case history.Write:
			work(g, e.At, fmt.Sprintf("read version %d, wrote %d", e.Based, e.Version))
		case history.Release:
			work(g, e.At, "wrote nothing")
		case history.Stall:
			if _, ok := stalled[e.Client]; !ok {
				stalled[e.Client] = e.At
			}
		case history.Wake:
			wake(e.Client, e.At)
		case history.Crash:
			for o := range read {
				if o.client == e.Client {
					work(o, e.At, "crashed")
				}
			}
			wake(e.Client, e.At)
			c := t.client(e.Client)
			c.crashes = append(c.crashes, e.At)
		}
	}
	for client := range stalled {
		wake(client, t.end)
	}
	for _, c := range t.clients {
		byTime(c.works)
		byTime(c.stalls)
	}
}

// keys finds whose key each node kept when.
func (t *tracks) keys(h *history.History) {
	owners := map[string]int{}
	for i := range h.Events {
		if e := &h.Events[i]; e.Token != "" && e.Client > 0 {
			owners[e.Token] = e.Client
		}
	}
	open := map[int]*bar{} // by node: a node keeps one key of a name
	end := func(node int, at time.Duration, ended string) {
		b := open[node]
		if b == nil {
			return
		}
		delete(open, node)
		if at >= b.to {
			at, ended = b.to, "ran out by its clock"
		}
		b.to, b.ended = max(at, b.from), ended
		b.title = fmt.Sprintf("node %d keeps the key of %s, %s to %s, %s; token %s", node,
			somebody(b.owner), instant(b.from), instant(b.to), ended, short(b.token))
		n := t.node(node)
		n.keys = append(n.keys, *b)
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Name != t.name {
			continue
		}
		b := open[e.Node]
		until := max(e.Until, e.At)
		if e.Until == 0 { // it has no TTL
			until = t.end
		}
		switch {
		case e.Kind == history.Kept && b != nil && b.token == e.Token && e.At <= b.to:
			b.to = until
		case e.Kind == history.Kept:
			// A former key that nobody deleted is gone all the same: the node
			// would not have taken this one.
			end(e.Node, e.At, "gone then at the latest")
			owner := cmp.Or(owners[e.Token], ownerIn(e.Token))
			open[e.Node] = &bar{span: span{e.At, until}, token: e.Token, owner: owner}
		case e.Kind == history.Deleted && b != nil && b.token == e.Token:
			end(e.Node, e.At, "deleted")
		}
	}
	for node := range open {
		end(node, t.end, "to the end of the run")
	}
	for _, n := range t.nodes {
		byTime(n.keys)
	}
}

// ownerIn returns the client whose name is part of token, or 0.
func ownerIn(token string) int {
	_, owner, _ := strings.Cut(token, "/")
	var client int
	if _, err := fmt.Sscanf(owner, "client-%d", &client); err != nil || history.Owner(client) != owner {
		return 0
	}
	return client
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
func (t *track) add(s blow) {
	for i := len(t.strikes) - 1; i >= 0 && t.strikes[i].from == s.from; i-- {
		o := &t.strikes[i]
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
	t.strikes = append(t.strikes, one)
}

// byTime sorts bars by their beginning. Bars were made from maps: the order of
// equal ones must not depend on that.
func byTime(bars []bar) {
	slices.SortFunc(bars, func(a, b bar) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to),
			cmp.Compare(a.token, b.token), cmp.Compare(a.title, b.title))
	})
}
