package tests

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestB01DriftAndElapsedTimeAreSubtracted(t *testing.T) {
	for _, count := range []int{1, 3, 5} {
		for _, slow := range []time.Duration{0, time.Nanosecond, time.Millisecond, 200 * time.Millisecond} {
			for _, ttl := range []time.Duration{time.Second, 30 * time.Second} {
				t.Run(fmt.Sprint(count, slow, ttl), func(t *testing.T) {
					opts := &redlock.Options{NodeTimeout: 300 * time.Millisecond}
					inFieldCase(t, count, opts, func(t *testing.T, c *fieldCase) {
						c.each(func(n *redlocktest.Node) { n.Slow(slow) })
						lock := c.held(ttl)
						assert.Equal(t, ttl-slow-caseDrift(ttl), lock.Remaining())
						c.coversValidity(lock)

						time.Sleep(ttl / 4)
						require.NoError(t, lock.Extend(t.Context(), ttl))
						assert.Equal(t, ttl-slow-caseDrift(ttl), lock.Remaining())
						c.coversValidity(lock)
					})
				})
			}
		}
	}
}

// coversValidity fails unless a quorum of keys outlives the lock's validity.
func (c *fieldCase) coversValidity(lock *redlock.Lock) {
	c.t.Helper()
	longer := 0
	c.each(func(n *redlocktest.Node) {
		if _, left, ok := n.Get(lock.Name()); ok && left >= lock.Remaining() {
			longer++
		}
	})
	assert.GreaterOrEqual(c.t, longer, c.client.Quorum(), "nodes that outlive %v", lock.Remaining())
}

// The answer that makes the quorum is the one whose time counts.
func TestB01ValidityCountsToTheDecidingAnswer(t *testing.T) {
	inFieldCase(t, 5, nil, func(t *testing.T, c *fieldCase) {
		for i, n := range c.nodes {
			n.Slow(time.Duration(10*i+7) * time.Millisecond)
		}
		var lock *redlock.Lock
		assert.Equal(t, 27*time.Millisecond, caseTakes(func() { lock = c.held(time.Second) }))
		assert.Equal(t, 961*time.Millisecond, lock.Remaining())
		require.NoError(t, lock.Release(t.Context()))
		c.clean(caseTimeout)
	})
}

func TestB02AWaiterGetsItsWholeValidity(t *testing.T) {
	for _, slow := range []time.Duration{0, 5 * time.Millisecond, 45 * time.Millisecond} {
		t.Run(slow.String(), func(t *testing.T) {
			var trace caseTrace
			inFieldCase(t, 3, &redlock.Options{Trace: trace.hooks()}, func(t *testing.T, c *fieldCase) {
				c.each(func(n *redlocktest.Node) { n.Slow(slow) })
				const ttl = time.Second
				caseLock(t, c.contender("holder"), 1500*time.Millisecond) // and lets it run out

				var lock *redlock.Lock
				waited := caseTakes(func() {
					limited, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					var err error
					lock, err = c.client.Acquire(limited, caseKey, ttl)
					require.NoError(t, err)
				})
				require.Greater(t, waited, ttl, "longer than the lock's own life")
				assert.Equal(t, ttl-slow-caseDrift(ttl), lock.Remaining())

				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
				time.Sleep(5 * ttl)
				assert.NoError(t, lock.Err())
				assert.Zero(t, trace.failedExtensions())
				assert.Empty(t, trace.lost)
			})
		})
	}
}

func TestB03AQuorumThatAgreesTooLateIsNoLock(t *testing.T) {
	const ttl = 200 * time.Millisecond
	const limit = ttl - 4*time.Millisecond - ttl/10 // elapsed, with nothing left but StopMargin
	opts := &redlock.Options{NodeTimeout: 400 * time.Millisecond}
	for _, count := range []int{1, 3, 5} {
		for _, slow := range []time.Duration{limit - 1, limit, ttl, 300 * time.Millisecond} {
			t.Run(fmt.Sprint(count, slow), func(t *testing.T) {
				inFieldCase(t, count, opts, func(t *testing.T, c *fieldCase) {
					c.each(func(n *redlocktest.Node) { n.Slow(slow) })
					start := time.Now()
					lock, err := c.client.TryAcquire(t.Context(), caseKey, ttl)
					assert.LessOrEqual(t, time.Since(start), opts.NodeTimeout)
					if slow < limit {
						require.NoError(t, err)
						assert.Equal(t, ttl/10+1, lock.Remaining())
						return
					}
					assert.Nil(t, lock)
					q := requireQuorumError(t, redlock.ErrNoQuorum, err)
					assert.True(t, q.Late)
					assert.Contains(t, err.Error(), "used up the validity")
					assert.LessOrEqual(t, c.sent(redlock.OpAcquire), count, "it is not tried again")
					c.clean(0)
				})
			})
		}
	}
}

func TestB03AnExtensionThatAgreesTooLateIsALoss(t *testing.T) {
	const ttl = 200 * time.Millisecond
	inFieldCase(t, 3, &redlock.Options{NodeTimeout: 400 * time.Millisecond}, func(t *testing.T, c *fieldCase) {
		lock := c.held(ttl)
		c.each(func(n *redlocktest.Node) { n.Slow(300 * time.Millisecond) })
		var all sync.WaitGroup
		for range 3 { // one after another
			all.Go(func() { requireClass(t, redlock.ErrLost, lock.Extend(t.Context(), time.Minute)) })
		}
		all.Wait()
		assert.Equal(t, 3, c.sent(redlock.OpExtend), "nothing is sent for a lost lock")
		requireClass(t, redlock.ErrLost, lock.Err())
		assert.Zero(t, lock.Remaining(), "a late yes counts for nothing")
		assertDone(t, true, lock.Done())

		assert.Equal(t, 3, c.holding(lock), "but the nodes did it")
		requireClass(t, redlock.ErrLost, lock.Release(t.Context()))
		c.clean(0)
	})
}

// callsWithTTL are all the calls that take a TTL. Each runs on a client of its
// own nodes; extend also needs a lock.
var callsWithTTL = map[string]func(c *redlock.Client, lock *redlock.Lock, ttl time.Duration) error{
	"TryAcquire": func(c *redlock.Client, _ *redlock.Lock, ttl time.Duration) error {
		_, err := c.TryAcquire(context.Background(), "another", ttl)
		return err
	},
	"Acquire": func(c *redlock.Client, _ *redlock.Lock, ttl time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.Acquire(ctx, "another", ttl)
		return err
	},
	"Do": func(c *redlock.Client, _ *redlock.Lock, ttl time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return c.Do(ctx, "another", ttl, mustNotRun)
	},
	"TryDo": func(c *redlock.Client, _ *redlock.Lock, ttl time.Duration) error {
		return c.TryDo(context.Background(), "another", ttl, mustNotRun)
	},
	"Extend": func(_ *redlock.Client, lock *redlock.Lock, ttl time.Duration) error {
		return lock.Extend(context.Background(), ttl)
	},
}

func mustNotRun(context.Context, *redlock.Lock) error { return errors.New("it ran without the lock") }

func testRefusedTTLs(t *testing.T, opts *redlock.Options, ttls ...time.Duration) {
	for call, do := range callsWithTTL {
		inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
			lock := c.held(time.Minute)
			before, remaining := c.commands(), lock.Remaining()
			for _, ttl := range ttls {
				took := caseTakes(func() {
					requireClass(t, redlock.ErrInvalid, do(c.client, lock, ttl))
				})
				assert.Zero(t, took, "%s of %d ns", call, ttl)
				assert.Equal(t, before, c.commands(), "%s of %d ns sent commands", call, ttl)
			}
			assert.NoError(t, lock.Err())
			assert.Equal(t, remaining, lock.Remaining())
		})
	}
}

func TestB04ATTLUnderAMillisecondIsRefused(t *testing.T) {
	testRefusedTTLs(t, &redlock.Options{Drift: &redlock.Drift{}, StopMargin: 1}, 30, 1, 999*time.Microsecond, time.Millisecond-1)
	inFieldCase(t, 1, nil, func(t *testing.T, c *fieldCase) {
		_, err := c.client.TryAcquire(t.Context(), caseKey, 30)
		assert.ErrorContains(t, err, "30*time.Second", "it guesses what was meant")
	})
}

func TestB04ATTLIsRoundedDownAndCountsAsSent(t *testing.T) {
	for ttl, sent := range map[time.Duration]time.Duration{
		time.Millisecond:             time.Millisecond,
		1500 * time.Microsecond:      time.Millisecond,
		2*time.Millisecond - 1:       time.Millisecond,
		time.Second + 1:              time.Second,
		time.Second - 1:              999 * time.Millisecond,
		1234567891 * time.Nanosecond: 1234 * time.Millisecond,
	} {
		t.Run(ttl.String(), func(t *testing.T) {
			inFieldCase(t, 3, &redlock.Options{Drift: &redlock.Drift{}, StopMargin: 1}, func(t *testing.T, c *fieldCase) {
				lock := c.held(ttl)
				assert.Equal(t, sent, lock.Remaining())
				require.NoError(t, lock.Extend(t.Context(), ttl))
				assert.Equal(t, sent, lock.Remaining())
				synctest.Wait()
				for _, r := range c.nodes[0].Commands() {
					assert.Equal(t, sent, r.TTL, r.Op)
				}
			})
		})
	}
}

func TestB06ATTLThatWouldMeanForeverIsRefused(t *testing.T) {
	testRefusedTTLs(t, nil, 0, -1, -time.Millisecond, -time.Second, -time.Hour,
		math.MinInt64, math.MaxInt64, redlock.MaxTTL+1)
}

// No command can leave a key for ever, whatever happens to the lock.
func TestB06NoKeyIsEverWithoutATTL(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		lock := c.held(time.Second)
		require.NoError(t, lock.KeepAlive(redlock.KeepAlive{MaxHold: 3100 * time.Millisecond}))
		for range 40 {
			time.Sleep(100 * time.Millisecond)
			c.nodes[1].Forget() // heals as well
			c.each(func(n *redlocktest.Node) {
				_, left, ok := n.Get(caseKey)
				assert.True(t, !ok || left > 0 && left <= time.Second, "%v: %v left", n, left)
			})
		}
		requireClass(t, redlock.ErrLost, lock.Err())
		assert.Positive(t, c.sent(redlock.OpHeal))
		for _, n := range c.nodes {
			for _, r := range n.Commands() {
				assert.True(t, r.Op == redlock.OpRelease || r.TTL >= time.Millisecond, "%v with TTL %v", r.Op, r.TTL)
			}
		}
	})
}

func TestB08NodeTimeoutDoesNotDependOnTheTTL(t *testing.T) {
	for _, ttl := range []time.Duration{caseTimeout, time.Second, 30 * time.Second, time.Hour} {
		t.Run(ttl.String(), func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				c.each(func(n *redlocktest.Node) { n.Slow(5 * time.Millisecond) })
				assert.Equal(t, 5*time.Millisecond, caseTakes(func() {
					require.NoError(t, c.held(ttl).Release(t.Context()))
				})-5*time.Millisecond)

				c.each(func(n *redlocktest.Node) { n.Slow(caseTimeout + 1) })
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				assert.Equal(t, caseTimeout, caseTakes(func() {
					_, err := c.client.TryAcquire(ctx, caseKey, ttl)
					q := requireQuorumError(t, redlock.ErrNoQuorum, err)
					assert.NotErrorIs(t, err, context.DeadlineExceeded, "nobody's context ended")
					assert.GreaterOrEqual(t, timedOut(q), 2)
					assert.ErrorContains(t, err, "node timeout")
				}))
				c.clean(2 * caseTimeout)
			})
		})
	}
}

func TestB09ATTLThatDriftUsesUpIsRefused(t *testing.T) {
	drift := &redlock.Drift{Factor: 0.5, Fixed: 50 * time.Millisecond} // of 100 ms: all
	opts := &redlock.Options{Drift: drift, StopMargin: time.Millisecond, RetryMin: time.Second}
	testRefusedTTLs(t, opts, 2*time.Millisecond, 99*time.Millisecond, 100*time.Millisecond, 101*time.Millisecond, 102*time.Millisecond)
	for ttl, want := range map[time.Duration]time.Duration{ // one more than drift and StopMargin
		103 * time.Millisecond: 1500 * time.Microsecond,
		104 * time.Millisecond: 2 * time.Millisecond,
	} {
		inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
			assert.Equal(t, want, c.held(ttl).Remaining())
		})
	}
}

func TestB09DriftOutsideOfItsRangeIsRefusedAtConstruction(t *testing.T) {
	nodes := func() []redlock.Node { return []redlock.Node{redlocktest.NewNode("n", nil)} }
	for _, factor := range []float64{0, 0.01, math.Nextafter(1, 0)} {
		client, err := redlock.NewFrom(nodes(), &redlock.Options{Drift: &redlock.Drift{Factor: factor}})
		require.NoError(t, err, factor)
		require.NoError(t, client.Close())
	}
	for _, drift := range []redlock.Drift{
		{Factor: 1}, {Factor: 1.5}, {Factor: -0.01}, {Factor: math.NaN()},
		{Factor: math.Inf(1)}, {Factor: math.Inf(-1)}, {Factor: 0.01, Fixed: -1},
	} {
		client, err := redlock.NewFrom(nodes(), &redlock.Options{Drift: &drift})
		assert.Nil(t, client)
		requireClass(t, redlock.ErrInvalid, err)
		assert.ErrorContains(t, err, "Drift.")
	}
}
