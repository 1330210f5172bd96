package tests

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestB34WaitersDoNotRetryInStep(t *testing.T) {
	for name, opts := range map[string]redlock.Options{
		"defaults": {RetryMin: 10 * time.Millisecond, RetryMax: time.Second},
		"narrow":   {RetryMin: 50 * time.Millisecond, RetryMax: 200 * time.Millisecond},
		"short":    {RetryMin: time.Millisecond, RetryMax: 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			const waiters = 50
			var trace caseTrace
			opts.Trace = trace.hooks()
			inFieldCase(t, 3, &opts, func(t *testing.T, c *fieldCase) {
				occupy("holder", time.Hour, c.nodes...)
				var all sync.WaitGroup
				for i := range waiters {
					all.Go(func() {
						ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), caseWaiter{}, i), 12*opts.RetryMax)
						defer cancel()
						_, err := c.client.Acquire(ctx, caseKey, time.Minute)
						assert.ErrorIs(t, err, redlock.ErrHeld)
					})
				}
				all.Wait()
			})

			var late []time.Duration // those whose window was the widest
			schedules := map[string]bool{}
			for _, waits := range trace.waits {
				window := 2 * opts.RetryMin
				for _, d := range waits {
					assert.GreaterOrEqual(t, d, opts.RetryMin)
					assert.LessOrEqual(t, d, window)
					if window == opts.RetryMax {
						late = append(late, d)
					}
					window = min(2*window, opts.RetryMax)
				}
				schedules[fmt.Sprint(waits)] = true
			}
			assert.Len(t, schedules, waiters, "no two have the same")
			require.Greater(t, len(late), waiters)
			slices.Sort(late)
			width := opts.RetryMax - opts.RetryMin
			assert.Less(t, late[0], opts.RetryMin+width/5, "they are spread over the whole window")
			assert.Greater(t, late[len(late)-1], opts.RetryMax-width/5)
			assert.InDelta(t, float64(opts.RetryMin+width/2), float64(late[len(late)/2]), float64(width)/3)
		})
	}
}

func TestB36EveryCallHasItsOwnAttempts(t *testing.T) {
	const callers = 64
	for _, attempts := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(attempts), func(t *testing.T) {
			var trace caseTrace
			opts := &redlock.Options{Attempts: attempts, Trace: trace.hooks()} // shared by all
			inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
				occupy("holder", time.Hour, c.nodes...)
				clients := []*redlock.Client{c.client, redlocktest.NewClient(t, c.nodes, opts)}
				for range 2 { // a call does not use up another's
					var all sync.WaitGroup
					for i := range callers {
						all.Go(func() {
							ctx := context.WithValue(t.Context(), caseWaiter{}, i)
							_, err := clients[i%2].Acquire(ctx, caseKey, time.Minute)
							requireHeldBy(t, "holder", err)
						})
					}
					all.Wait()
				}
			})
			assert.Len(t, trace.tries, callers)
			for _, tries := range trace.tries {
				assert.Equal(t, 2*attempts, tries)
			}
		})
	}
}

func requireHeldBy(t *testing.T, owner string, err error) {
	t.Helper()
	assert.Equal(t, owner, requireQuorumError(t, redlock.ErrHeld, err).Holder())
}

func TestB37TheWaitEndsWithItsContext(t *testing.T) {
	const limit = time.Second
	for name, fault := range map[string]struct {
		make  func(c *fieldCase)
		class error
	}{
		"all well": {func(c *fieldCase) {}, redlock.ErrHeld},
		"one hung": {func(c *fieldCase) { c.nodes[2].Hang() }, redlock.ErrHeld},
		"one down": {func(c *fieldCase) { c.nodes[0].Down() }, redlock.ErrHeld},
		"all slow": {func(c *fieldCase) {
			c.each(func(n *redlocktest.Node) { n.Slow(49 * time.Millisecond) })
		}, redlock.ErrHeld},
		"all too slow": {func(c *fieldCase) {
			c.each(func(n *redlocktest.Node) { n.Slow(time.Second) })
		}, redlock.ErrNoQuorum},
		"all hung": {func(c *fieldCase) { c.each((*redlocktest.Node).Hang) }, redlock.ErrNoQuorum},
		"all down": {func(c *fieldCase) { c.each((*redlocktest.Node).Down) }, redlock.ErrNoQuorum},
	} {
		for _, retry := range []time.Duration{10 * time.Millisecond, 200 * time.Millisecond, 700 * time.Millisecond} {
			t.Run(fmt.Sprint(name, retry), func(t *testing.T) {
				opts := &redlock.Options{RetryMin: retry, RetryMax: 2 * retry}
				inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
					require.NoError(t, c.client.Connect(t.Context()))
					require.NoError(t, caseLock(t, c.client, time.Minute).Release(t.Context())) // it has connected
					occupy("holder", time.Minute, c.nodes...)
					fault.make(c)
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					assert.Equal(t, limit, caseTakes(func() {
						_, err := c.client.Acquire(ctx, caseKey, time.Minute)
						requireClass(t, fault.class, err)
						assert.ErrorIs(t, err, context.DeadlineExceeded)
					}))
				})
			})
		}
	}
}

// The first acquisition of a client may have to wait for connections, too.
func TestB37TheWaitForConnectionsEndsWithTheContext(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		c.each((*redlocktest.Node).Hang)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.Equal(t, time.Second, caseTakes(func() {
			_, err := c.client.Acquire(ctx, caseKey, time.Minute)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		}))
		assert.Zero(t, c.commands())
	})
}

func TestB40AFreeLockTakesOneRoundTrip(t *testing.T) {
	const roundTrip = 7 * time.Millisecond
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		c.each(func(n *redlocktest.Node) { n.Slow(roundTrip) })
		for _, acquire := range []func(context.Context, string, time.Duration) (*redlock.Lock, error){
			c.client.TryAcquire, c.client.Acquire,
		} {
			before := c.commands()
			var lock *redlock.Lock
			var err error
			assert.Equal(t, roundTrip, caseTakes(func() { lock, err = acquire(t.Context(), caseKey, time.Minute) }))
			require.NoError(t, err)
			assert.Equal(t, before+3, c.commands())
			assert.Equal(t, roundTrip, caseTakes(func() { require.NoError(t, lock.Extend(t.Context(), time.Minute)) }))
			assert.Equal(t, before+6, c.commands())
			assert.Equal(t, roundTrip, caseTakes(func() { require.NoError(t, lock.Release(t.Context())) }))
			time.Sleep(time.Second)
			assert.Equal(t, before+9, c.commands(), "one for each node and step")
		}
	})
}

func TestB40NothingIsWaitedForAfterTheLastAttempt(t *testing.T) {
	const roundTrip = 7 * time.Millisecond
	for _, attempts := range []int{1, 3} {
		for _, free := range []bool{true, false} {
			t.Run(fmt.Sprint(attempts, free), func(t *testing.T) {
				var trace caseTrace
				opts := &redlock.Options{Attempts: attempts, RetryMin: time.Second, Trace: trace.hooks()}
				inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
					c.each(func(n *redlocktest.Node) { n.Slow(roundTrip) })
					if free {
						c.nodes[0].Down()
						c.nodes[1].Down()
					} else {
						occupy("holder", time.Hour, c.nodes...)
					}
					took := caseTakes(func() {
						_, err := c.client.Acquire(t.Context(), caseKey, time.Minute)
						require.Error(t, err)
					})
					waits := trace.waits[nil]
					require.Len(t, waits, attempts-1)
					for _, d := range waits {
						took -= d
					}
					assert.LessOrEqual(t, took, time.Duration(attempts)*2*roundTrip, "a SET and its undo")
					synctest.Wait()
				})
			})
		}
	}
}
