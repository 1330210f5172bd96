package tests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

var errShift = errors.New("the shift is over")

// contextEnds are the ways in which a caller's context ends after some time.
var contextEnds = map[string]struct {
	end  func(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc)
	errs []error
}{
	"cancelled": {func(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(after, cancel)
		return ctx, cancel
	}, []error{context.Canceled}},
	"cancelled with a cause": {func(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(after, func() { cancel(errShift) })
		return ctx, func() { cancel(nil) }
	}, []error{context.Canceled, errShift}},
	"deadline": {context.WithTimeout, []error{context.DeadlineExceeded}},
	"deadline with a cause": {func(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, after, errShift)
	}, []error{context.DeadlineExceeded, errShift}},
}

func TestB41TheErrorOfAnEndedContextNamesItAndWhatWasSeen(t *testing.T) {
	const after = 100 * time.Millisecond
	for name, phase := range map[string]struct {
		make  func(c *fieldCase)
		class error // nil: no attempt is decided by then
	}{
		"between attempts, held":      {func(c *fieldCase) { occupy("holder", time.Hour, c.nodes...) }, redlock.ErrHeld},
		"between attempts, no quorum": {func(c *fieldCase) { c.nodes[0].Down(); c.nodes[1].Down() }, redlock.ErrNoQuorum},
		"in the middle of the first attempt": {func(c *fieldCase) {
			c.each(func(n *redlocktest.Node) { n.Slow(150 * time.Millisecond) })
		}, nil},
		"in the middle of the undo": {func(c *fieldCase) {
			occupy("holder", time.Hour, c.nodes[:1]...)
			c.each(func(n *redlocktest.Node) { n.Slow(60 * time.Millisecond) })
			c.nodes[2].Down()
		}, nil},
	} {
		for how, ends := range contextEnds {
			t.Run(name+", "+how, func(t *testing.T) {
				opts := &redlock.Options{NodeTimeout: 200 * time.Millisecond, RetryMin: 5 * time.Second}
				inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
					require.NoError(t, caseLock(t, c.client, time.Minute).Release(t.Context()))
					phase.make(c)
					ctx, cancel := ends.end(t.Context(), after)
					defer cancel()
					var err error
					assert.Equal(t, after, caseTakes(func() {
						_, err = c.client.Acquire(ctx, caseKey, time.Minute)
					}))
					for _, want := range ends.errs {
						assert.ErrorIs(t, err, want)
					}
					if phase.class != nil {
						requireClass(t, phase.class, err)
					} else {
						requireClass(t, context.Canceled, err) // of no class
					}
					c.each(func(n *redlocktest.Node) { n.Delete(caseKey) })
					c.clean(0) // of the holder's; ours are gone
					time.Sleep(time.Second)
					c.clean(0)
				})
			})
		}
	}
}

func TestB41AnEndedContextSendsNothing(t *testing.T) {
	for how, ends := range contextEnds {
		t.Run(how, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				lock := c.held(time.Minute)
				ctx, cancel := ends.end(t.Context(), time.Millisecond)
				defer cancel()
				<-ctx.Done()
				before := c.commands()
				calls := map[string]func() error{
					"Acquire":    func() error { _, err := c.client.Acquire(ctx, "another", time.Minute); return err },
					"TryAcquire": func() error { _, err := c.client.TryAcquire(ctx, "another", time.Minute); return err },
					"Do":         func() error { return c.client.Do(ctx, "another", time.Minute, mustNotRun) },
					"TryDo":      func() error { return c.client.TryDo(ctx, "another", time.Minute, mustNotRun) },
					"Extend":     func() error { return lock.Extend(ctx, time.Hour) },
				}
				for call, do := range calls {
					err := do()
					for _, want := range ends.errs {
						assert.ErrorIs(t, err, want, call)
					}
					requireClass(t, context.Canceled, err) // of no class
				}
				assert.Equal(t, before, c.commands())
				assert.NoError(t, lock.Err())
			})
		})
	}
}

func TestB42NoWaitIsBoundedByTheTTL(t *testing.T) {
	for _, ttl := range []time.Duration{20 * time.Millisecond, 500 * time.Millisecond} {
		inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
			occupy("holder", time.Minute, c.nodes...)
			var lock *redlock.Lock
			took := caseTakes(func() {
				var err error
				lock, err = c.client.Acquire(context.Background(), caseKey, ttl)
				require.NoError(t, err)
			})
			assert.GreaterOrEqual(t, took, time.Minute)
			assert.LessOrEqual(t, took, time.Minute+time.Second, "RetryMax")
			assert.Equal(t, ttl-caseDrift(ttl), lock.Remaining())
		})
	}
}

func TestB44TheContextOfAcquireDoesNotBoundTheLock(t *testing.T) {
	for how, ends := range contextEnds {
		t.Run(how, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				const ttl = 3 * time.Second
				ctx, cancel := ends.end(t.Context(), time.Second)
				var locks []*redlock.Lock
				for _, name := range []string{"a", "b"} {
					lock, err := c.client.TryAcquire(ctx, name, ttl)
					require.NoError(t, err)
					locks = append(locks, lock)
					lock, err = c.client.Acquire(ctx, "waited for "+name, ttl)
					require.NoError(t, err)
					locks = append(locks, lock)
				}
				for _, lock := range locks {
					require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
				}
				cancel()
				time.Sleep(5 * ttl)
				for _, lock := range locks {
					assert.NoError(t, lock.Err())
					assert.Equal(t, 3, c.holding(lock))
					assertDone(t, false, lock.Done())
					require.NoError(t, lock.Release(ctx))
				}
				c.clean(0)
			})
		})
	}
}

// The work's own context is what a lock's context is made of.
func TestB44AContextOfTheLockEndsWithEither(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		lock := c.held(time.Second)
		parent, cancelParent := context.WithCancel(t.Context())
		child, cancel := lock.Context(parent)
		defer cancel()
		other, cancelOther := lock.Context(t.Context())
		defer cancelOther()
		cancelParent()
		<-child.Done()
		assert.Equal(t, context.Canceled, context.Cause(child))
		assert.NoError(t, lock.Err())
		assert.NoError(t, other.Err())
		time.Sleep(time.Second)
		assert.Equal(t, lock.Err(), context.Cause(other))
		requireClass(t, redlock.ErrLost, context.Cause(other))
	})
}
