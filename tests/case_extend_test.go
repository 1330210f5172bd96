package tests

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/clock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestB23AnExtensionNeverBringsALostLockBack(t *testing.T) {
	const ttl = 200 * time.Millisecond
	for name, lose := range map[string]func(c *fieldCase, lock *redlock.Lock){
		"it ran out": func(c *fieldCase, _ *redlock.Lock) {
			time.Sleep(300 * time.Millisecond)
		},
		"another came and went": func(c *fieldCase, _ *redlock.Lock) {
			time.Sleep(300 * time.Millisecond)
			require.NoError(c.t, caseLock(c.t, c.contender("next"), ttl).Release(c.t.Context()))
		},
		"all nodes forgot": func(c *fieldCase, _ *redlock.Lock) {
			c.each((*redlocktest.Node).Forget)
		},
		"a quorum forgot": func(c *fieldCase, _ *redlock.Lock) {
			c.nodes[0].Forget()
			c.nodes[2].Forget()
		},
		"it was released": func(c *fieldCase, lock *redlock.Lock) {
			require.NoError(c.t, lock.Release(c.t.Context()))
		},
		"the client is closed": func(c *fieldCase, _ *redlock.Lock) {
			require.NoError(c.t, c.client.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				lock := c.held(ttl)
				lose(c, lock)
				before := c.holding(lock)
				for range 3 {
					require.Error(t, lock.Extend(t.Context(), time.Minute))
					require.Error(t, lock.Err())
				}
				assertDone(t, true, lock.Done())
				assert.Equal(t, before, c.holding(lock), "no key was created")
				assert.Zero(t, c.sent(redlock.OpHeal))
				assert.LessOrEqual(t, c.sent(redlock.OpExtend), 3, "it is asked once at most")
				time.Sleep(ttl)
				caseLock(t, c.contender("next"), time.Minute)
			})
		})
	}
}

func TestB23OnlyAQuorumHealsANodeThatForgot(t *testing.T) {
	for _, forgetful := range []int{1, 2} {
		inFieldCase(t, 5, nil, func(t *testing.T, c *fieldCase) {
			lock := c.held(time.Second)
			for _, n := range c.nodes[:forgetful] {
				n.Forget()
			}
			time.Sleep(500 * time.Millisecond)
			require.NoError(t, lock.Extend(t.Context(), time.Second))
			synctest.Wait()
			assert.Equal(t, 5, c.holding(lock))
			c.coversValidity(lock)
			require.NoError(t, lock.Release(t.Context()))
			c.clean(0)
		})
	}
}

// requireLost fails unless the lock is lost, for whatever further reason.
func requireLost(t *testing.T, lock *redlock.Lock) {
	t.Helper()
	require.ErrorIs(t, lock.Err(), redlock.ErrLost)
	assertDone(t, true, lock.Done())
}

func TestB31AnExtensionCountsFromItsStartAndDoesNotWaitForTheSlow(t *testing.T) {
	const ttl = time.Second
	for name, slow := range map[string]struct {
		nodes int
		by    time.Duration
		takes time.Duration
	}{
		"none":                  {0, 0, 0},
		"one, twice the TTL":    {1, 2 * ttl, 0},
		"one hangs, so to say":  {1, time.Hour, 0},
		"two, within the limit": {2, 40 * time.Millisecond, 0},
		"three":                 {3, 40 * time.Millisecond, 40 * time.Millisecond},
		"all":                   {5, 49 * time.Millisecond, 49 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 5, nil, func(t *testing.T, c *fieldCase) {
				lock := c.held(ttl)
				for _, n := range c.nodes[5-slow.nodes:] {
					n.Slow(slow.by)
				}
				start := time.Now()
				for range 3 { // by the second the slow one is suspect
					time.Sleep(200 * time.Millisecond)
					start = time.Now()
					require.NoError(t, lock.Extend(t.Context(), ttl))
					assert.Equal(t, slow.takes, time.Since(start))
				}
				end := start.Add(ttl - caseDrift(ttl))
				assert.Equal(t, time.Until(end), lock.Remaining())

				time.Sleep(time.Until(end) - ttl/10 - 1)
				assert.NoError(t, lock.Err())
				time.Sleep(time.Nanosecond)
				requireClass(t, redlock.ErrLost, lock.Err())
				time.Sleep(time.Until(end) - 1)
				assert.Equal(t, time.Duration(1), lock.Remaining(), "to stop cleanly")
				time.Sleep(time.Nanosecond)
				assert.Zero(t, lock.Remaining())
			})
		})
	}
}

// A clockOfLateTimers is one of a busy process: its timers are late.
type clockOfLateTimers struct {
	clock.Clock
	late time.Duration
}

func (c clockOfLateTimers) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.Clock.AfterFunc(d+c.late, f)
}

func TestB31LateTimersProlongNothing(t *testing.T) {
	const ttl = time.Second
	const lost = ttl - ttl/100 - 2*time.Millisecond - ttl/10
	type question struct {
		early time.Duration
		ask   func(c *fieldCase, lock *redlock.Lock) error
	}
	for name, q := range map[string]question{
		"err":        {0, func(_ *fieldCase, lock *redlock.Lock) error { return lock.Err() }},
		"extend":     {0, func(c *fieldCase, lock *redlock.Lock) error { return lock.Extend(c.t.Context(), ttl) }},
		"keep alive": {0, func(_ *fieldCase, lock *redlock.Lock) error { return lock.KeepAlive(redlock.KeepAlive{}) }},
		"context": {0, func(c *fieldCase, lock *redlock.Lock) error {
			ctx, cancel := lock.Context(c.t.Context())
			defer cancel()
			return context.Cause(ctx)
		}},
		"an extension under way": {1, func(c *fieldCase, lock *redlock.Lock) error {
			c.each(func(n *redlocktest.Node) { n.Slow(1) })
			return lock.Extend(c.t.Context(), ttl)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := &redlock.Options{Clock: clockOfLateTimers{clock.System(), time.Hour}}
				c := &fieldCase{t: t, nodes: redlocktest.Nodes(3)}
				c.client = redlocktest.NewClient(t, c.nodes, late)
				lock := c.held(ttl)
				done := lock.Done()
				time.Sleep(lost - q.early)
				requireClass(t, redlock.ErrLost, q.ask(c, lock))
				assertDone(t, true, done) // whoever asks finds out
				time.Sleep(ttl - lost)
				assert.Zero(t, lock.Remaining())
			})
		})
	}
}

func TestB33AfterALossDoReturnsSoonAndWithBothErrors(t *testing.T) {
	own := errors.New("the work was broken off")
	for name, lose := range map[string]func(n *redlocktest.Node){
		"forgot": (*redlocktest.Node).Forget,
		"down":   (*redlocktest.Node).Down,
		"hung":   (*redlocktest.Node).Hang,
	} {
		for _, want := range []error{nil, own} {
			t.Run(name, func(t *testing.T) {
				inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
					var returned time.Time
					err := c.client.Do(t.Context(), caseKey, 3*time.Second, func(ctx context.Context, lock *redlock.Lock) error {
						c.each(lose)
						<-ctx.Done()
						assert.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
						assert.Positive(t, lock.Remaining()+1, "it learns of it in time")
						returned = time.Now()
						return want
					})
					assert.LessOrEqual(t, time.Since(returned), caseTimeout)
					require.ErrorIs(t, err, redlock.ErrLost)
					assert.Equal(t, want != nil, errors.Is(err, own))
				})
			})
		}
	}
}
