package live_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
)

// Servers start one job at the same moment, and the one that gets the lock keeps
// it: exactly one runs the job, and every other learns who does. A round in which
// nobody gets it would be a job that never runs.
func TestOneOfManyAtABarrierWinsAndTheOthersLearnWho(t *testing.T) {
	rounds := map[string]int{"embedded": 32, "process": 400} // miniredis takes ten times as long
	onEachLayer(t, func(t *testing.T, l layer) {
		rounds := rounds[l.name]
		if testing.Short() {
			rounds /= 10
		}
		masters := l.start(t, 5)
		const most = 10
		clients := make([]*redlock.Client, most)
		for i := range clients {
			opts := patient()
			opts.Owner = owner(i)
			clients[i] = connected(t, masters, opts)
		}
		for _, down := range []int{0, 1} {
			for _, m := range masters[:down] {
				m.Down()
			}
			for _, n := range []int{2, 3, 5, 10} {
				name := fmt.Sprintf("%d contenders on %d of 5", n, 5-down)
				t.Run(name, func(t *testing.T) {
					for round := range rounds / 8 {
						contend(t, clients[:n], fmt.Sprintf("%s, round %d", name, round))
					}
					eventuallyClean(t, masters[down:], bound)
				})
			}
		}
	})
}

func owner(i int) string { return fmt.Sprintf("contender-%d", i) }

// contend lets clients try one lock at once.
func contend(t *testing.T, clients []*redlock.Client, name string) {
	t.Helper()
	locks := make([]*redlock.Lock, len(clients))
	errs := make([]error, len(clients))
	barrier := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			<-barrier
			locks[i], errs[i] = c.TryAcquire(context.Background(), name, time.Minute)
		})
	}
	close(barrier)
	wg.Wait()

	winner := -1
	for i, lock := range locks {
		if lock == nil {
			continue
		}
		require.NoError(t, errs[i])
		require.Equal(t, -1, winner, "two have the lock in %s", name)
		winner = i
	}
	require.NotEqual(t, -1, winner, "nobody has the lock in %s: %v", name, errors.Join(errs...))
	for i, err := range errs {
		if i != winner {
			require.ErrorIs(t, err, redlock.ErrHeld, name)
			assert.Equal(t, owner(winner), quorumError(t, err).Holder(), "%s: %v", name, err)
		}
	}
	require.NoError(t, locks[winner].Err())
	require.NoError(t, locks[winner].Release(context.Background()))
}
