package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/proxy"
	"github.com/quorumlock/redlock/clock"
)

// A server is a node of a cluster that runs in real time: something that speaks
// Redis' protocol.
type server interface {
	dial(ctx context.Context) (net.Conn, error)

	// can returns why the fault is not possible.
	can(fault string) error
	kill() error
	start(keep bool) error // after kill
	pause() error
	resume() error
	flush() error
	jump(by time.Duration) error // of the clock
	rate(r float64) error        // of the clock, against true time

	// The looks that confirm a fault.
	isDown() (bool, error)
	isPaused() (bool, error)
	offset() (time.Duration, error) // of the clock, against true time

	// get returns a key, with ttl -1 if it has none.
	get(key string) (value string, ttl time.Duration, ok bool, err error)
	close() error
}

// proxied is a cluster of servers, with a fault proxy between every client and
// every server.
type proxied struct {
	Setup
	servers []server
	proxies [][]*proxy.Proxy // by client and node
	clocks  *clocks
	turns   []sync.Mutex // by node: held while a fault changes the server's state
}

// newProxied puts proxies in front of the servers, which it closes on failure.
func newProxied(s Setup, servers []server) (_ Cluster, err error) {
	c := &proxied{Setup: s, servers: servers, clocks: newClocks(s, clock.System()), turns: make([]sync.Mutex, len(servers))}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	for i := range s.Plan.Clients {
		c.proxies = append(c.proxies, nil)
		for j, server := range servers {
			p, err := proxy.StartDialer(server.dial, uint64(plan.Dice(s.Seed).For(uint64(i), uint64(j))))
			if err != nil {
				return nil, err
			}
			c.proxies[i] = append(c.proxies[i], p)
			for _, f := range baseline(&s.Plan.Network) {
				p.Add(f)
			}
		}
	}
	for i, server := range servers {
		if r := rate(s.Plan.NodeRates, i+1); r != 1 {
			if err := server.rate(r); err != nil {
				return nil, err
			}
		}
	}
	for i := range servers {
		c.measure(i + 1)
	}
	return c, nil
}

// baseline returns what happens to every message.
func baseline(n *plan.Network) (faults []proxy.Fault) {
	if n.Delay.Max > 0 {
		faults = append(faults, proxy.Fault{Kind: proxy.Latency, Min: n.Delay.Min, Max: n.Delay.Max})
	}
	for _, f := range []proxy.Fault{
		{Kind: proxy.DropRequest, Probability: n.DropRequest},
		{Kind: proxy.DropReply, Probability: n.DropReply},
		{Kind: proxy.Duplicate, Probability: n.Duplicate, Min: n.Late.Min, Max: n.Late.Max},
		{Kind: proxy.LateDeliver, Probability: n.Delayed, Min: n.Late.Min, Max: n.Late.Max},
	} {
		if f.Probability > 0 {
			faults = append(faults, f)
		}
	}
	return faults
}

// Client implements [Cluster].
func (c *proxied) Client(client int) ([]redlock.Node, clock.Clock) {
	nodes, err := Connect(c.Contacts(client))
	if err != nil {
		panic(err) // the address of a proxy that listens
	}
	return nodes, c.clocks.clocks[client-1]
}

// Contacts implements [Reachable].
func (c *proxied) Contacts(client int) (contacts []Contact) {
	for _, i := range c.members(client) {
		var contact Contact
		if s, ok := c.servers[i-1].(guarded); ok {
			contact = s.contact()
		}
		contact.Addr = c.proxies[client-1][i-1].Addr()
		contacts = append(contacts, contact)
	}
	return contacts
}

// ClientRate implements [Cluster].
func (c *proxied) ClientRate(client int) float64 { return c.clocks.rate(client) }

// Can implements [Cluster].
func (c *proxied) Can(fault string) error {
	if fault == plan.Cut {
		return c.canCut()
	}
	return c.servers[0].can(fault)
}

// begin is Begin in the server's turn.
func (c *proxied) begin(s *plan.Step, target int) (end func(), err error) {
	if s.Fault == plan.ClientClockJump || s.Fault == plan.ClientClockRate {
		end = c.clocks.begin(s, target)
		c.seen(history.Event{Client: target, Fault: s.Fault}, "its clock says so")
		return end, nil
	}
	if fault, ok := ofNetwork(s); ok {
		return c.disturb(s, target, fault), nil
	}
	server := c.servers[target-1]
	switch s.Fault {
	case plan.Kill, plan.RestartForget, plan.RestartLate:
		return c.kill(s, target)
	case plan.Pause:
		if err := server.pause(); err != nil {
			return nil, err
		}
		if paused, err := server.isPaused(); err == nil && paused {
			c.seen(history.Event{Node: target, Fault: s.Fault}, "it is stopped")
		}
		return func() { c.report(server.resume()) }, nil
	case plan.Flush:
		if err := server.flush(); err != nil {
			return nil, err
		}
		if _, _, ok, err := server.get(nameOfFirst); err == nil && !ok {
			c.seen(history.Event{Node: target, Fault: s.Fault}, "it is empty")
		}
		return func() {}, nil
	case plan.ClockJump, plan.ClockRate, plan.ClockStrobe:
		return c.turn(s, target)
	case plan.Cut:
		return c.cut(s, target)
	}
	return nil, fmt.Errorf("%s: %w", s.Fault, ErrCannot)
}

// nameOfFirst is the key that a flush is confirmed by.
const nameOfFirst = "job-1"

func (c *proxied) seen(e history.Event, text string) {
	e.Kind, e.Text = history.Seen, text
	c.Log.Add(e)
}

// report records an error of healing, which the checkers see the effect of.
func (c *proxied) report(err error) {
	if err != nil {
		c.Log.Add(history.Event{Kind: history.Heal, Text: err.Error()})
	}
}

// ofNetwork returns the proxy's fault that makes the step's.
func ofNetwork(s *plan.Step) (proxy.Fault, bool) {
	switch s.Fault {
	case plan.Partition:
		return proxy.Fault{Kind: proxy.Blackhole}, true
	case plan.Slow:
		return proxy.Fault{Kind: proxy.Latency, Direction: proxy.ToClient, Min: s.By}, true
	case plan.DropRequest:
		return proxy.Fault{Kind: proxy.DropRequest}, true
	case plan.DropReply:
		return proxy.Fault{Kind: proxy.DropReply}, true
	case plan.Duplicate:
		return proxy.Fault{Kind: proxy.Duplicate, Min: max(s.By, time.Millisecond)}, true
	case plan.LateDeliver:
		return proxy.Fault{Kind: proxy.LateDeliver, Min: s.By}, true
	case plan.Reset:
		return proxy.Fault{Kind: proxy.Reset}, true
	case plan.ErrorReply:
		return proxy.Fault{Kind: proxy.ErrorReply, Reply: s.Reply}, true
	default:
		return proxy.Fault{}, false
	}
}

// disturb adds the fault to the connections between a node and the step's
// clients, all if it names none.
func (c *proxied) disturb(s *plan.Step, node int, fault proxy.Fault) (end func()) {
	var proxies []*proxy.Proxy
	for i := range c.proxies {
		proxies = append(proxies, c.proxies[i][node-1])
	}
	if len(s.Clients) > 0 {
		proxies = proxies[:0]
		for _, client := range s.Clients {
			proxies = append(proxies, c.proxies[client-1][node-1])
		}
	}
	count := func() (n int) {
		for _, p := range proxies {
			n += p.Counts()[fault.Kind]
		}
		return n
	}
	before := count()
	var removes []func()
	for _, p := range proxies {
		removes = append(removes, p.Add(fault))
	}
	return func() {
		if n := count() - before; n > 0 {
			c.seen(history.Event{Node: node, Fault: s.Fault}, fmt.Sprintf("it acted on %d messages", n))
		}
		for _, remove := range removes {
			remove()
		}
	}
}

// kill ends the server, and refuses connections as its machine would.
func (c *proxied) kill(s *plan.Step, node int) (end func(), err error) {
	server := c.servers[node-1]
	if err := server.kill(); err != nil {
		return nil, err
	}
	var removes []func()
	for i := range c.proxies {
		p := c.proxies[i][node-1]
		removes = append(removes, p.Add(proxy.Fault{Kind: proxy.Refuse}))
		p.Sever()
	}
	if down, err := server.isDown(); err == nil && down {
		c.seen(history.Event{Node: node, Fault: s.Fault}, "it is down")
	}
	return func() {
		c.report(server.start(s.Fault == plan.Kill))
		for _, remove := range removes {
			remove()
		}
	}, nil
}

// turn changes the server's clock. It is seen to if it moved by more than half of
// what it should have: any two measurements differ a little.
func (c *proxied) turn(s *plan.Step, node int) (end func(), err error) {
	server, own := c.servers[node-1], rate(c.Plan.NodeRates, node)
	before, measured := c.measure(node)
	began, turnBack := c.Log.Now(), func() {}
	switch s.Fault {
	case plan.ClockJump:
		err = server.jump(s.By)
	case plan.ClockRate:
		err = server.rate(s.Rate)
		turnBack = func() { c.report(server.rate(own)) }
	case plan.ClockStrobe:
		turnBack = c.strobe(server, s.By)
	}
	if err != nil {
		return nil, err
	}
	see := func() (moved bool) {
		want := s.By
		if s.Fault == plan.ClockRate {
			want = time.Duration((s.Rate - own) * float64(c.Log.Now()-began))
		}
		now, ok := c.measure(node)
		if moved = measured && ok && float64(now-before)/float64(want) > 0.5; moved {
			c.seen(history.Event{Node: node, Fault: s.Fault}, fmt.Sprintf("its clock moved by %v", now-before))
		}
		return moved
	}
	if s.Fault == plan.ClockJump {
		see()
		return turnBack, nil
	}
	return func() {
		for tries := 0; !see() && s.Fault == plan.ClockStrobe && tries < 20; tries++ {
		}
		turnBack()
		c.measure(node)
	}, nil
}

// measure records how far the server's clock is ahead of the true one.
func (c *proxied) measure(node int) (offset time.Duration, ok bool) {
	offset, err := c.servers[node-1].offset()
	if err == nil {
		c.Log.Add(history.Event{Kind: history.Offset, Node: node, Offset: offset})
	}
	return offset, err == nil
}

// strobe makes the clock jump there and back.
func (c *proxied) strobe(server server, by time.Duration) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ahead := time.Duration(0)
		ticker := time.NewTicker(7 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				step := by - 2*ahead // there, or back
				if ahead != 0 {
					step = -by
				}
				c.report(server.jump(step))
				ahead += step
			case <-stop:
				c.report(server.jump(-ahead))
				return
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// Inspect implements [Cluster]. It also measures the clocks, as was done when the
// cluster was made: that those ran true which nothing turned is an assumption, too.
func (c *proxied) Inspect(_ context.Context, names []string) (found []history.Event) {
	for i, server := range c.servers {
		c.measure(i + 1)
		for _, name := range names {
			value, ttl, ok, err := server.get(c.Plan.KeyPrefix + name)
			if err != nil || !ok {
				continue
			}
			until := time.Duration(0)
			if ttl >= 0 {
				until = c.Log.Now() + ttl
			}
			e := keyEvent(history.Found, i+1, name, value, until)
			c.Log.Add(e)
			found = append(found, e)
		}
	}
	return found
}

// Close implements [Cluster].
func (c *proxied) Close() error {
	var errs []error
	for i := range c.proxies {
		for _, p := range c.proxies[i] {
			errs = append(errs, p.Close())
		}
	}
	for _, server := range c.servers {
		errs = append(errs, server.close())
	}
	return errors.Join(errs...)
}
