package tests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestB16WhatALateHolderDoesLeavesTheNextHolderAlone(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, c *fieldCase, late *redlock.Lock){
		"release": func(t *testing.T, c *fieldCase, late *redlock.Lock) {
			requireClass(t, redlock.ErrLost, late.Release(t.Context()))
		},
		"release again and again": func(t *testing.T, c *fieldCase, late *redlock.Lock) {
			for range 3 {
				requireClass(t, redlock.ErrLost, late.Release(t.Context()))
			}
		},
		"extend": func(t *testing.T, c *fieldCase, late *redlock.Lock) {
			requireClass(t, redlock.ErrLost, late.Extend(t.Context(), time.Minute))
		},
		"keep alive": func(t *testing.T, c *fieldCase, late *redlock.Lock) {
			requireClass(t, redlock.ErrLost, late.KeepAlive(redlock.KeepAlive{}))
		},
		"acquire": func(t *testing.T, c *fieldCase, _ *redlock.Lock) {
			_, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
			requireClass(t, redlock.ErrHeld, err)
		},
		"close": func(t *testing.T, c *fieldCase, _ *redlock.Lock) {
			require.NoError(t, c.client.Close())
		},
		"shutdown": func(t *testing.T, c *fieldCase, _ *redlock.Lock) {
			require.NoError(t, c.client.Shutdown(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				late := c.held(200 * time.Millisecond)
				time.Sleep(300 * time.Millisecond)
				next := caseLock(t, c.contender("next"), 10*time.Second)
				act(t, c, late)
				time.Sleep(time.Second) // whatever still goes on
				c.keeps(next, 9*time.Second)
			})
		})
	}
}

// keeps fails unless the lock is on all nodes for some time and nobody else can
// acquire it.
func (c *fieldCase) keeps(lock *redlock.Lock, left time.Duration) {
	c.t.Helper()
	synctest.Wait()
	require.NoError(c.t, lock.Err())
	require.Equal(c.t, len(c.nodes), c.holding(lock))
	c.each(func(n *redlocktest.Node) {
		_, ttl, _ := n.Get(lock.Name())
		assert.Equal(c.t, left, ttl)
	})
	_, err := c.contender("third").TryAcquire(c.t.Context(), lock.Name(), time.Second)
	requireClass(c.t, redlock.ErrHeld, err)
}

// The network is what is late here: the release was in time.
func TestB16AReleaseThatArrivesLateLeavesTheNextHolderAlone(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		lock := c.held(200 * time.Millisecond)
		c.each(func(n *redlocktest.Node) { n.DeliverLate(1, 500*time.Millisecond) })
		requireClass(t, redlock.ErrNoQuorum, lock.Release(t.Context()))
		c.clean(200 * time.Millisecond)
		next := caseLock(t, c.contender("next"), 10*time.Second)
		time.Sleep(2 * time.Second)
		c.keeps(next, 8*time.Second)
	})
}

func TestB17AReleaseAfterTheEndIsOneRoundAndSaysLost(t *testing.T) {
	for name, fault := range map[string]struct {
		make func(n *redlocktest.Node)
		took time.Duration
	}{
		"nodes are well":   {func(n *redlocktest.Node) {}, 0},
		"nodes are slow":   {func(n *redlocktest.Node) { n.Slow(10 * time.Millisecond) }, 10 * time.Millisecond},
		"nodes are down":   {(*redlocktest.Node).Down, 0},
		"nodes hang":       {(*redlocktest.Node).Hang, caseTimeout},
		"nodes forgot":     {(*redlocktest.Node).Forget, 0},
		"nodes are broken": {func(n *redlocktest.Node) { n.Answer(errors.New("MISCONF no disk")) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				lock := c.held(100 * time.Millisecond)
				time.Sleep(200 * time.Millisecond)
				c.each(fault.make)
				assert.Equal(t, fault.took, caseTakes(func() {
					requireClass(t, redlock.ErrLost, lock.Release(t.Context()))
				}))
				synctest.Wait()
				c.each(func(n *redlocktest.Node) {
					assert.LessOrEqual(t, n.Count(redlock.OpRelease), 1, "nothing is retried")
				})
				assert.Zero(t, caseTakes(func() {
					requireClass(t, redlock.ErrLost, lock.Release(t.Context()))
				}), "the answer is final")
			})
		})
	}
}

func TestB18ReleaseIgnoresThatTheContextEnded(t *testing.T) {
	for name, ended := range map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		},
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, -1)
		},
		"in the middle": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 3*time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				lock := c.held(time.Minute)
				c.each(func(n *redlocktest.Node) { n.Slow(5 * time.Millisecond) })
				ctx, cancel := ended(t.Context())
				defer cancel()
				assert.Equal(t, 5*time.Millisecond, caseTakes(func() {
					require.NoError(t, lock.Release(ctx))
				}))
				c.clean(0)
			})
		})
	}
}

func TestB18DoReleasesThoughItsContextEnded(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		ctx, cancel := context.WithCancel(t.Context())
		err := c.client.Do(ctx, caseKey, time.Minute, func(ctx context.Context, _ *redlock.Lock) error {
			cancel()
			return ctx.Err()
		})
		requireClass(t, context.Canceled, err)
		require.ErrorIs(t, err, context.Canceled)
		c.clean(0)
	})
}

func TestB19OnlyOneReleaseSucceeds(t *testing.T) {
	for _, slow := range []time.Duration{0, 5 * time.Millisecond} {
		for _, callers := range []int{2, 50} {
			t.Run(fmt.Sprint(slow, callers), func(t *testing.T) {
				inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
					lock := c.held(time.Minute)
					c.each(func(n *redlocktest.Node) { n.Slow(slow) })
					results := make([]error, callers)
					var all sync.WaitGroup
					for i := range results {
						all.Go(func() { results[i] = lock.Release(t.Context()) })
					}
					assert.Equal(t, slow, caseTakes(all.Wait))
					succeeded := 0
					for _, err := range results {
						if err == nil {
							succeeded++
							continue
						}
						requireClass(t, redlock.ErrReleased, err)
					}
					assert.Equal(t, 1, succeeded)

					next := caseLock(t, c.contender("next"), 10*time.Second)
					requireClass(t, redlock.ErrReleased, lock.Release(t.Context()))
					requireClass(t, redlock.ErrReleased, lock.Extend(t.Context(), time.Minute))
					requireClass(t, redlock.ErrReleased, lock.KeepAlive(redlock.KeepAlive{}))
					requireClass(t, redlock.ErrReleased, lock.Err())
					assert.Equal(t, 3, c.sent(redlock.OpRelease), "one for each node")
					synctest.Wait()
					assert.Equal(t, 3, c.holding(next))
				})
			})
		}
	}
}

func TestB19AReleaseThatWasNotConfirmedCanBeRepeated(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		lock := c.held(time.Minute)
		c.each(func(n *redlocktest.Node) { n.DropReplies(1) })
		requireClass(t, redlock.ErrNoQuorum, lock.Release(t.Context()))
		require.NoError(t, lock.Release(t.Context()), "the lost reply was to our own delete")
		requireClass(t, redlock.ErrReleased, lock.Release(t.Context()))
		c.clean(0)
	})
}

func TestB21ALockBelongsToNoGoroutine(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		const ttl = time.Second
		c.each(func(n *redlocktest.Node) { n.Slow(time.Millisecond) })
		first, second := make(chan *redlock.Lock), make(chan *redlock.Lock)
		go func() {
			lock := c.held(ttl)
			assert.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
			first <- lock
		}()
		go func() {
			lock := <-first
			time.Sleep(5 * ttl)
			assert.NoError(t, lock.Extend(t.Context(), 2*ttl))
			second <- lock
		}()
		lock := <-second
		time.Sleep(5 * ttl)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { assert.NoError(t, lock.Extend(t.Context(), ttl)) })
			all.Go(func() { assert.Positive(t, lock.Remaining()) })
			all.Go(func() { assert.Contains(t, lock.String(), caseKey) })
			all.Go(func() { assert.NoError(t, lock.KeepAlive(redlock.KeepAlive{})) })
			all.Go(func() {
				_, cancel := lock.Context(t.Context())
				cancel()
			})
		}
		all.Wait()
		require.NoError(t, lock.Release(t.Context()))
		c.clean(0)
	})
}

func TestB22AReleaseDoesNotWaitForHungNodes(t *testing.T) {
	for _, count := range []int{3, 5} {
		for hung := range count + 1 {
			t.Run(fmt.Sprint(hung, " of ", count), func(t *testing.T) {
				inFieldCase(t, count, nil, func(t *testing.T, c *fieldCase) {
					lock := c.held(time.Minute)
					c.each(func(n *redlocktest.Node) { n.Slow(2 * time.Millisecond) })
					for _, n := range c.nodes[:hung] {
						n.Hang()
					}
					start := time.Now()
					err := lock.Release(t.Context())
					if took := time.Since(start); hung <= count/2 {
						require.NoError(t, err)
						assert.Equal(t, 2*time.Millisecond, took)
						caseLock(t, c.contender("next"), time.Minute)
						return
					}
					assert.Equal(t, caseTimeout, time.Since(start))
					q := requireQuorumError(t, redlock.ErrNoQuorum, err)
					assert.GreaterOrEqual(t, timedOut(q), count-count/2)
					for i, n := range q.Nodes {
						assert.Equal(t, i >= hung, n.Vote == redlock.VoteYes, "%v", n)
					}
					time.Sleep(10 * time.Second)
					c.each((*redlocktest.Node).Resume)
					c.clean(time.Second)
				})
			})
		}
	}
}

// A node that never granted the lock does not know that others lost it, however
// soon it answers.
func TestB49ReleaseHearsOfTheLossFromTheNodesThatGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(5)
		client := redlocktest.NewClient(t, nodes, nil)
		nodes[3].Down()
		nodes[4].Down()
		lock, err := client.TryAcquire(ctx, "job", time.Minute)
		require.NoError(t, err)

		nodes[3].Up()
		nodes[4].Up()
		nodes[2].Forget()
		other, err := redlocktest.NewClient(t, nodes, nil).TryAcquire(ctx, "job", time.Minute)
		require.NoError(t, err, "a quorum that overlaps in the node that forgot")
		nodes[2].Slow(20 * ms)
		require.ErrorIs(t, lock.Release(ctx), redlock.ErrLost)
		require.NoError(t, other.Release(ctx))
	})
}
