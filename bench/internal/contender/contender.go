// Package contender gives lock clients one face, so that all go through the same
// scenarios.
package contender

import (
	"context"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/raw"
)

// A Client is a lock client under test. It is safe for concurrent use.
type Client interface {
	// Acquire tries to get the lock and does not wait for a holder.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Lock, error)
	Close() error
}

// A Waiter is a Client that can wait for a holder, until ctx ends.
type Waiter interface {
	Client
	Wait(ctx context.Context, name string, ttl time.Duration) (Lock, error)
}

// A Lock is one that a Client has acquired.
type Lock interface {
	Release(ctx context.Context) error
}

// An Extender is a Lock that can be made to last longer.
type Extender interface {
	Lock
	Extend(ctx context.Context, ttl time.Duration) error
}

// A Contender is a kind of client.
type Contender struct {
	Name string

	// Open returns a client of the servers at addrs, connected to them all.
	Open func(ctx context.Context, addrs []string) (Client, error)

	// Nodes is how many of the servers it uses; 0: all.
	Nodes int

	// Connections is how many connections it keeps to a node; 0: it depends.
	Connections int

	// Fragile says that it is no client for servers that fail.
	Fragile bool

	// Slow says that it waits for seconds for a node that fails: quick runs
	// leave that out.
	Slow bool

	// Ours is this module's client, of which something is predicted.
	Ours bool
}

// Redlock is this module's client, with nodeTimeout; 0 means its default.
func Redlock(name string, nodeTimeout time.Duration) Contender {
	return Contender{Name: name, Ours: true, Connections: 1, Open: func(ctx context.Context, addrs []string) (Client, error) {
		client, err := redlock.New(fleet.Options(addrs), &redlock.Options{NodeTimeout: nodeTimeout})
		if err != nil {
			return nil, err
		}
		return ours{client}, client.Connect(ctx)
	}}
}

// Raw is package raw: the limit.
func Raw() Contender {
	return Contender{Name: "raw sockets", Fragile: true, Open: func(_ context.Context, addrs []string) (Client, error) {
		f, err := raw.Dial(addrs)
		if err != nil {
			return nil, err
		}
		return limit{f}, nil
	}}
}

type ours struct{ *redlock.Client }

func (c ours) Acquire(ctx context.Context, name string, ttl time.Duration) (Lock, error) {
	l, err := c.TryAcquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (c ours) Wait(ctx context.Context, name string, ttl time.Duration) (Lock, error) {
	l, err := c.Client.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// closeTimeout bounds the wait for what a client still has to say to the nodes.
const closeTimeout = 5 * time.Second

func (c ours) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.Shutdown(ctx)
}

type limit struct{ *raw.Fleet }

func (c limit) Acquire(_ context.Context, name string, ttl time.Duration) (Lock, error) {
	return &limitLock{c.Fleet, name, c.Fleet.Acquire(name, ttl)}, nil
}

type limitLock struct {
	fleet       *raw.Fleet
	name, value string
}

func (l *limitLock) Release(context.Context) error {
	l.fleet.Release(l.name, l.value)
	return nil
}
