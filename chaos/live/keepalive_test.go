package live_test

import (
	"context"
	"errors"
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
	"github.com/quorumlock/redlock/chaos/process"
)

// B29
func TestKeepAliveHoldsThroughAnOutageShorterThanTheValidity(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 5)
		const ttl = 3 * time.Second
		var failed, extended atomic.Int64
		opts := quick()
		opts.Trace = &redlock.Trace{Extended: func(_ context.Context, _ string, _ time.Duration, err error) {
			if err != nil {
				failed.Add(1)
			} else {
				extended.Add(1)
			}
		}}
		client := connected(t, masters, opts)
		lock := acquire(t, client, "job", ttl)
		ctx, cancel := lock.Context(context.Background())
		defer cancel()
		require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 300 * time.Millisecond}))
		eventually(t, bound, "an extension", func() bool { return extended.Load() > 0 })

		for _, m := range masters {
			m.Hang()
		}
		outage := time.Now()
		eventually(t, ttl, "an extension fails", func() bool { return failed.Load() > 0 })
		time.Sleep(time.Second - min(time.Since(outage), time.Second))
		require.NoError(t, lock.Err())
		for _, m := range masters {
			m.Resume()
		}
		before := extended.Load()
		eventually(t, ttl, "extensions again", func() bool { return extended.Load() > before+1 })
		require.NoError(t, lock.Err())
		require.NoError(t, ctx.Err())
		require.NoError(t, lock.Release(context.Background()))
		eventuallyClean(t, masters, bound)
	})
}

// The nodes are cut off the client, not stopped, so that what they hold can be
// seen when the holder learns of his loss.
func TestHolderLearnsOfTheLossBeforeTheKeysRunOut(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		for _, keepAlive := range []bool{false, true} {
			masters := l.start(t, 5)
			cables, dialed := cables(masters)
			opts := quick()
			client := newClient(t, dialed, opts)
			warm(t, client, "", masters...)
			const ttl = 2 * time.Second
			lock := acquire(t, client, "job", ttl)
			ctx, cancel := lock.Context(context.Background())
			defer cancel()
			eventually(t, ttl, "all nodes hold it", func() bool { return holders(masters, lock) == 5 })
			if keepAlive {
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 200 * time.Millisecond}))
				time.Sleep(ttl / 4)
			}
			for _, c := range cables {
				c.partition(true)
			}
			start := time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(ttl + slack):
				require.Fail(t, "the context is alive after the TTL")
			}
			for _, m := range masters {
				left := pttl(m, "job")
				require.Positive(t, left+machine.since(start), "%v has lost the key before the context ended", m)
			}
			select {
			case <-lock.Done():
			case <-time.After(slack):
				require.Fail(t, "Done is open after the context has ended")
			}
			require.ErrorIs(t, lock.Err(), redlock.ErrLost)
			require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
			require.ErrorIs(t, context.Cause(ctx), lock.Err())
			if keepAlive {
				require.ErrorIs(t, lock.Err(), redlock.ErrNoQuorum, "the last failed extension is the reason")
			}
			require.ErrorIs(t, lock.Extend(context.Background(), ttl), redlock.ErrLost)

			for _, c := range cables {
				c.partition(false)
			}
			_ = lock.Release(context.Background()) // may still be in time to be confirmed
			eventuallyClean(t, masters, 2*ttl)
		}
	})
}

func holders(masters []master, lock *redlock.Lock) (n int) {
	for _, m := range masters {
		if v := get(m, lock.Name()); v != "" && v[:40] == lock.Token() {
			n++
		}
	}
	return n
}

func TestOutageLongerThanTheValidityLosesTheLock(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 5)
		const ttl = 2 * time.Second
		client := connected(t, masters, quick())
		lock := acquire(t, client, "job", ttl)
		ctx, cancel := lock.Context(context.Background())
		defer cancel()
		require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
		for _, m := range masters {
			m.Hang()
		}
		within(t, ttl, "to learn of the loss", func() { <-ctx.Done() })
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
		<-lock.Done()
		require.ErrorIs(t, lock.Err(), redlock.ErrLost)
		for _, m := range masters {
			m.Resume()
		}

		// B30: the next lock of the name is kept alive as the first was.
		next, err := client.Acquire(context.Background(), "job", ttl)
		require.NoError(t, err)
		require.NoError(t, next.KeepAlive(redlock.KeepAlive{}))
		time.Sleep(3 * ttl / 2)
		require.NoError(t, next.Err())
		require.ErrorIs(t, lock.Err(), redlock.ErrLost, "a lost handle stays lost")
		require.ErrorIs(t, lock.Release(context.Background()), redlock.ErrLost)
		require.NoError(t, next.Err())
		require.NoError(t, next.Release(context.Background()))
		eventuallyClean(t, masters, 2*ttl)
	})
}

// Locks are released at random moments of their keep-alive. MONITOR shows that
// nothing of a token is extended after its release, and that no key comes back.
func TestB26NothingIsExtendedAfterARelease(t *testing.T) {
	process.Need(t)
	masters := startServers(t, 3, process.Config{})
	client := connected(t, masters, patient())
	logs := monitor(t, masters)
	const at = 100
	each := 10
	if testing.Short() {
		each = 2
	}
	var wg sync.WaitGroup
	for i := range at {
		wg.Go(func() {
			for n := range each {
				ctx, cancel := context.WithCancel(context.Background())
				if n%10 == 9 { // in the middle of the acquisition
					time.AfterFunc(rand.N(time.Millisecond), cancel)
				}
				lock, err := client.TryAcquire(ctx, fmt.Sprint("job ", i), 5*time.Second)
				if err != nil {
					assert.ErrorIs(t, err, context.Canceled)
					cancel()
					continue
				}
				assert.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 10 * time.Millisecond}))
				time.Sleep(rand.N(40 * time.Millisecond))
				assert.NoError(t, lock.Release(context.Background()))
				cancel()
			}
		})
	}
	wg.Wait()
	eventuallyClean(t, masters, bound)
	time.Sleep(100 * time.Millisecond) // ten more extensions would be due
	total := 0
	for i, log := range logs {
		seen := replay(t, masters[i], log.read(), false)
		total += seen.extensions
	}
	eventuallyClean(t, masters, 0)
	require.Greater(t, total, at*each, "too few extensions to prove anything")
}

func TestB27NothingIsLeftRunningOfManyLocks(t *testing.T) {
	onEachLayer(t, func(t *testing.T, l layer) {
		cycles := int64(3000)
		if l.name == "embedded" {
			cycles = 150
		}
		if testing.Short() {
			cycles /= 10
		}
		masters := l.start(t, 5)
		opts := &redlock.Options{NodeTimeout: time.Second}
		before := runtime.NumGoroutine()
		client, err := redlock.New(options(masters), opts)
		require.NoError(t, err)
		warm(t, client, "", masters...)
		goroutines := runtime.NumGoroutine()
		masters[4].Hang()

		var started, lost atomic.Int64
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				for n := started.Add(1); n <= cycles; n = started.Add(1) {
					name, ttl, forgotten := fmt.Sprint("job ", i), time.Minute, n%10 == 0
					if forgotten {
						name, ttl = fmt.Sprint("job ", i, " ", n), 500*time.Millisecond
					}
					lock, err := client.TryAcquire(context.Background(), name, ttl)
					if forgotten && errors.Is(err, redlock.ErrNoQuorum) {
						continue // on a busy machine the validity is used up
					}
					if !assert.NoError(t, err) {
						return
					}
					if forgotten { // by its holder
						<-lock.Done()
						lost.Add(1)
					} else {
						ctx, cancel := lock.Context(context.Background())
						assert.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: time.Millisecond}))
						time.Sleep(rand.N(2 * time.Millisecond))
						assert.NoError(t, lock.Release(context.Background()))
						<-ctx.Done()
						cancel()
					}
				}
			})
		}
		wg.Wait()
		require.NotZero(t, lost.Load())
		masters[4].Resume()
		goroutinesBack(t, goroutines, opts.NodeTimeout+time.Second)
		require.NoError(t, client.Close())
		if l.name == "process" {
			goroutinesBack(t, before, opts.NodeTimeout+time.Second)
		}
	})
}
