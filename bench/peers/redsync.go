package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"

	"github.com/quorumlock/redlock/bench/internal/contender"
)

// redsyncDefault is redsync as one gets it, over go-redis as one gets it.
var redsyncDefault = contender.Contender{
	Name: "redsync", Slow: true,
	Open: func(_ context.Context, addrs []string) (contender.Client, error) {
		return openRedsync(addrs, overGoRedis(nil)), nil
	},
}

// redsyncFailFast does not wait for all nodes.
var redsyncFailFast = contender.Contender{
	Name: "redsync, fail-fast", Slow: true,
	Open: func(_ context.Context, addrs []string) (contender.Client, error) {
		return openRedsync(addrs, overGoRedis(nil), redsync.WithFailFast(true), briskly), nil
	},
}

// redsyncShort waits for no node longer than the Redlock page proposes.
var redsyncShort = contender.Contender{
	Name: "redsync, 10 ms timeouts",
	Open: func(_ context.Context, addrs []string) (contender.Client, error) {
		return openRedsync(addrs, overGoRedis(func(o *redis.Options) {
			o.ReadTimeout, o.WriteTimeout = shortTimeout, shortTimeout
			o.DialTimeout = 25 * shortTimeout // 20 connections are made at once
			o.PoolTimeout = time.Second       // hundreds of goroutines share them
			o.MaxRetries, o.DialerRetries = -1, 1
			o.ContextTimeoutEnabled = true
		}), briskly), nil
	},
}

const shortTimeout = 10 * time.Millisecond

// redsyncRueidis is redsync's best form: fail-fast, over the client that sends
// what many goroutines want as pipelines.
var redsyncRueidis = contender.Contender{
	Name: "redsync, rueidis, fail-fast", Slow: true,
	Open: func(_ context.Context, addrs []string) (contender.Client, error) {
		var clients []rueidis.Client
		var pools []redsyncredis.Pool
		for _, addr := range addrs {
			c, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress:       []string{addr},
				DisableCache:      true, // nothing is read that could be cached
				ForceSingleClient: true, // do not look for a cluster
				PipelineMultiplex: -1,   // one connection: larger pipelines, faster here than its four
			})
			if err != nil {
				for _, c := range clients {
					c.Close()
				}
				return nil, err
			}
			clients = append(clients, c)
			pools = append(pools, redsyncrueidis.NewPool(rueidiscompat.NewAdapter(c)))
		}
		return &redsyncClient{redsync.New(pools...), []redsync.Option{redsync.WithFailFast(true), briskly}, func() error {
			for _, c := range clients {
				c.Close()
			}
			return nil
		}}, nil
	},
}

// briskly makes who waits for a lock look again as soon as this module's client
// does at first; redsync's own pause is 50 to 250 ms.
var briskly = redsync.WithRetryDelayFunc(func(int) time.Duration {
	return 10*time.Millisecond + rand.N(10*time.Millisecond)
})

// overGoRedis returns what makes a client of a server.
func overGoRedis(change func(*redis.Options)) func(addr string) *redis.Client {
	return func(addr string) *redis.Client {
		o := &redis.Options{Addr: addr}
		if change != nil {
			change(o)
		}
		return redis.NewClient(o)
	}
}

func openRedsync(addrs []string, open func(addr string) *redis.Client, opts ...redsync.Option) contender.Client {
	var clients []*redis.Client
	var pools []redsyncredis.Pool
	for _, addr := range addrs {
		c := open(addr)
		clients = append(clients, c)
		pools = append(pools, goredis.NewPool(c))
	}
	return &redsyncClient{redsync.New(pools...), opts, func() error {
		var errs []error
		for _, c := range clients {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}}
}

type redsyncClient struct {
	sync  *redsync.Redsync
	opts  []redsync.Option
	close func() error
}

func (c *redsyncClient) Close() error { return c.close() }

func (c *redsyncClient) mutex(name string, ttl time.Duration) *redsync.Mutex {
	const tries = 1 << 30 // until the context ends
	return c.sync.NewMutex(name, append([]redsync.Option{redsync.WithExpiry(ttl), redsync.WithTries(tries)}, c.opts...)...)
}

func (c *redsyncClient) Acquire(ctx context.Context, name string, ttl time.Duration) (contender.Lock, error) {
	m := c.mutex(name, ttl)
	if err := m.TryLockContext(ctx); err != nil {
		return nil, err
	}
	return redsyncLock{m}, nil
}

func (c *redsyncClient) Wait(ctx context.Context, name string, ttl time.Duration) (contender.Lock, error) {
	m := c.mutex(name, ttl)
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	return redsyncLock{m}, nil
}

type redsyncLock struct{ mutex *redsync.Mutex }

func (l redsyncLock) Release(ctx context.Context) error {
	return failed(l.mutex.UnlockContext(ctx))
}

// Extend extends to the TTL that the lock was acquired with, which is redsync's
// only way.
func (l redsyncLock) Extend(ctx context.Context, _ time.Duration) error {
	return failed(l.mutex.ExtendContext(ctx))
}

func failed(ok bool, err error) error {
	if ok {
		return nil // at a quorum; err may tell of the others
	}
	if err == nil {
		err = errors.New("redsync: no quorum")
	}
	return err
}
