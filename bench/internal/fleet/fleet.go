// Package fleet runs the Redis nodes that a benchmark is about, and counts on
// them what a client did: redis-server processes, or nodes inside this process
// on a machine that has no redis-server.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/proxy"
)

// A Kind is what the nodes are.
type Kind string

// The kinds of nodes. With Embedded, counts mean what they mean with Process;
// times, bytes and processor use do not, since the nodes are part of the program
// that is measured.
const (
	Process  Kind = "process"
	Embedded Kind = "embedded"
)

// Best returns Process where this machine has a redis-server, else Embedded.
func Best() Kind {
	if _, err := exec.LookPath("redis-server"); err == nil {
		return Process
	}
	return Embedded
}

// A Node is one server. Its methods look at it without the client that is
// measured.
type Node interface {
	Addr() string // host:port, the same over restarts

	Reset() error          // begins counting anew
	Stats() (Stats, error) // since Reset
	Keys() (int, error)    // how many keys there are

	// Record records every command that clients send from now on.
	Record() (Recording, error)

	Kill() error    // connecting is refused at once
	Restart() error // ends Kill; the node has forgotten everything
	Pause() error   // the node hangs: it accepts and never answers
	Resume() error  // ends Pause

	stop() error
}

// A Recording is the record of a [Node].
type Recording interface {
	// Commands returns how often each command, in lower case, was sent so
	// far. What scripts call is not counted.
	Commands() (map[string]int, error)
	Close() error
}

// A Fleet is a set of nodes. Close it.
type Fleet struct {
	Kind  Kind
	Nodes []Node

	after func() // what ends with the last node; nil: nothing
}

// Start runs n nodes and returns when they answer.
func Start(ctx context.Context, kind Kind, n int) (*Fleet, error) {
	if kind == Embedded {
		return startEmbedded(n)
	}
	f := &Fleet{Kind: Process}
	for range n {
		s, err := process.Start(ctx, process.Config{Args: []string{"--maxmemory", "512mb"}})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("fleet: %w", err), f.Close())
		}
		f.Nodes = append(f.Nodes, &server{Server: s})
	}
	return f, nil
}

// Close ends all nodes.
func (f *Fleet) Close() error {
	var errs []error
	for _, n := range f.Nodes {
		errs = append(errs, n.stop())
	}
	if f.after != nil {
		f.after()
	}
	return errors.Join(errs...)
}

// Addrs returns the nodes' addresses.
func (f *Fleet) Addrs() []string {
	addrs := make([]string, len(f.Nodes))
	for i, n := range f.Nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// Options returns go-redis options for addresses.
func Options(addrs []string) []*redis.Options {
	opts := make([]*redis.Options, len(addrs))
	for i, addr := range addrs {
		opts[i] = &redis.Options{Addr: addr}
	}
	return opts
}

// Reset begins counting anew on all nodes.
func (f *Fleet) Reset() error {
	var errs []error
	for _, n := range f.Nodes {
		errs = append(errs, n.Reset())
	}
	return errors.Join(errs...)
}

// Stats returns what each node has counted.
func (f *Fleet) Stats() ([]Stats, error) {
	stats := make([]Stats, len(f.Nodes))
	for i, n := range f.Nodes {
		s, err := n.Stats()
		if err != nil {
			return nil, err
		}
		stats[i] = s
	}
	return stats, nil
}

// Keys returns how many keys there are on all nodes together.
func (f *Fleet) Keys() (int, error) {
	sum := 0
	for _, n := range f.Nodes {
		keys, err := n.Keys()
		if err != nil {
			return 0, err
		}
		sum += keys
	}
	return sum, nil
}

// Far returns an address at which addr is a round trip away.
func Far(addr string, roundTrip time.Duration) (_ string, stop func() error, err error) {
	p, err := proxy.Start(addr, 1)
	if err != nil {
		return "", nil, fmt.Errorf("fleet: %w", err)
	}
	p.Add(proxy.Fault{Kind: proxy.Latency, Min: roundTrip / 2})
	return p.Addr(), p.Close, nil
}
