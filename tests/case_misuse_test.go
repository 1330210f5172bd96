package tests

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// All options are the same, so that nothing but the token tells attempts apart.
func TestB68EveryAttemptHasATokenOfItsOwn(t *testing.T) {
	const goroutines = 60
	opts := &redlock.Options{Owner: "one and the same", RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond}
	inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
		clients := []*redlock.Client{c.client, redlocktest.NewClient(t, c.nodes, opts)}
		c.each(func(n *redlocktest.Node) { n.Slow(100 * time.Microsecond) })
		var holders, grants atomic.Int32
		var all sync.WaitGroup
		for i := range goroutines {
			all.Go(func() {
				lock, err := clients[i%2].Acquire(t.Context(), caseKey, time.Minute)
				if !assert.NoError(t, err) {
					return
				}
				grants.Add(1)
				assert.EqualValues(t, 1, holders.Add(1))
				time.Sleep(time.Millisecond)
				holders.Add(-1)
				assert.NoError(t, lock.Release(t.Context()))
			})
		}
		all.Wait()
		assert.EqualValues(t, goroutines, grants.Load())
		c.clean(time.Second)
		for _, n := range c.nodes {
			seen := map[string]bool{}
			for _, r := range n.Commands() {
				if r.Op == redlock.OpAcquire {
					assert.Regexp(t, "^[0-9a-f]{40}/one and the same$", r.Value)
					assert.False(t, seen[r.Value], "used again")
					seen[r.Value] = true
				}
			}
			assert.Greater(t, len(seen), 2*goroutines)
		}
	})
}

func TestB70EveryRoundAsksEveryNodeOnce(t *testing.T) {
	inFieldCase(t, 5, nil, func(t *testing.T, c *fieldCase) {
		conns := make([]redlock.Node, len(c.nodes))
		for i, n := range c.nodes {
			conns[i] = n.Conn()
		}
		given := slices.Clone(conns)
		client, err := redlock.NewFrom(given, nil)
		require.NoError(t, err)
		defer client.Close()
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				lock, err := client.TryAcquire(t.Context(), fmt.Sprint("job ", i), time.Minute)
				if assert.NoError(t, err) {
					assert.NoError(t, lock.Extend(t.Context(), time.Hour))
					assert.NoError(t, lock.Release(t.Context()))
				}
			})
		}
		all.Wait()
		assert.Equal(t, conns, given, "the caller's slice is his")
		clear(given)
		_, err = client.TryAcquire(t.Context(), "after", time.Minute)
		require.NoError(t, err)

		synctest.Wait()
		for _, n := range c.nodes {
			rounds := map[string]int{}
			for _, r := range n.Commands() {
				rounds[r.Op.String()+r.Value]++
			}
			assert.Len(t, rounds, 3*100+1)
			for round, asked := range rounds {
				assert.Equal(t, 1, asked, round)
			}
		}
	})
}

func TestB70TheOptionsOfTheCallerAreHis(t *testing.T) {
	given := &redis.Options{Addr: "127.0.0.1:1", MaxRetries: 3, ReadTimeout: time.Hour, PoolSize: 7}
	before := *given
	opts := &redlock.Options{Drift: &redlock.Drift{Factor: 0.1}}
	client, err := redlock.New([]*redis.Options{given}, opts)
	require.NoError(t, err)
	defer client.Close()
	assert.Equal(t, before.MaxRetries, given.MaxRetries)
	assert.Equal(t, before.ReadTimeout, given.ReadTimeout)
	assert.Equal(t, before.PoolSize, given.PoolSize)
	assert.Equal(t, before.ContextTimeoutEnabled, given.ContextTimeoutEnabled)
	assert.Equal(t, &redlock.Options{Drift: &redlock.Drift{Factor: 0.1}}, opts)
}

// What the caller does to his options later changes nothing.
func TestB70OptionsAreCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := &redlock.Options{Drift: &redlock.Drift{Factor: 0.1}, KeyPrefix: "a:"}
		nodes := redlocktest.Nodes(1)
		client := redlocktest.NewClient(t, nodes, opts)
		opts.KeyPrefix, opts.Drift.Factor = "b:", 0.9
		lock := caseLock(t, client, time.Minute)
		assert.Equal(t, 54*time.Second, lock.Remaining())
		_, _, ok := nodes[0].Get("a:" + caseKey)
		assert.True(t, ok)
	})
}

func TestB71EveryAcquisitionStartsAfresh(t *testing.T) {
	const ttl = time.Second
	for name, end := range map[string]func(t *testing.T, lock *redlock.Lock){
		"released": func(t *testing.T, lock *redlock.Lock) { require.NoError(t, lock.Release(t.Context())) },
		"released and long gone": func(t *testing.T, lock *redlock.Lock) {
			require.NoError(t, lock.Release(t.Context()))
			time.Sleep(10 * ttl)
		},
		"run out": func(t *testing.T, lock *redlock.Lock) { time.Sleep(2 * ttl) },
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				first := c.held(ttl)
				require.NoError(t, first.KeepAlive(redlock.KeepAlive{MaxCount: 1}))
				time.Sleep(ttl / 2)
				end(t, first)
				was := first.Err()
				second := c.held(ttl)
				assert.NotEqual(t, first.Token(), second.Token())
				assert.Equal(t, ttl-caseDrift(ttl), second.Remaining())
				assertDone(t, false, second.Done())
				require.NoError(t, second.KeepAlive(redlock.KeepAlive{}))
				time.Sleep(10 * ttl)
				assert.NoError(t, second.Err())
				require.Error(t, was)
				assert.Equal(t, was, first.Err(), "the old handle stays what it was")
				require.Error(t, first.Release(t.Context()))
				assert.Equal(t, 3, c.holding(second))
			})
		})
	}
}

func TestB71ALockIsNotReentrant(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		lock := c.held(time.Minute)
		for range 3 {
			_, err := c.client.TryAcquire(t.Context(), caseKey, time.Second)
			requireClass(t, redlock.ErrHeld, err)
		}
		time.Sleep(2 * time.Second)
		assert.NoError(t, lock.Err())
		assert.Equal(t, 3, c.holding(lock))
	})
}

func TestB72AnExtensionMovesTheEndOfTheSameHandle(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		lock := c.held(time.Second)
		ctx, cancel := lock.Context(t.Context())
		defer cancel()
		done := lock.Done()
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, lock.Extend(t.Context(), 5*time.Second))
		time.Sleep(2500 * time.Millisecond)
		assert.NoError(t, lock.Err())
		assert.NoError(t, ctx.Err())
		assertDone(t, false, done)
		assert.Equal(t, 2448*time.Millisecond, lock.Remaining())

		require.NoError(t, lock.Extend(t.Context(), time.Second), "shorter")
		assert.Equal(t, 2448*time.Millisecond, lock.Remaining(), "it never shortens")
		time.Sleep(1900 * time.Millisecond)
		assert.NoError(t, lock.Err())
		time.Sleep(time.Second)
		requireClass(t, redlock.ErrLost, lock.Err())
		assertDone(t, true, done)
		assert.Equal(t, lock.Err(), context.Cause(ctx))
	})
}

func TestB72KeepAliveOutlivesExtensionsByHand(t *testing.T) {
	const ttl = 30 * time.Second
	for _, by := range []time.Duration{time.Second, 10 * time.Second, ttl, 5 * time.Minute} {
		for name, at := range map[string]time.Duration{"between": time.Second, "at the same time": ttl/3 - caseDrift(ttl)} {
			t.Run(fmt.Sprint(by, " ", name), func(t *testing.T) {
				inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
					lock := c.held(ttl)
					require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
					time.Sleep(at)
					require.NoError(t, lock.Extend(t.Context(), by))
					time.Sleep(time.Hour)
					assert.NoError(t, lock.Err(), "nothing caps it")
					assert.Equal(t, 3, c.holding(lock))
				})
			})
		}
	}
}

// An interval that the TTL of an extension by hand has no room for.
func TestB72KeepAliveFitsItselfToAShorterTTL(t *testing.T) {
	const ttl = 30 * time.Second
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		lock := c.held(ttl)
		require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 26 * time.Second}))
		time.Sleep(25500 * time.Millisecond)
		require.NoError(t, lock.Extend(t.Context(), 10*time.Second)) // moves the end
		time.Sleep(time.Hour)
		assert.NoError(t, lock.Err())
	})
}

func TestB73NothingRunsWithoutTheLock(t *testing.T) {
	for name, without := range map[string]struct {
		make func(c *fieldCase)
		want error
	}{
		"held":   {func(c *fieldCase) { occupy("holder", time.Hour, c.nodes...) }, redlock.ErrHeld},
		"down":   {func(c *fieldCase) { c.each((*redlocktest.Node).Down) }, redlock.ErrNoQuorum},
		"late":   {func(c *fieldCase) { c.each(func(n *redlocktest.Node) { n.Slow(time.Second) }) }, redlock.ErrNoQuorum},
		"closed": {func(c *fieldCase) { require.NoError(c.t, c.client.Close()) }, redlock.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, &redlock.Options{Attempts: 2}, func(t *testing.T, c *fieldCase) {
				without.make(c)
				requireClass(t, without.want, c.client.Do(t.Context(), caseKey, time.Minute, mustNotRun))
				requireClass(t, without.want, c.client.TryDo(t.Context(), caseKey, time.Minute, mustNotRun))
			})
		})
	}
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		requireClass(t, redlock.ErrInvalid, c.client.Do(t.Context(), caseKey, time.Minute, nil))
		assert.Zero(t, c.commands())
	})
}

func TestB73DoReleasesHoweverItsFunctionEnds(t *testing.T) {
	failed := errors.New("failed")
	for name, end := range map[string]func() error{
		"nil":    func() error { return nil },
		"error":  func() error { return failed },
		"panic":  func() error { panic(failed) },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				var held *redlock.Lock
				var err error
				var panicked any
				var all sync.WaitGroup
				all.Go(func() {
					defer func() { panicked = recover() }()
					err = c.client.Do(t.Context(), caseKey, time.Minute, func(ctx context.Context, lock *redlock.Lock) error {
						assert.NoError(t, ctx.Err())
						assert.Equal(t, 3, c.holding(lock))
						held = lock
						return end()
					})
				})
				all.Wait()
				assert.Equal(t, name == "error", errors.Is(err, failed))
				assert.Equal(t, name == "panic", panicked != nil)
				requireClass(t, redlock.ErrReleased, held.Err())
				c.clean(0)
			})
		})
	}
}

func TestB73ANilOrZeroLockIsSafe(t *testing.T) {
	for _, lock := range []*redlock.Lock{nil, new(redlock.Lock)} {
		// By design it is an invalid argument, not a lock that was lost.
		requireClass(t, redlock.ErrInvalid, lock.Release(t.Context()))
		requireClass(t, redlock.ErrInvalid, lock.Extend(t.Context(), time.Minute))
		requireClass(t, redlock.ErrInvalid, lock.KeepAlive(redlock.KeepAlive{}))
		requireClass(t, redlock.ErrInvalid, lock.Err())
		assert.Zero(t, lock.Remaining())
		assert.Empty(t, lock.Name()+lock.Token())
		assert.NotEmpty(t, lock.String()+fmt.Sprintf("%#v", lock)+lock.LogValue().String())
		<-lock.Done()
		ctx, cancel := lock.Context(t.Context())
		cancel()
		assert.ErrorIs(t, context.Cause(ctx), redlock.ErrInvalid)
	}
}
