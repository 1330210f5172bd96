package tests

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// Locks that were acquired together are due together. Their extensions must not
// all be sent at once: they would wait longer in queues than NodeTimeout.
func TestManyLocksAreKeptAliveInTurns(t *testing.T) {
	const locks, limit = 3000, 512
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		client := redlocktest.NewClient(t, nodes, nil)
		held := make([]*redlock.Lock, locks)
		for i := range held {
			lock, err := client.TryAcquire(ctx, fmt.Sprint("job-", i), 3*time.Second)
			require.NoError(t, err)
			require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
			held[i] = lock
		}
		for _, n := range nodes {
			n.Slow(10 * ms)
		}
		time.Sleep(10 * time.Second)
		for _, lock := range held {
			require.NoError(t, lock.Err())
		}

		extensions, atOnce := 0, map[time.Time]int{}
		for _, c := range nodes[0].Commands() {
			if c.Op == redlock.OpExtend {
				extensions++
				atOnce[c.Arrived]++
			}
		}
		require.GreaterOrEqual(t, extensions, 8*locks)
		for at, n := range atOnce {
			require.LessOrEqual(t, n, limit, "at %v", at)
		}
	})
}

// Who waits for his turn and is lost first is extended first.
func TestTheLockThatIsLostFirstIsKeptAliveFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		client := redlocktest.NewClient(t, nodes, nil)
		keep := func(name string, ttl, every time.Duration) *redlock.Lock {
			lock, err := client.TryAcquire(ctx, name, ttl)
			require.NoError(t, err)
			require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: every}))
			return lock
		}
		for i := range 20_000 {
			keep(fmt.Sprint("long-", i), time.Minute, 500*ms)
		}
		urgent := keep("short", 700*ms, 500*ms)
		for _, n := range nodes {
			n.Slow(20 * ms) // 20,000 take 0.8 s: whoever comes last is too late
		}
		time.Sleep(5 * time.Second)
		require.NoError(t, urgent.Err())
	})
}

// Keep-alive that waits for its turn ends with the client.
func TestLocksThatWaitForTheirTurnEndWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		client := redlocktest.NewClient(t, nodes, nil)
		var held []*redlock.Lock
		for i := range 2000 {
			lock, err := client.TryAcquire(ctx, fmt.Sprint("job-", i), 3*time.Second)
			require.NoError(t, err)
			require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
			held = append(held, lock)
		}
		for _, n := range nodes {
			n.Slow(40 * ms)
		}
		time.Sleep(1010 * ms) // the first are under way
		require.NoError(t, client.Close())
		for _, lock := range held {
			require.ErrorIs(t, lock.Err(), redlock.ErrLost)
		}
	}) // the bubble fails if anything is left running
}
