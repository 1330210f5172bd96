package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// lostReplies are the ways in which a node carries out a command and nobody
// learns of it.
var lostReplies = map[string]func(n *redlocktest.Node){
	"the reply is dropped": func(n *redlocktest.Node) { n.DropReplies(1) },
	"the connection breaks": func(n *redlocktest.Node) {
		n.Slow(20 * time.Millisecond)
		time.AfterFunc(time.Millisecond, func() {
			n.Slow(0)
			n.Down()
			n.Up()
		})
	},
	"the reply is too late": func(n *redlocktest.Node) {
		n.Slow(time.Minute)
		time.AfterFunc(time.Millisecond, func() { n.Slow(0) })
	},
	"the command is late, too": func(n *redlocktest.Node) { n.DeliverLate(1, 30*time.Millisecond) },
}

func TestB10AKeyOfOurOwnIsNeverSomebodyElses(t *testing.T) {
	for fault, lose := range lostReplies {
		for _, count := range []int{1, 3, 5} {
			t.Run(fmt.Sprint(fault, " ", count), func(t *testing.T) {
				var trace caseTrace
				inFieldCase(t, count, &redlock.Options{Trace: trace.hooks()}, func(t *testing.T, c *fieldCase) {
					for _, n := range c.nodes[:c.client.Quorum()] {
						lose(n)
					}
					_, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
					requireClass(t, redlock.ErrNoQuorum, err)
					c.clean(2 * caseTimeout)

					for _, n := range c.nodes[:c.client.Quorum()] {
						lose(n)
					}
					var lock *redlock.Lock
					took := caseTakes(func() { lock, err = c.client.Acquire(t.Context(), caseKey, time.Minute) })
					require.NoError(t, err)
					assert.Less(t, took, 3*caseTimeout)
					assert.NoError(t, lock.Err())
					assert.GreaterOrEqual(t, c.holding(lock), c.client.Quorum())
					for _, err := range trace.attempts {
						assert.NotErrorIs(t, err, redlock.ErrHeld, "nobody else was ever there")
					}
				})
			})
		}
	}
}

func TestB11AnAttemptThatTimedOutLeavesNothing(t *testing.T) {
	type ending struct {
		ctx   func(t *testing.T) (context.Context, context.CancelFunc)
		after time.Duration
		class error
	}
	for name, end := range map[string]ending{
		"node timeout": {func(t *testing.T) (context.Context, context.CancelFunc) {
			return context.WithCancel(t.Context())
		}, caseTimeout, redlock.ErrNoQuorum},
		"deadline": {func(t *testing.T) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 10*time.Millisecond)
		}, 10 * time.Millisecond, context.DeadlineExceeded},
		"cancelled": {func(t *testing.T) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		}, 20 * time.Millisecond, context.Canceled},
	} {
		for fault, lose := range lostReplies {
			if strings.Contains(fault, "breaks") {
				continue // does not wait for a time-out
			}
			t.Run(name+", "+fault, func(t *testing.T) {
				inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
					lose(c.nodes[0])
					lose(c.nodes[1])
					ctx, cancel := end.ctx(t)
					defer cancel()
					assert.Equal(t, end.after, caseTakes(func() {
						lock, err := c.client.TryAcquire(ctx, caseKey, 3*time.Minute)
						assert.Nil(t, lock)
						requireClass(t, end.class, err)
						require.ErrorIs(t, err, end.class)
					}))
					c.clean(2 * caseTimeout)
					caseLock(t, c.contender("next"), time.Minute)
				})
			})
		}
	}
}

func TestB12ASetThatArrivesAfterItsReleaseIsFoundAndDeleted(t *testing.T) {
	const ttl = 10 * time.Second
	for _, delay := range []time.Duration{500 * time.Millisecond, 5 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			var found []redlock.OrphanState
			opts := &redlock.Options{Trace: &redlock.Trace{
				Orphan: func(_, _ string, state redlock.OrphanState) { found = append(found, state) },
			}}
			inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
				occupy("other", time.Minute, c.nodes[0])
				c.nodes[1].Down()
				c.nodes[2].DeliverLate(1, delay)
				start := time.Now()
				_, err := c.client.TryAcquire(t.Context(), caseKey, ttl)
				// By design: with the silent nodes, the other could have a quorum.
				requireClass(t, redlock.ErrHeld, err)

				c.nodes[0].Delete(caseKey)
				c.nodes[1].Up()
				next := caseLock(t, c.contender("next"), time.Minute)
				require.NoError(t, next.Release(t.Context()))

				time.Sleep(delay - time.Since(start) + time.Nanosecond)
				synctest.Wait()
				_, left, ok := c.nodes[2].Get(caseKey)
				require.True(t, ok, "the orphan")
				assert.LessOrEqual(t, left, ttl)
				next = caseLock(t, c.contender("another"), time.Minute)
				time.Sleep(1001 * time.Millisecond) // a hunt's longest pause
				synctest.Wait()
				_, _, ok = c.nodes[2].Get(caseKey)
				assert.False(t, ok, "the orphan, or the next holder's heal")
				assert.Contains(t, found, redlock.OrphanDeleted)
				assert.NoError(t, next.Err())
				require.NoError(t, next.Release(t.Context()))
				c.clean(0)
			})
		})
	}
}

// A queueNode is a connection that is still being made: requests wait in it.
type queueNode struct {
	redlock.Node
	waiting []*redlock.Request
}

func (n *queueNode) Send(r *redlock.Request) { n.waiting = append(n.waiting, r) }

func (n *queueNode) open() {
	for _, r := range n.waiting {
		n.Node.Send(r)
	}
	n.waiting = nil
}

// The best undo is one of what was never sent.
func TestB12ASetThatWasNotSentIsWithdrawn(t *testing.T) {
	for name, end := range map[string]func(c *fieldCase, lock *redlock.Lock){
		"release": func(c *fieldCase, lock *redlock.Lock) { require.NoError(c.t, lock.Release(c.t.Context())) },
		"undo":    nil, // the attempt fails
	} {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				slow := &queueNode{Node: c.nodes[2].Conn()}
				client, err := redlock.NewFrom([]redlock.Node{c.nodes[0].Conn(), c.nodes[1].Conn(), slow}, nil)
				require.NoError(t, err)
				defer client.Close()
				if end == nil {
					occupy("holder", time.Hour, c.nodes[:2]...)
					_, err = client.TryAcquire(t.Context(), caseKey, time.Minute)
					requireClass(t, redlock.ErrHeld, err)
				} else {
					end(c, caseLock(t, client, time.Minute))
				}
				time.Sleep(10 * time.Millisecond)
				slow.open()
				time.Sleep(time.Second)
				slow.open()
				assert.Zero(t, c.nodes[2].Count(redlock.OpAcquire))
				assert.Zero(t, c.nodes[2].Len())
			})
		})
	}
}

// What the network delivers after everything else lives for its TTL.
func TestB12ASetThatArrivesAfterTheClientLivesForItsTTL(t *testing.T) {
	const ttl = 10 * time.Second
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		c.nodes[0].Down()
		c.nodes[1].Down()
		c.nodes[2].Hang()
		_, err := c.client.TryAcquire(t.Context(), caseKey, ttl)
		requireClass(t, redlock.ErrNoQuorum, err)
		require.NoError(t, c.client.Close())
		time.Sleep(time.Hour)
		c.nodes[2].Resume()
		time.Sleep(ttl)
		c.clean(0)
	})
}

func TestB13AFailedAttemptIsUndoneWhereverItMayBe(t *testing.T) {
	for fault, lose := range lostReplies {
		t.Run(fault, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				foreign := occupy("other", time.Minute, c.nodes[1])
				lose(c.nodes[2])
				_, err := c.client.TryAcquire(t.Context(), caseKey, time.Second)
				if err == nil {
					t.Skip("settled: it has the lock on the second try")
				}
				time.Sleep(2 * caseTimeout)
				synctest.Wait()
				assert.Zero(t, c.nodes[0].Len())
				assert.Zero(t, c.nodes[2].Len())
				value, _, _ := c.nodes[1].Get(caseKey)
				assert.Equal(t, foreign, value)
			})
		})
	}
}

// The release of the first attempt does not reach the node, so the second finds
// a key of its own client.
func TestB15AnAttemptIsNotBlockedByTheOneBefore(t *testing.T) {
	for name, retry := range map[string]func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error){
		"TryAcquire": func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.TryAcquire(ctx, caseKey, time.Minute)
		},
		"Acquire": func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.Acquire(ctx, caseKey, time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var trace caseTrace
			inFieldCase(t, 3, &redlock.Options{Trace: trace.hooks()}, func(t *testing.T, c *fieldCase) {
				first := c.nodes[0]
				c.nodes[1].Down()
				c.nodes[2].Down()
				first.DropReplies(1)
				time.AfterFunc(caseTimeout-1, first.Down)
				_, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
				requireClass(t, redlock.ErrNoQuorum, err)
				require.Equal(t, 1, first.Len(), "the orphan")
				require.Zero(t, first.Count(redlock.OpRelease))

				first.Up()
				c.nodes[1].Up()
				var lock *redlock.Lock
				took := caseTakes(func() { lock, err = retry(t.Context(), c.client) })
				require.NoError(t, err)
				assert.Less(t, took, caseTimeout)
				assert.GreaterOrEqual(t, c.holding(lock), 2)
				for _, err := range trace.attempts {
					assert.False(t, errors.Is(err, redlock.ErrHeld), "%v", err)
				}
			})
		})
	}
}

// Even on a quorum a key that the client knows for its own orphan is no holder.
func TestB15OurOwnOrphanIsNoHolder(t *testing.T) {
	for _, count := range []int{1, 3, 5} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			inFieldCase(t, count, nil, func(t *testing.T, c *fieldCase) {
				c.each(func(n *redlocktest.Node) { n.DropReplies(1) })
				time.AfterFunc(caseTimeout-1, func() { // the undo
					c.each(func(n *redlocktest.Node) { n.DeliverLate(1, time.Second) })
				})
				_, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
				requireClass(t, redlock.ErrNoQuorum, err)
				c.each(func(n *redlocktest.Node) { require.Equal(t, 1, n.Len(), "the orphan") })

				lock, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
				require.NotErrorIs(t, err, redlock.ErrHeld)
				if err != nil {
					lock, err = c.client.Acquire(t.Context(), caseKey, time.Minute)
				}
				require.NoError(t, err)
				time.Sleep(2 * time.Second)
				assert.NoError(t, lock.Extend(t.Context(), time.Minute), "a late undo is of another token")
			})
		})
	}
}
