package tests

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/clock"
	"github.com/quorumlock/redlock/redlocktest"
)

// caseGoroutines returns the number of goroutines in bubbles, and waits until
// nothing moves there.
func caseGoroutines() int {
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "synctest bubble")
}

func TestB27LocksLeaveNoGoroutines(t *testing.T) {
	const rounds = 1500
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		require.NoError(t, c.held(time.Second).Release(t.Context()))
		baseline := caseGoroutines()
		for i := range rounds {
			switch i % 500 {
			case 100:
				c.nodes[2].Hang()
			case 400:
				c.nodes[2].Resume()
			}
			lock, err := c.client.Acquire(t.Context(), caseKey, 30*time.Millisecond)
			require.NoError(t, err)
			require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
			ctx, cancel := lock.Context(t.Context())
			_ = lock.Done()
			time.Sleep(15 * time.Millisecond)
			switch i % 3 {
			case 0: // is lost, and never released
				c.nodes[0].Forget()
				c.nodes[1].Forget()
				<-ctx.Done()
			case 1:
				require.NoError(t, lock.Release(t.Context()))
			case 2:
				require.NoError(t, lock.Release(ctx))
				cancel()
			}
			_ = cancel // some callers forget
		}
		c.nodes[2].Resume()
		time.Sleep(caseTimeout + time.Second)
		assert.LessOrEqual(t, caseGoroutines(), baseline)
		c.clean(0)
	})
}

func TestB27AHeldLockHasNoGoroutine(t *testing.T) {
	const locks = 1000
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		require.NoError(t, c.held(time.Second).Release(t.Context()))
		baseline := caseGoroutines()
		for i := range locks {
			lock, err := c.client.TryAcquire(t.Context(), strings.Repeat("x", i+1), 3*time.Second)
			require.NoError(t, err)
			require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
			_ = lock.Done()
		}
		time.Sleep(1500 * time.Millisecond) // every one has been extended
		assert.LessOrEqual(t, caseGoroutines(), baseline)
		assert.Equal(t, locks, c.nodes[0].Count(redlock.OpExtend))

		require.NoError(t, c.client.Close())
		time.Sleep(4 * time.Second)
		assert.LessOrEqual(t, caseGoroutines(), baseline)
		c.clean(0)
	})
}

// Nothing of the client refers to a lock that has ended.
func TestB27AnEndedLockIsForgotten(t *testing.T) {
	client := redlocktest.New(t, 3)
	forget := map[string]func() weak.Pointer[redlock.Lock]{
		"released": func() weak.Pointer[redlock.Lock] {
			lock := caseLock(t, client, time.Minute)
			require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
			require.NoError(t, lock.Release(t.Context()))
			return weak.Make(lock)
		},
		"lost": func() weak.Pointer[redlock.Lock] {
			lock := caseLock(t, client, 20*time.Millisecond)
			<-lock.Done()
			_ = lock.Release(t.Context()) // in time or not
			return weak.Make(lock)
		},
	}
	for name, end := range forget {
		ended := end()
		require.Eventually(t, func() bool {
			runtime.GC()
			return ended.Value() == nil
		}, 5*time.Second, time.Millisecond, name)
	}
}

// A timerCount is a clock that knows how many of its timers are to run.
type timerCount struct {
	clock.Clock
	pending atomic.Int32
}

func (c *timerCount) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.pending.Add(1)
	return &countedTimer{c.Clock.AfterFunc(d, func() {
		c.pending.Add(-1)
		f()
	}), c}
}

type countedTimer struct {
	clock.Timer
	of *timerCount
}

func (t *countedTimer) Stop() bool {
	pending := t.Timer.Stop()
	if pending {
		t.of.pending.Add(-1)
	}
	return pending
}

func (t *countedTimer) Reset(d time.Duration) bool {
	pending := t.Timer.Reset(d)
	if !pending {
		t.of.pending.Add(1)
	}
	return pending
}

func TestB27ALockLeavesNoTimer(t *testing.T) {
	for name, end := range map[string]func(c *fieldCase, lock *redlock.Lock){
		"released": func(c *fieldCase, lock *redlock.Lock) { require.NoError(c.t, lock.Release(c.t.Context())) },
		"denied": func(c *fieldCase, lock *redlock.Lock) {
			c.each((*redlocktest.Node).Forget)
			requireClass(c.t, redlock.ErrLost, lock.Extend(c.t.Context(), time.Minute))
		},
		"run out": func(c *fieldCase, lock *redlock.Lock) {
			c.each((*redlocktest.Node).Down)
			<-lock.Done()
		},
		"closed": func(c *fieldCase, _ *redlock.Lock) { require.NoError(c.t, c.client.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timers := &timerCount{Clock: clock.System()}
				c := &fieldCase{t: t, nodes: redlocktest.Nodes(3)}
				c.client = redlocktest.NewClient(t, c.nodes, &redlock.Options{Clock: timers})
				lock := c.held(time.Minute)
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
				require.NoError(t, lock.Extend(t.Context(), time.Minute))
				require.Positive(t, timers.pending.Load())
				end(c, lock)
				synctest.Wait()
				assert.Zero(t, timers.pending.Load())
			})
		})
	}
}
