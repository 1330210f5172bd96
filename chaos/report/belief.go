package report

import (
	"cmp"
	"fmt"
	"sort"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

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
	work := func(g grant, at time.Duration, wrote bool, ended string) {
		from, ok := read[g]
		if !ok {
			return
		}
		delete(read, g)
		c := t.client(g.client)
		if b := c.believed(g.token, from); !wrote && b != nil {
			at = min(at, b.to) // nothing tells that it went on after that
		}
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
			work(g, e.At, true, fmt.Sprintf("read version %d, wrote %d", e.Based, e.Version))
		case history.Release, history.Lost:
			work(g, e.At, false, "wrote nothing")
		case history.Stall:
			if _, ok := stalled[e.Client]; !ok {
				stalled[e.Client] = e.At
			}
		case history.Wake:
			wake(e.Client, e.At)
		case history.Crash:
			for o := range read {
				if o.client == e.Client {
					work(o, e.At, false, "crashed")
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

// believed returns the client's belief in token at a time, or nil.
func (l *track) believed(token string, at time.Duration) *bar {
	i := sort.Search(len(l.beliefs), func(i int) bool { return l.beliefs[i].from > at })
	// A client's beliefs do not overlap, unless two of its workers break the lock.
	for first := max(0, i-flagRows); i > first; i-- {
		if b := &l.beliefs[i-1]; b.token == token && at <= b.to {
			return b
		}
	}
	return nil
}
