// Package cluster is what plans run on: nodes, the network between them and the
// clients, and the clients' clocks, with the faults that each kind can do.
package cluster

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/clock"
)

// ErrCannot means that this kind of cluster cannot do that fault.
var ErrCannot = errors.New("not possible on this backend")

// A Cluster is a set of nodes and the clients' connections to them. Clients and
// nodes are numbered from 1.
type Cluster interface {
	// Client returns the connections of a new process that runs as a client, to
	// the nodes that it is configured with, and its clock.
	Client(i int) ([]redlock.Node, clock.Clock)

	// ClientRate returns how fast the client's clock runs against true time.
	ClientRate(i int) float64

	// Can returns nil if the cluster can do the fault, or ErrCannot with the
	// reason.
	Can(fault string) error

	// Begin makes the step's fault act on one of its nodes, or of its clients
	// if it is one of clients, and returns what ends it. It has to record Seen
	// once an independent look shows the effect.
	Begin(s *plan.Step, target int) (end func(), err error)

	// Inspect records Found for every key on every node that can be asked,
	// under any of the names, and returns what it recorded.
	Inspect(ctx context.Context, names []string) (found []history.Event)

	// Close ends everything.
	Close() error
}

// A Setup is what every kind of cluster is made of.
type Setup struct {
	Plan      *plan.Plan
	Seed      uint64
	Log       *history.Recorder
	Simulated bool // in a testing/synctest bubble
	Apart     bool // every client is a process of its own
}

// members returns the nodes that a client is configured with.
func (s *Setup) members(client int) []int {
	if client <= len(s.Plan.Members) && len(s.Plan.Members[client-1]) > 0 {
		return s.Plan.Members[client-1]
	}
	all := make([]int, s.Plan.Nodes)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// rate returns number i's entry, from 1, or 1.
func rate(rates []float64, i int) float64 {
	if i <= len(rates) && rates[i-1] > 0 {
		return rates[i-1]
	}
	return 1
}

// divide returns how long d on a clock of that rate takes.
func divide(d time.Duration, rate float64) time.Duration {
	return time.Duration(float64(d) / rate)
}

// clocks are those of the clients.
type clocks struct {
	log    *history.Recorder
	clocks []*clock.Skewed

	mu    sync.Mutex
	rates []float64 // guarded by mu
}

func newClocks(s Setup, base clock.Clock) *clocks {
	c := &clocks{log: s.Log}
	for i := range s.Plan.Clients {
		skewed, r := clock.NewSkewed(base), rate(s.Plan.ClientRates, i+1)
		skewed.SetRate(r)
		c.clocks, c.rates = append(c.clocks, skewed), append(c.rates, r)
	}
	return c
}

// begin is Begin for the clients' clocks.
func (c *clocks) begin(s *plan.Step, client int) (end func()) {
	skewed := c.clocks[client-1]
	see := func() { c.log.Add(history.Event{Kind: history.Offset, Client: client, Offset: skewed.Offset()}) }
	see()
	if s.Fault == plan.ClientClockJump {
		skewed.Step(s.By)
		see()
		return func() {}
	}
	before := c.rate(client)
	c.setRate(client, s.Rate)
	return func() {
		see()
		c.setRate(client, before)
	}
}

func (c *clocks) rate(client int) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rates[client-1]
}

func (c *clocks) setRate(client int, r float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rates[client-1] = r
	c.clocks[client-1].SetRate(r)
}

// keyEvent returns what is known of a key from its value, "<token>/client-<n>".
func keyEvent(kind history.Kind, node int, name, value string, until time.Duration) history.Event {
	token, owner, _ := strings.Cut(value, "/")
	client, _ := strconv.Atoi(strings.TrimPrefix(owner, "client-"))
	return history.Event{Kind: kind, Node: node, Name: name, Token: token, Client: client, Until: until}
}
