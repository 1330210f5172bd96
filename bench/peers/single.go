package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/quorumlock/redlock/bench/internal/contender"
)

// rueidisLock keeps one key on one server. It can use several keys on one
// server or cluster, but not several servers that are independent. Waiters are
// woken by the server instead of asking again.
var rueidisLock = contender.Contender{
	Name: "rueidislock, one node", Nodes: 1,
	Open: func(_ context.Context, addrs []string) (contender.Client, error) {
		l, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: addrs[:1], ForceSingleClient: true},
			KeyMajority:  1,
			KeyValidity:  10 * time.Minute, // more than any lock here is held
			// Its default of 20 ms is an error for many goroutines on few cores.
			TryNextAfter:   time.Second,
			NoLoopTracking: true, // faster, with Redis 7.0.5 or later
		})
		if err != nil {
			return nil, err
		}
		return rueidisClient{l}, nil
	},
}

type rueidisClient struct{ locker rueidislock.Locker }

func (c rueidisClient) Close() error {
	c.locker.Close()
	return nil
}

func (c rueidisClient) Acquire(ctx context.Context, name string, _ time.Duration) (contender.Lock, error) {
	_, cancel, err := c.locker.TryWithContext(ctx, name)
	if err != nil {
		return nil, err
	}
	return rueidisHeld(cancel), nil
}

func (c rueidisClient) Wait(ctx context.Context, name string, _ time.Duration) (contender.Lock, error) {
	_, cancel, err := c.locker.WithContext(ctx, name)
	if err != nil {
		return nil, err
	}
	return rueidisHeld(cancel), nil
}

// rueidisHeld is what releases.
type rueidisHeld context.CancelFunc

func (h rueidisHeld) Release(context.Context) error {
	h()
	return nil
}

// bsmLock keeps one key on one server, and asks again.
var bsmLock = contender.Contender{
	Name: "bsm/redislock, one node", Nodes: 1,
	Open: func(_ context.Context, addrs []string) (contender.Client, error) {
		c := redis.NewClient(&redis.Options{Addr: addrs[0]})
		return &bsmClient{c, redislock.New(c)}, nil
	},
}

type bsmClient struct {
	redis *redis.Client
	locks *redislock.Client
}

func (c *bsmClient) Close() error { return c.redis.Close() }

func (c *bsmClient) Acquire(ctx context.Context, name string, ttl time.Duration) (contender.Lock, error) {
	return c.obtain(ctx, name, ttl, nil)
}

func (c *bsmClient) Wait(ctx context.Context, name string, ttl time.Duration) (contender.Lock, error) {
	return c.obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)})
}

func (c *bsmClient) obtain(ctx context.Context, name string, ttl time.Duration, opts *redislock.Options) (contender.Lock, error) {
	l, err := c.locks.Obtain(ctx, name, ttl, opts)
	if err != nil {
		return nil, err
	}
	return bsmHeld{l}, nil
}

type bsmHeld struct{ *redislock.Lock }

func (h bsmHeld) Extend(ctx context.Context, ttl time.Duration) error {
	return h.Refresh(ctx, ttl, nil)
}
