package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/clock"
	"github.com/quorumlock/redlock/redlocktest"
)

// What a connection ends with.
var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset by peer")
)

// Sim is a cluster in memory, for simulated time: it lives in a testing/synctest
// bubble. Every delay is drawn to the nanosecond, from the seed and from what
// the message is, so that practically never two things happen at once and the
// same seed makes the same history.
type Sim struct {
	Setup
	dice   plan.Dice
	clocks *clocks
	agenda *agenda // of the network

	mu      sync.Mutex // guards all below, and what belongs to nodes and links
	nodes   []*simNode
	links   []*simLink
	leaving []bool // by client: what waits in its links is about to be sent
}

type simNode struct {
	number int
	store  *redlocktest.Node // keys, and their expiry by clock
	conn   redlock.Node      // to store
	clock  *clock.Skewed
	rate   float64

	down   string // the fault that took it down
	paused bool
	held   []func()          // what arrived meanwhile, in order
	slow   time.Duration     // by how much replies are later
	acts   map[string]int    // faults of messages that act now
	late   time.Duration     // of LateDeliver
	cut    map[int]int       // clients that are cut off
	kept   map[string]string // by key: the value that was set last
	unseen map[string]bool   // faults that act and have not shown an effect yet
}

// NewSim returns nodes that are up and empty.
func NewSim(s Setup) *Sim {
	c := &Sim{
		Setup: s, dice: plan.Dice(s.Seed).ForText("network"), clocks: newClocks(s, bubble{}),
		agenda: newAgenda(), leaving: make([]bool, s.Plan.Clients),
	}
	for i := range s.Plan.Nodes {
		n := &simNode{
			number: i + 1, clock: clock.NewSkewed(bubble{}), rate: rate(s.Plan.NodeRates, i+1),
			acts: map[string]int{}, cut: map[int]int{}, kept: map[string]string{},
			unseen: map[string]bool{},
		}
		n.clock.SetRate(n.rate)
		n.store = redlocktest.NewNode(fmt.Sprint("node-", i+1), n.clock)
		n.conn = n.store.Conn()
		c.nodes = append(c.nodes, n)
	}
	return c
}

// Client implements [Cluster].
func (c *Sim) Client(client int) ([]redlock.Node, clock.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var nodes []redlock.Node
	for _, i := range c.members(client) {
		l := &simLink{sim: c, node: c.nodes[i-1], client: client, number: len(c.links) + 1, conn: &simConn{sim: c}, sent: map[sent]int{}}
		c.links = append(c.links, l)
		nodes = append(nodes, l)
	}
	return nodes, simClock{c.clocks.clocks[client-1], c.dice.For(uint64(client)).ForText("timers")}
}

// ClientRate implements [Cluster].
func (c *Sim) ClientRate(client int) float64 { return c.clocks.rate(client) }

// Can implements [Cluster]: a Sim can do all that does not need a machine.
func (c *Sim) Can(fault string) error {
	if fault == plan.Cut {
		return errNoNetwork
	}
	return nil
}

// Begin implements [Cluster].
func (c *Sim) Begin(s *plan.Step, target int) (end func(), err error) {
	switch s.Fault {
	case plan.ClientClockJump, plan.ClientClockRate:
		end = c.clocks.begin(s, target)
		c.Log.Add(history.Event{Kind: history.Seen, Client: target, Fault: s.Fault})
		return end, nil
	case plan.CrashClient, plan.PauseClient:
		return nil, fmt.Errorf("%s: %w: the traffic does that", s.Fault, ErrCannot)
	}
	n := c.nodes[target-1]
	c.change(func() { n.unseen[s.Fault] = true })
	switch s.Fault {
	case plan.Kill, plan.RestartForget, plan.RestartLate:
		c.kill(n, s.Fault)
		return func() {
			if s.Fault != plan.Kill {
				c.forget(n, s.Fault)
			}
			c.change(func() { n.down = "" })
		}, nil
	case plan.Flush:
		c.forget(n, s.Fault)
		return func() {}, nil
	case plan.Pause:
		c.change(func() { n.paused = true })
		return func() { c.resume(n) }, nil
	case plan.Slow:
		c.change(func() { n.slow += s.By })
		return func() { c.change(func() { n.slow -= s.By }) }, nil
	case plan.Partition:
		return c.partition(n, s.Clients), nil
	case plan.DropRequest, plan.DropReply, plan.Duplicate, plan.LateDeliver, plan.Reset:
		c.change(func() { n.acts[s.Fault]++; n.late = s.By })
		return func() { c.change(func() { n.acts[s.Fault]-- }) }, nil
	case plan.ErrorReply:
		n.store.Answer(errors.New(s.Reply + " simulated"))
		return func() { n.store.Answer(nil) }, nil
	case plan.ClockJump:
		c.turnClock(n, func() { n.clock.Step(s.By) })
		c.change(func() { n.showsLocked(c, s.Fault) })
		return func() {}, nil
	case plan.ClockRate:
		before := n.rate
		c.turnClock(n, func() { n.clock.SetRate(s.Rate); n.rate = s.Rate })
		c.change(func() { n.showsLocked(c, s.Fault) })
		return func() { c.turnClock(n, func() { n.clock.SetRate(before); n.rate = before }) }, nil
	case plan.ClockStrobe:
		return c.strobe(n, s.By), nil
	}
	return nil, fmt.Errorf("%s: %w", s.Fault, ErrCannot)
}

// showsLocked records that the fault had an effect, once.
func (n *simNode) showsLocked(c *Sim, fault string) {
	if n.unseen[fault] {
		delete(n.unseen, fault)
		c.Log.Add(history.Event{Kind: history.Seen, Node: n.number, Fault: fault})
	}
}

func (c *Sim) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// kill takes the node down. What it was sent and has not carried out is lost.
func (c *Sim) kill(n *simNode, by string) {
	c.mu.Lock()
	n.down, n.paused, n.held = by, false, nil
	links := slices.Clone(c.links)
	if slices.ContainsFunc(links, func(l *simLink) bool { return l.node == n && len(l.flying) > 0 }) {
		n.showsLocked(c, by)
	}
	c.mu.Unlock()
	for _, l := range links {
		if l.node == n {
			l.breakWith(errReset)
		}
	}
}

// forget removes the node's keys.
func (c *Sim) forget(n *simNode, by string) {
	if n.store.Len() > 0 {
		c.change(func() { n.showsLocked(c, by) })
	}
	n.store.Forget()
	c.announce(n)
}

// resume carries out what the node was sent while it was paused.
func (c *Sim) resume(n *simNode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := n.held
	n.paused, n.held = false, nil
	for _, carryOut := range held {
		carryOut()
	}
}

func (c *Sim) partition(n *simNode, clients []int) (end func()) {
	if len(clients) == 0 {
		for i := range c.Plan.Clients {
			clients = append(clients, i+1)
		}
	}
	add := func(d int) {
		c.change(func() {
			for _, client := range clients {
				n.cut[client] += d
			}
		})
	}
	add(1)
	return func() { add(-1) }
}

// turnClock changes the node's clock, with measurements before and after, and
// says anew until when its keys last.
func (c *Sim) turnClock(n *simNode, turn func()) {
	c.measure(n)
	turn()
	c.measure(n)
	c.announce(n)
}

func (c *Sim) measure(n *simNode) {
	c.Log.Add(history.Event{Kind: history.Offset, Node: n.number, Offset: n.clock.Offset()})
}

// strobe makes the clock jump there and back, until it is ended.
func (c *Sim) strobe(n *simNode, by time.Duration) (end func()) {
	const period = 7*time.Millisecond + 77*time.Nanosecond
	ahead := false
	var timer *time.Timer
	var mu sync.Mutex
	swing := func() {
		mu.Lock()
		defer mu.Unlock()
		step := by
		if ahead {
			step = -by
		}
		ahead = !ahead
		c.turnClock(n, func() { n.clock.Step(step) })
		c.change(func() { n.showsLocked(c, plan.ClockStrobe) })
		timer.Reset(period)
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(period, swing)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		if ahead {
			ahead = false
			c.turnClock(n, func() { n.clock.Step(-by) })
		}
	}
}

// announce records until when the node's keys last now.
func (c *Sim) announce(n *simNode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]string, 0, len(n.kept))
	for key := range n.kept {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	now := c.Log.Now()
	for _, key := range keys {
		until := now
		if _, left, ok := n.store.Get(key); ok {
			until = now + divide(left, n.rate)
		}
		c.Log.Add(keyEvent(history.Kept, n.number, key, n.kept[key], until))
		if until == now {
			delete(n.kept, key)
		}
	}
}

// until returns the true time at which what is left on the node's clock is over;
// zero if it does not end.
func (c *Sim) until(n *simNode, left time.Duration) time.Duration {
	if left < 0 {
		return 0
	}
	return c.Log.Now() + divide(left, n.rate)
}

// Inspect implements [Cluster]. A simulated node can always be looked into.
func (c *Sim) Inspect(_ context.Context, names []string) (found []history.Event) {
	for _, n := range c.nodes {
		for _, name := range names {
			if value, left, ok := n.store.Get(name); ok {
				e := keyEvent(history.Found, n.number, name, value, c.until(n, left))
				c.Log.Add(e)
				found = append(found, e)
			}
		}
	}
	return found
}

// Close implements [Cluster].
func (c *Sim) Close() error {
	c.agenda.close()
	return nil
}
