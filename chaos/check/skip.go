package check

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// Skips are what became of calls that were sent away.
type Skips struct {
	Held   int // calls that ended with "held"
	Groups int // contenders that began together on a free lock, and could be judged
	Wrong  Findings
}

// Skip looks for clients that were sent away without a reason: every call that
// failed with class "held" names an owner who held the lock at some time during
// the call, or could: he believed in it, or had an attempt or a release under
// way, or nodes may have kept a key of his. How long they may is known
//   - where the history is Watched, from the nodes: from Kept to Deleted, to the
//     next key of that name, or to Until;
//   - else from the TTL: for the longest in use on the slowest clock, and
//     NodeTimeout, after the call failed or the belief ended, or after the fault
//     of nodes ended that acted at that time, since it may deliver late.
//
// A client that names itself must mean another lock of its own, or one of a
// former process of the same name: what an own failed attempt has left behind is
// an orphan, held by nobody. Only where the network may double messages, or delay
// them for longer than the client looks for orphans, can that one be unknown to
// the client, too.
//
// And of several clients that begin together, within NodeTimeout, to try for a
// free lock without waiting, one must get it: they may not all point at each
// other. That is judged where the network is reliable, no fault acts and nobody
// else begins before all are done; on real time only if all of them failed with
// "held", because a busy machine may exceed every time limit.
func Skip(h *history.History) Skips { return newIndex(h).skip() }

func (x *index) skip() Skips {
	troubled := x.troubled()
	clients := map[string]int{}
	for i := 1; i <= min(x.h.Clients, 1<<16); i++ {
		clients[history.Owner(i)] = i
	}
	for i := range x.calls {
		if c := x.calls[i].client; clients[history.Owner(c)] == 0 {
			clients[history.Owner(c)] = c
		}
	}
	var s Skips
	kept := x.kept()
	for _, n := range x.names {
		m := x.claims(n, troubled, kept[n.name])
		for _, i := range n.calls {
			c := &x.calls[i]
			if c.outcome != failed || c.class != history.IsHeld {
				continue
			}
			s.Held++
			holder, known := clients[c.holder]
			var why string
			switch {
			case c.holder == "":
				why = "it is held by nobody in particular"
			case !known:
				why = fmt.Sprintf("it is held by %q, who is not in this run", c.holder)
			case holder == c.client && !m.excuses(x, i, troubled):
				why = "it is held by itself, but it neither held nor asked for it elsewhere"
			case holder != c.client && !m.had(holder, span{c.begin, c.end}):
				why = fmt.Sprintf("it is held by %s, who neither held it during the call nor could", c.holder)
			default:
				continue
			}
			s.Wrong.add(func() Finding {
				return Finding{
					Check: CheckSkip, Name: n.name, From: c.begin, To: c.end, Clients: []int{c.client, holder},
					Text: fmt.Sprintf("%s was told of %q that %s", history.Owner(c.client), n.name, why),
				}
			})
		}
		x.together(n, m, troubled, &s)
	}
	s.Wrong.sort()
	return s
}

// claims are the times during which clients had, or could have, one lock.
type claims struct {
	of     map[int]spans         // by client: held, asked for, or had a key
	keys   map[int]spans         // by client: had a key, as far as nodes were watched
	held   map[int]spans         // by client: beliefs, and the keys that they leave behind
	own    map[int]spans         // by client: beliefs, until their release is answered; the keys of others run out
	asked  map[int]*crowd        // by client: calls
	legacy map[int]time.Duration // by call: until when former processes of its client may have left keys; -1: they did not
	all    []span                // of all clients
}

// anybody stands for the owner of keys that the history does not name.
const anybody = -1

func (m *claims) had(client int, s span) bool {
	if _, ok := m.of[client].touch(s.from, s.to); ok {
		return true
	}
	_, ok := m.keys[anybody].touch(s.from, s.to)
	return ok
}

// excuses reports whether call i may have found its own client to be the holder.
func (m *claims) excuses(x *index, i int, troubled spans) bool {
	c := &x.calls[i]
	s := span{c.begin, c.end}
	if m.asked[c.client].meets(s) > 1 { // one is the call itself
		return true
	}
	if x.h.Prompt && x.h.Reliable && x.h.Exact && x.calls[i].life == 0 {
		_, held := m.own[c.client].touch(s.from, s.to)
		return held // whatever else it has left, it knows
	}
	if _, ok := m.held[c.client].touch(s.from, s.to); ok {
		return true
	}
	if x.calls[i].life > 0 && m.legacy[i] >= s.from {
		return true
	}
	if _, recent := troubled.touch(s.from-x.lease()-x.h.Timeout, s.to); !x.h.Reliable || recent {
		if !x.h.Watched {
			return true // it cannot be told
		}
		_, ok := m.keys[c.client].touch(s.from, s.to)
		_, some := m.keys[anybody].touch(s.from, s.to)
		return ok || some
	}
	return false
}

// claims finds those on n.
func (x *index) claims(n *lock, troubled spans, kept map[int][]span) *claims {
	m := &claims{
		of: map[int]spans{}, keys: map[int]spans{}, held: map[int]spans{}, own: map[int]spans{}, asked: map[int]*crowd{},
		legacy: map[int]time.Duration{},
	}
	of, held, own := map[int][]span{}, map[int][]span{}, map[int][]span{}
	type past struct {
		life         int
		former, this time.Duration // until when keys of failed calls may be left
	}
	pasts := map[int]*past{}
	for _, i := range n.calls {
		c := &x.calls[i]
		s := span{c.begin, c.end}
		if m.asked[c.client] == nil {
			m.asked[c.client], pasts[c.client] = &crowd{}, &past{former: -1, this: -1}
		}
		m.asked[c.client].add(s)
		until := x.keysEnd(s, troubled)
		p := pasts[c.client]
		if p.life != c.life {
			p.life, p.former = c.life, max(p.former, p.this)
		}
		p.this = max(p.this, until)
		m.legacy[i] = p.former
		if !x.h.Watched {
			s.to = until
		}
		of[c.client] = append(of[c.client], s)
	}
	for _, i := range n.beliefs {
		b := &x.beliefs[i]
		s := span{b.begin, max(b.To, b.released)}
		left := span{b.From, x.keysEnd(s, troubled)}
		held[b.Client] = append(held[b.Client], left)
		if b.released > 0 {
			left.to = s.to
		}
		own[b.Client] = append(own[b.Client], left)
		if !x.h.Watched {
			s.to = x.keysEnd(s, troubled)
		}
		of[b.Client] = append(of[b.Client], s)
	}
	for client, s := range kept {
		if client != anybody {
			of[client] = append(of[client], s...)
		}
		m.all = append(m.all, s...)
		m.keys[client] = union(append([]span(nil), s...), 0)
	}
	for client, s := range of {
		m.all = append(m.all, s...)
		m.of[client] = union(s, 0)
	}
	for client, s := range held {
		m.held[client] = union(s, 0)
	}
	for client, s := range own {
		m.own[client] = union(s, 0)
	}
	for _, c := range m.asked {
		c.sort()
	}
	return m
}

// keysEnd returns until when keys may be left of what a client did during s.
func (x *index) keysEnd(s span, troubled spans) time.Duration {
	if t, ok := troubled.touch(s.from, s.to); ok {
		s.to = max(s.to, t.to)
	}
	return s.to + x.lease() + x.h.Timeout
}

// kept returns when nodes kept keys, by name and client; nil where nobody
// watched.
func (x *index) kept() map[string]map[int][]span {
	if !x.h.Watched {
		return nil
	}
	owners := map[string]int{}
	for i := range x.beliefs {
		owners[x.beliefs[i].Token] = x.beliefs[i].Client
	}
	type place struct {
		node int
		name string
	}
	type key struct {
		span
		token string
		owner int
	}
	open := map[place]*key{}
	all := map[string]map[int][]span{}
	end := func(p place, at time.Duration) {
		k := open[p]
		if k == nil {
			return
		}
		delete(open, p)
		if all[p.name] == nil {
			all[p.name] = map[int][]span{}
		}
		all[p.name][k.owner] = append(all[p.name][k.owner], span{k.from, max(min(k.to, at), k.from)})
	}
	for i := range x.events {
		e := &x.events[i]
		p := place{e.Node, e.Name}
		switch e.Kind {
		case history.Kept:
			end(p, e.At)
			owner := e.Client
			if owner == 0 {
				owner = owners[e.Token]
			}
			if owner == 0 {
				owner = anybody
			}
			until := e.At + x.grown(e.Until-e.At) // the node's clock may slow down
			if e.Until == 0 {
				until = x.last
			}
			open[p] = &key{span{e.At, until}, e.Token, owner}
		case history.Deleted:
			if k := open[p]; k != nil && k.token == e.Token {
				end(p, e.At)
			}
		}
	}
	for p := range open {
		end(p, x.last)
	}
	return all
}
