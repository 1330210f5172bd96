// Package redlock is a lock over several independent Redis masters, for jobs of
// which only one may run at a time: the Redlock algorithm, with what happens
// when nodes die, hang and forget, and clients are cancelled in the middle,
// thought through.
//
//	client, err := redlock.Open([]string{"redis://a:6379", "redis://b:6379", "redis://c:6379"}, nil)
//	...
//	err = client.TryDo(ctx, "settle:2026-06-30", 30*time.Second,
//		func(ctx context.Context, lock *redlock.Lock) error {
//			return settle(ctx) // ctx ends when the lock is lost
//		})
//	if errors.Is(err, redlock.ErrHeld) {
//		return nil // another server is at it
//	}
//
// A lock is held while a quorum of the nodes, N/2+1 of N, keeps its key. No node
// alone can lose it or block it.
//
// # What it promises
//
// No two clients believe that they hold the same lock at once, as long as all of
// this is true:
//
//   - A0, membership: every client is configured with the same nodes, key prefix
//     and database numbers, and they are different servers that share no data.
//   - A1, rates: a client's clock runs at no less than 1 - Drift.Factor times the
//     rate of a node's; nobody steps a node's clock during a lease; a client is
//     not stopped together with its clock (a virtual machine's pause, snapshot or
//     migration).
//   - A2, memory: at every instant of a lease N - quorum + 1 nodes keep its key:
//     no eviction, flush, failover to a replica or restart without data takes
//     more. A node that restarts without its keys stays away for the longest TTL
//     in use, on the slowest clock.
//   - A4, holders: what a holder does takes effect while its lock is valid.
//
// Of the network nothing is assumed (A3): it may lose, delay, double and
// reorder messages. Outside of this two holders are possible, as with any lock
// of this kind; the library then tells a holder as soon as it can know.
//
// A lock stops overlap, not repetition: a server whose timer fires after the
// first has finished runs the job again, unless the job records in its store
// that the period is done. And where correctness is at stake, the store itself
// must refuse stale writers.
package redlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/redlock/quorum"
)

// A Client acquires locks on a fixed set of nodes. It is safe for concurrent
// use; one per process is enough. Make it with New, Open or NewFrom, and Close
// it.
type Client struct {
	opts    Options
	voters  []*voter
	need    int // the quorum
	orphans *orphans
	keepers keepers

	life     context.Context // ends at Close
	endLife  context.CancelCauseFunc
	draining context.Context // ends at Shutdown or Close
	drain    context.CancelCauseFunc

	connectOnce sync.Once
	connected   chan struct{} // closed when the first connecting has come to a result

	mu      sync.Mutex
	locks   map[*Lock]struct{} // held; guarded by mu
	running int                // calls of Do and deletes under way; guarded by mu
	idle    chan struct{}      // made by who waits for running to be 0; guarded by mu
}

// New returns a client of the Redis masters that nodes describe; nil opts mean
// all defaults. It does no I/O: it succeeds with every node down.
//
// The options are copied. Address, Dialer, credentials, DB, TLS and protocol
// are used as they are, but that protocol 0 means RESP2; what would bound, retry
// or repeat an attempt is not: timeouts, retries and pools of the copies are the
// lock's own. Options of a *redis.Client may be passed as client.Options().
//
// The error wraps ErrInvalid if there are no nodes or more than MaxNodes, a nil
// entry, the same address or socket twice, or an option that Validate refuses.
// Two names of one server cannot be told from two servers: do not do that. Nor
// is Redis Cluster, Sentinel or a proxy a set of independent masters.
func New(nodes []*redis.Options, opts *Options) (*Client, error) {
	o, err := opts.complete()
	if err != nil {
		return nil, err
	}
	made := make([]Node, len(nodes))
	for i, n := range nodes {
		if n == nil {
			return nil, fmt.Errorf("redlock: %w: node %d of %d is nil", ErrInvalid, i+1, len(nodes))
		}
		made[i] = newRedisNode(n, o.ConnectTimeout)
	}
	return newClient(made, o)
}

// Open is New for URLs such as redis://user:password@host:6379/0, rediss://...
// or unix:///path, with the options that redis.ParseURL knows. An error about a
// URL never shows it, since it may hold a password; it tells which one it is.
func Open(urls []string, opts *Options) (*Client, error) {
	nodes := make([]*redis.Options, len(urls))
	for i, u := range urls {
		n, err := parseURL(u)
		if err != nil {
			return nil, fmt.Errorf("redlock: %w: URL %d of %d (not shown, it may hold a password): %w", ErrInvalid, i+1, len(urls), err)
		}
		nodes[i] = n
	}
	return New(nodes, opts)
}

// NewFrom is New for nodes of any kind. The client owns them from then on: its
// Close closes them. Nodes with the same name are refused.
func NewFrom(nodes []Node, opts *Options) (*Client, error) {
	o, err := opts.complete()
	if err != nil {
		return nil, err
	}
	return newClient(append([]Node(nil), nodes...), o)
}

func newClient(nodes []Node, o Options) (*Client, error) {
	if len(nodes) == 0 || len(nodes) > MaxNodes {
		return nil, fmt.Errorf("redlock: %w: %d nodes, want 1 to %d", ErrInvalid, len(nodes), MaxNodes)
	}
	c := &Client{
		opts:      o,
		need:      quorum.Majority(len(nodes)),
		connected: make(chan struct{}),
		locks:     make(map[*Lock]struct{}),
		orphans:   newOrphans(2 * o.NodeTimeout), // an attempt has its answers within one
	}
	seen := make(map[string]int, len(nodes))
	for i, n := range nodes {
		if n == nil {
			return nil, fmt.Errorf("redlock: %w: node %d of %d is nil", ErrInvalid, i+1, len(nodes))
		}
		name := n.String()
		if before, twice := seen[name]; twice {
			return nil, fmt.Errorf("redlock: %w: nodes %d and %d are both %s, want different servers", ErrInvalid, before+1, i+1, name)
		}
		seen[name] = i
		c.voters = append(c.voters, &voter{client: c, node: n, name: name})
	}
	c.life, c.endLife = context.WithCancelCause(context.Background())
	c.draining, c.drain = context.WithCancelCause(c.life)
	return c, nil
}

func invalidClient() error {
	return fmt.Errorf("redlock: %w: nil or zero Client, want one made by New, Open or NewFrom", ErrInvalid)
}

// Nodes returns the number of nodes, N; 0 for a nil or zero Client.
func (c *Client) Nodes() int {
	if c == nil {
		return 0
	}
	return len(c.voters)
}

// Quorum returns how many nodes must agree: N/2 + 1; 0 for a nil or zero Client.
func (c *Client) Quorum() int {
	if c == nil {
		return 0
	}
	return c.need
}

// String names the client's nodes.
func (c *Client) String() string {
	if c == nil {
		return "redlock()"
	}
	s := "redlock("
	for i, v := range c.voters {
		if i > 0 {
			s += " "
		}
		s += v.name
	}
	return s + ")"
}

// Shutdown ends the client in good order: from now on nothing is acquired, and
// the contexts of Do are cancelled. It waits until every Do has released its
// lock, and the deletes under way are answered or given up, or ctx ends; then it
// closes the client, which ends hunts.
// It returns ctx's error if that came first, else what Close returns.
//
// Locks that were not acquired by Do are their holders' business: release them
// before, or they are lost with ErrClosed.
func (c *Client) Shutdown(ctx context.Context) error {
	if c == nil || len(c.voters) == 0 {
		return invalidClient()
	}
	c.drain(ErrClosed)
	var err error
	select {
	case <-c.whenIdle():
	case <-ctx.Done():
		err = fmt.Errorf("redlock: shutdown: %w", ctx.Err())
	}
	if closeErr := c.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Close ends the client at once. Nothing is acquired or sent any more; calls
// that wait return ErrClosed. Locks still held are lost, with ErrClosed as the
// reason, and their keys run out with their TTL; hunts for orphans end. Within
// NodeTimeout + 1 s nothing of the client is left running. It returns the first
// error of closing a node. Closing again returns ErrClosed.
func (c *Client) Close() error {
	if c == nil || len(c.voters) == 0 {
		return invalidClient()
	}
	c.mu.Lock()
	if c.isClosed() {
		c.mu.Unlock()
		return fmt.Errorf("redlock: close: %w", ErrClosed)
	}
	c.drain(ErrClosed)
	c.endLife(ErrClosed)
	held := make([]*Lock, 0, len(c.locks))
	for l := range c.locks {
		held = append(held, l)
	}
	c.mu.Unlock()

	for _, l := range held {
		l.mu.Lock()
		_ = l.endLocked(ErrLost, ErrClosed)
	}
	var g errgroup.Group
	for _, v := range c.voters {
		v.stop()
		g.Go(v.node.Close)
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("redlock: close: %w", err)
	}
	return nil
}

// refused returns ErrClosed if nothing may be acquired any more.
func (c *Client) refused() error {
	if c.draining.Err() != nil {
		return fmt.Errorf("redlock: %w", ErrClosed)
	}
	return nil
}

func (c *Client) isClosed() bool { return c.life.Err() != nil }

func (c *Client) now() time.Duration { return c.opts.Clock.Now() }

// sleep waits for d, or returns why it did not.
func (c *Client) sleep(ctx context.Context, name string, d time.Duration) error {
	c.opts.Trace.wait(ctx, name, d)
	over := make(chan struct{})
	timer := c.opts.Clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.draining.Done():
		return c.refused()
	}
}

// census returns which nodes are suspect, as bits, and how many nodes can be
// expected to vote.
func (c *Client) census() (suspects uint64, able int) {
	for i, v := range c.voters {
		switch v.standing() {
		case answering:
			able++
		case suspect:
			suspects |= 1 << i
		}
	}
	return suspects, able
}

// register adds a held lock, unless the client is closed or shutting down.
func (c *Client) register(l *Lock) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining.Err() != nil {
		return false
	}
	c.locks[l] = struct{}{}
	return true
}

func (c *Client) unregister(l *Lock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.locks, l)
}

// enter and leave count what Shutdown waits for.
func (c *Client) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
}

func (c *Client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.running == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

func (c *Client) whenIdle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == 0 {
		return closedChan
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	return c.idle
}
