package tests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// Servers whose timers fire at once must not all skip because each got a part of
// the nodes: one of them runs, and the others know who.
func TestOfContendersThatStartTogetherExactlyOneGetsTheLock(t *testing.T) {
	const rounds = 1000
	for _, contenders := range []int{2, 3, 5, 10} {
		for _, down := range []int{0, 1} {
			t.Run(fmt.Sprintf("%d contenders, %d of 5 nodes", contenders, 5-down), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					nodes := redlocktest.Nodes(5)
					clients := make([]*redlock.Client, contenders)
					for i := range clients {
						clients[i] = farClient(t, nodes, i)
					}
					for _, n := range nodes[5-down:] {
						n.Down()
					}
					for round := range rounds {
						contend(t, clients, fmt.Sprint("round-", round))
					}
				})
			})
		}
	}
}

// farClient returns a client with a way of its own to every node, so that no two
// messages of a round arrive at the same time.
func farClient(t *testing.T, nodes []*redlocktest.Node, i int) *redlock.Client {
	ways := make([]redlock.Node, len(nodes))
	for j, n := range nodes {
		delay := time.Duration((i*7+j*13)%11+1)*37*time.Microsecond + time.Duration(i*len(nodes)+j)
		ways[j] = far{n.Conn(), delay}
	}
	client, err := redlock.NewFrom(ways, &redlock.Options{Owner: fmt.Sprint("server-", i)})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func contend(t *testing.T, clients []*redlock.Client, name string) {
	locks, errs := make([]*redlock.Lock, len(clients)), make([]error, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { locks[i], errs[i] = c.TryAcquire(ctx, name, 10*time.Second) })
	}
	all.Wait()
	winner := -1
	for i, l := range locks {
		if l != nil {
			require.Equal(t, -1, winner, "%s: two hold it", name)
			winner = i
		}
	}
	require.NotEqual(t, -1, winner, "%s: nobody holds it: %v", name, errs)
	for i, err := range errs {
		if i == winner {
			continue
		}
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.Equal(t, fmt.Sprint("server-", winner), quorumError(t, err).Holder(), "%v", err)
	}
}

// Whenever the caller cancels, he gets a lock or an error, at once, and in the
// second case the nodes are clean soon after.
func TestCancelledAttemptLeavesNothingWheneverItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(5)
		client := farClient(t, nodes, 0)
		for _, n := range nodes {
			n.Slow(700 * time.Microsecond)
		}
		require.NoError(t, client.Connect(ctx))
		locks := 0
		for cancelAt := time.Duration(0); cancelAt < 3*ms; cancelAt += 50 * time.Microsecond {
			start := time.Now()
			cause := errors.New("the caller had enough")
			cancelled, cancel := context.WithTimeoutCause(ctx, cancelAt, cause)
			lock, err := client.TryAcquire(cancelled, "sweep", 10*time.Second)
			cancel()
			if lock != nil {
				require.NoError(t, err)
				require.NoError(t, lock.Release(ctx))
				locks++
			} else {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, cause)
				require.NotErrorIs(t, err, redlock.ErrNoQuorum)
				require.Equal(t, cancelAt, time.Since(start))
			}
			time.Sleep(100 * ms)
			require.Zero(t, keys(nodes), "cancelled after %v", cancelAt)
		}
		require.Positive(t, locks)
	})
}

func TestLastDecidedAttemptIsToldWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		holder := redlocktest.NewClient(t, nodes, &redlock.Options{Owner: "holder"})
		_, err := holder.TryAcquire(ctx, "job", time.Minute)
		require.NoError(t, err)

		client := redlocktest.NewClient(t, nodes, nil)
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = client.Acquire(limited, "job", time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.NotErrorIs(t, err, redlock.ErrNoQuorum)
		require.Equal(t, "holder", quorumError(t, err).Holder())
	})
}

// A key that this client left behind is nobody's lock.
func TestOwnOrphanIsNotSomebodyElsesLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		client := redlocktest.NewClient(t, nodes, nil)
		require.NoError(t, client.Connect(ctx))
		// The nodes set the keys and say nothing: the undo waits for them.
		for _, n := range nodes {
			n.DropReplies(1)
		}
		cancelled, cancel := context.WithTimeout(ctx, ms)
		defer cancel()
		_, err := client.TryAcquire(cancelled, "job", time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 3, keys(nodes))

		lock, err := client.Acquire(ctx, "job", time.Minute)
		require.NoError(t, err, "the keys are undone meanwhile")
		require.NoError(t, lock.Release(ctx))
		require.Zero(t, keys(nodes))
	})
}

// An attempt may meet the key of an earlier one, which is being undone, and hear
// of it only when it is gone: the simulation found that, as a client that was
// told that it held the lock itself.
func TestOwnOrphanIsRememberedUntilAllHaveHeardOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		client := redlocktest.NewClient(t, nodes, nil)
		require.NoError(t, client.Connect(ctx))
		slow := func(d time.Duration) {
			for _, n := range nodes {
				n.Slow(d)
			}
		}
		slow(20 * ms)
		cancelled, cancel := context.WithTimeout(ctx, ms)
		defer cancel()
		_, err := client.TryAcquire(cancelled, "job", time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		slow(40 * ms) // from the second attempt on, which meets the first one's keys
		time.AfterFunc(10*ms, func() { slow(0) })
		lock, err := client.TryAcquire(ctx, "job", time.Minute)
		require.NoError(t, err)
		require.NoError(t, lock.Release(ctx))
		require.Zero(t, keys(nodes))
	})
}

// A token that with silent nodes could have a quorum is looked at twice.
func TestPossibleHolderIsHeldOnlyIfHeStays(t *testing.T) {
	const foreign = "0123456789012345678901234567890123456789/somebody"
	for _, stays := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			nodes := redlocktest.Nodes(5)
			client := redlocktest.NewClient(t, nodes, &redlock.Options{Trace: &redlock.Trace{
				Wait: func(context.Context, string, time.Duration) {
					if !stays {
						nodes[0].Delete("job")
					}
				},
			}})
			nodes[0].Set("job", foreign, time.Minute)
			nodes[3].Down()
			nodes[4].Answer(errors.New("LOADING Redis is loading the dataset in memory"))
			nodes[1].Down()
			_, err := client.TryAcquire(ctx, "job", time.Minute)
			if stays {
				require.ErrorIs(t, err, redlock.ErrHeld)
				require.Equal(t, "somebody", quorumError(t, err).Holder())
			} else {
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
			}
		})
	}
}
