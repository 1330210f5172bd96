package live_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

func addrs(masters []master) []string {
	all := make([]string, len(masters))
	for i, m := range masters {
		all[i] = m.String()
	}
	return all
}

// Masters are killed and come back with their data while two processes compete.
// The contenders themselves find out if both are ever inside. While a minority is
// gone they go on; while a majority is gone they may have to wait.
func TestTwoProcessesAreNeverInsideTogetherWhileMastersDie(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := durable(t, 5)
	o := order{
		Addrs: addrs(masters), Name: "job", TTL: 5 * time.Second,
		Marker: filepath.Join(t.TempDir(), "inside"),
	}
	one, two := run(t, "contender", o), run(t, "contender", o)
	progress := func() {
		t.Helper()
		for range 5 {
			one.next("grant")
			two.next("grant")
		}
	}
	progress()
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		for _, count := range []int{1, 2, 3} {
			victims := make([]master, count)
			for i := range victims {
				victims[i] = masters[(round+2*i)%len(masters)]
				victims[i].Down()
			}
			if count <= 2 { // a lock with its key on the dead and on too few others has to run out
				discard(one)
				discard(two)
				progress()
			}
			for _, m := range victims {
				m.Up()
			}
			discard(one)
			discard(two)
			progress()
		}
	}
	for _, p := range []*program{one, two} {
		p.kill()
	}
}

// discard drops the grants told so far.
func discard(p *program) {
	p.tb.Helper()
	for {
		select {
		case line := <-p.lines:
			require.NotContains(p.tb, line, "WRONG")
		default:
			return
		}
	}
}

// B38
func TestB38NextOneHasTheLockOfAKilledHolderWithinItsTTL(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 5, process.Config{})
	opts := patient()
	opts.RetryMax = 20 * time.Millisecond
	client := connected(t, masters, opts)
	const ttl = time.Second
	for range 3 {
		p := run(t, "holder", order{Addrs: addrs(masters), Name: "job", TTL: ttl, Owner: "victim"})
		p.next("held")
		held := time.Now() // or a little later
		_, err := client.TryAcquire(context.Background(), "job", ttl)
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.Equal(t, "victim", quorumError(t, err).Holder())
		p.kill()

		lock, err := client.Acquire(context.Background(), "job", ttl)
		took := time.Since(held)
		require.NoError(t, err)
		require.LessOrEqual(t, took, ttl+opts.RetryMax+slack)
		require.NoError(t, lock.Release(context.Background()))
	}
}

// A process that was stopped past the end of its lock, in which another has
// begun, learns so from the first thing that it asks.
func TestStoppedHolderLearnsOfItsLossAtOnce(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 5, process.Config{})
	client := connected(t, masters, patient())
	const ttl = 500 * time.Millisecond
	for range 3 {
		p := run(t, "holder", order{Addrs: addrs(masters), Name: "job", TTL: ttl})
		p.next("held")
		p.signal(syscall.SIGSTOP)
		lock, err := client.Acquire(context.Background(), "job", time.Minute)
		require.NoError(t, err)
		before := holders(masters, lock) // where the old key had just not expired, there is none
		require.GreaterOrEqual(t, before, 3)

		p.signal(syscall.SIGCONT)
		p.next("lost after")
		p.next("over")
		p.kill()
		require.GreaterOrEqual(t, holders(masters, lock), before, "the next holder keeps its keys")
		require.NoError(t, lock.Extend(context.Background(), time.Minute))
		require.NoError(t, lock.Release(context.Background()))
	}
}
