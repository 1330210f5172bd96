package live_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
)

// An attempt is cancelled at every point: before it is sent, in flight, decided,
// and while it is undone. The caller has a lock or an error, and soon no node has
// a key that nobody owns.
func TestAttemptCancelledAtAnyMomentLeavesNothing(t *testing.T) {
	onEachLayer(t, func(t *testing.T, l layer) {
		masters := l.start(t, 5)
		opts := patient()
		cables, dialed := cables(masters)
		client := newClient(t, dialed, opts)
		warm(t, client, "", masters...)
		goroutines := runtime.NumGoroutine()
		for _, c := range []struct {
			what   string
			delay  time.Duration // of every answer, so that the sweep meets all of an attempt
			taken  int           // so many nodes have the key already
			rounds int
		}{
			{"free", 0, 0, 3},
			{"free and slow", time.Millisecond, 0, 1},
			{"held", 0, 3, 1},
			{"held and slow", time.Millisecond, 3, 1},
			{"split and slow", time.Millisecond, 2, 1},
		} {
			for _, cable := range cables {
				cable.slow(c.delay)
			}
			for n := range c.rounds {
				for after := time.Duration(0); after <= 3*time.Millisecond; after += 100 * time.Microsecond {
					name := fmt.Sprint(c.what, n, after)
					for _, m := range masters[:c.taken] {
						set(m, name, stranger, time.Minute)
					}
					cancelled(t, client, name, after)
					for _, m := range masters[:c.taken] {
						require.Equal(t, stranger, get(m, name), "the stranger's key is left alone")
						m.Do("DEL", name)
					}
				}
			}
			eventuallyClean(t, masters, opts.NodeTimeout+time.Second)
		}
		goroutinesBack(t, goroutines, opts.NodeTimeout+time.Second)
	})
}

// cancelled makes an attempt that is cancelled after some time.
func cancelled(t *testing.T, client *redlock.Client, name string, after time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if after == 0 {
		cancel()
	} else {
		defer time.AfterFunc(after, cancel).Stop()
	}
	lock, err := client.TryAcquire(ctx, name, time.Minute)
	require.Equal(t, err == nil, lock != nil, "a lock or an error: %v, %v", lock, err)
	if lock != nil {
		require.NoError(t, lock.Err(), "the lock outlives the context that it was acquired with")
		require.NoError(t, lock.Release(context.Background()))
	}
}

func TestTenThousandPairsWithRandomCancelsLeaveNothing(t *testing.T) {
	onEachLayer(t, func(t *testing.T, l layer) {
		pairs, at, patience := int64(10_000), 64, 20*time.Millisecond
		if l.name == "embedded" { // its scripts take so much longer
			pairs, at, patience = 300, 16, 100*time.Millisecond
		}
		if testing.Short() {
			pairs /= 10
		}
		masters := l.start(t, 5)
		opts := patient()
		opts.RetryMax = 20 * time.Millisecond
		client := connected(t, masters, opts)
		goroutines := runtime.NumGoroutine()

		var started, held, ended atomic.Int64
		var wg sync.WaitGroup
		pair := func() {
			ctx, cancel := context.WithTimeout(context.Background(), rand.N(patience))
			defer cancel()
			try := client.Acquire
			if rand.N(2) == 0 {
				try = client.TryAcquire
			}
			lock, err := try(ctx, fmt.Sprint("job ", rand.N(200)), time.Minute)
			assert.Equal(t, err == nil, lock != nil, "a lock or an error")
			if lock != nil {
				held.Add(1)
				assert.NoError(t, lock.Release(ctx)) // whatever has become of ctx
			} else if ctx.Err() != nil {
				ended.Add(1)
			}
		}
		for range at {
			wg.Go(func() {
				for started.Add(1) <= pairs {
					pair()
				}
			})
		}
		wg.Wait()
		eventuallyClean(t, masters, opts.NodeTimeout+time.Second)
		goroutinesBack(t, goroutines, opts.NodeTimeout+time.Second)
		t.Logf("%d pairs: %d held, %d cancelled", pairs, held.Load(), ended.Load())
		require.Greater(t, held.Load(), pairs/50, "too little happened")
		require.Greater(t, ended.Load(), pairs/50, "too little was cancelled")
	})
}
