package sweep_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/proxy"
)

const (
	// allowance is what every limit gets for scheduling, beside what the
	// machine was seen to lose. It is less than nodeTimeout, so that whoever
	// waits for a silent node that he need not wait for is found out.
	allowance = 250 * time.Millisecond
	patience  = 10 * time.Second // with what has no limit of its own
	second    = time.Second      // the longest pause of hunts, probes and redials
	leaseTTL  = 10 * time.Second // longer than all limits: what is left shows
)

// A run is a cell that is being played. It is testify's TestingT.
type run struct {
	*cell
	fleet   *fleet
	key     string
	proxies []*proxy.Proxy // of the targets, in their order
	nodes   []redlock.Node
	client  *redlock.Client
	heard   events
	planted map[plant]span // when the keys of strangers expire
	lives   time.Duration  // how long a key may stay that a copy of a command made
	calm    time.Time      // when the operation was over and the fault gone

	mu       sync.Mutex
	failures []string // guarded by mu
}

// Errorf notes a violation.
func (r *run) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// FailNow ends the cell. It is called from the goroutine that plays it.
func (r *run) FailNow() { runtime.Goexit() }

// play plays the cell and returns its violations. What it starts carries the
// cell's coordinates as a label, which the dump of a leak shows.
func (c *cell) play(f *fleet) []string {
	r := &run{cell: c, fleet: f, key: fmt.Sprintf("sweep/%s/%d", c, f.plays.Add(1)), planted: map[plant]span{}}
	done := make(chan struct{})
	go pprof.Do(context.Background(), pprof.Labels("cell", c.String()), func(context.Context) {
		defer close(done)
		defer r.stop()
		f.starting <- struct{}{}
		r.start()
		r.op.play(r)
		r.afterwards()
	})
	<-done
	return r.failures
}

// start makes the cell's proxies and its client, which is connected to all nodes
// unless connecting is what is tested.
func (r *run) start() {
	defer func() { <-r.fleet.starting }() // a crowd that connects at once would be all that the machine can do
	r.plantForeign()
	timeout := patience
	if r.op.name == "connect" {
		timeout = connectTimeout
	}
	for i := range r.n {
		opts := r.fleet.servers[i].options()
		if r.targets.has(i) {
			p, err := proxy.StartDialer(r.fleet.servers[i].dial, uint64(i+1))
			require.NoError(r, err)
			r.proxies = append(r.proxies, p)
			opts = &redis.Options{Addr: p.Addr()}
		}
		node, err := redlock.RedisNode(opts, timeout)
		require.NoError(r, err)
		r.nodes = append(r.nodes, node)
	}
	var err error
	r.client, err = redlock.NewFrom(r.nodes, &redlock.Options{
		NodeTimeout: nodeTimeout, ConnectTimeout: timeout, RetryMax: retryMax, Owner: "sweep", Trace: r.heard.trace(),
	})
	require.NoError(r, err)
	if r.op.name == "connect" {
		return
	}
	for _, node := range r.nodes {
		require.NoError(r, node.Connect(context.Background()))
	}
}

func (r *run) stop() {
	if r.client != nil {
		_ = r.client.Close()
	} else {
		for _, node := range r.nodes {
			_ = node.Close()
		}
	}
	for _, p := range r.proxies {
		if err := p.Close(); err != nil {
			r.Errorf("%v", err)
		}
	}
}

// strike makes the fault act from now on.
func (r *run) strike() {
	f := r.fault.Fault
	if !r.fault.ofPort() {
		f.Commands, f.Handshake = r.variant.commands, r.op.name == "connect"
		if r.variant.first {
			f.Count = 1
		}
	}
	for _, p := range r.proxies {
		if f.Kind != "" {
			p.Add(f)
		}
		if r.fault.sever {
			p.Sever()
		}
	}
}

// heal ends the fault.
func (r *run) heal() {
	for _, p := range r.proxies {
		p.Heal()
	}
	r.calm = time.Now()
}

// under calls f while the fault acts, which then has to have acted on all of the
// targets.
func (r *run) under(limit time.Duration, what string, f func()) {
	r.strike()
	var healing sync.WaitGroup
	if r.variant.mid {
		healing.Go(func() {
			r.awaitActed(second)
			r.heal()
		})
	}
	r.within(limit, what, f)
	healing.Wait()
	r.hasActed(r.targets.nodes)
}

// hasActed waits until the fault has acted on the nodes: a cell whose fault did
// not act proves nothing.
func (r *run) hasActed(nodes []int) {
	if !r.awaitActed(second, nodes...) {
		var counts []string
		for i, p := range r.proxies {
			counts = append(counts, fmt.Sprintf("node %d: %v", r.targets.nodes[i], p.Counts()))
		}
		r.Errorf("proved nothing: the fault did not act on all of nodes %v: %v", nodes, counts)
	}
}

// awaitActed waits until the fault has acted on the nodes, none meaning all
// targets.
func (r *run) awaitActed(limit time.Duration, nodes ...int) bool {
	if nodes == nil {
		nodes = r.targets.nodes
	}
	return until(limit, func() bool {
		for _, node := range nodes {
			counts := r.proxyOf(node).Counts()
			for _, kind := range r.fault.counts() {
				if counts[kind] == 0 {
					return false
				}
			}
		}
		return true
	})
}

func (r *run) proxyOf(node int) *proxy.Proxy {
	for i, target := range r.targets.nodes {
		if target == node {
			return r.proxies[i]
		}
	}
	return nil
}

// within calls f and checks how long it took.
func (r *run) within(limit time.Duration, what string, f func()) {
	done := make(chan struct{})
	watch := startWatch()
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit + 2*patience):
		require.Fail(r, "a call does not return", "%s: not after %v, want at most %v", what, limit+2*patience, limit)
		r.FailNow()
	}
	if took := watch.read(); took > limit+allowance {
		r.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}

// soon waits until is holds, at most limit and the allowance.
func (r *run) soon(limit time.Duration, what string, is func() bool) {
	if !until(limit+allowance, is) {
		r.Errorf("not within %v: %s", limit, what)
	}
}

// until waits until is holds, at most limit and what the machine loses, and
// reports whether it does.
func until(limit time.Duration, is func() bool) bool {
	watch := startWatch()
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		over := watch.read() > limit
		if is() {
			return true
		}
		if over {
			return false
		}
		time.Sleep(pause)
	}
}

// events are what the client told of.
type events struct {
	mu       sync.Mutex
	attempts int     // decided; guarded by mu
	extended []error // guarded by mu
}

func (e *events) trace() *redlock.Trace {
	return &redlock.Trace{
		Attempt: func(context.Context, string, int, time.Duration, error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.attempts++
		},
		Extended: func(_ context.Context, _ string, _ time.Duration, err error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.extended = append(e.extended, err)
		},
	}
}

// extensions returns how many extensions have succeeded and failed.
func (e *events) extensions() (succeeded, failed int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, err := range e.extended {
		if err == nil {
			succeeded++
		} else {
			failed++
		}
	}
	return succeeded, failed
}

func (e *events) decided() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.attempts
}
