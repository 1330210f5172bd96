package live_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

var stressPairs = flag.Int("stress.pairs", 10_000, "pairs of the stress test with healthy nodes")

// latencies are times that callers waited, from any goroutine.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

// String gives the median and the 99th percentile.
func (l *latencies) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return "none"
	}
	slices.Sort(l.all)
	at := func(percent int) time.Duration {
		return l.all[(len(l.all)-1)*percent/100].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v", at(50), at(99))
}

// On healthy nodes, with a third of the callers gone in the middle of acquiring or
// releasing, nothing is left that nobody holds.
func TestStressHealthyPairsLeaveNoOrphan(t *testing.T) {
	process.Need(t)
	const goroutines = 128
	pairs := int64(*stressPairs)
	if testing.Short() {
		pairs /= 10
	}
	masters := startServers(t, 5, process.Config{})
	opts := patient() // a node that does not answer in time is not healthy
	client := connected(t, masters, opts)
	before := runtime.NumGoroutine()
	var started, locks, cancelled atomic.Int64
	var acquired, released latencies
	pair := func(n int64) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if n%3 == 0 {
			defer time.AfterFunc(rand.N(4*time.Millisecond), cancel).Stop()
		}
		start := time.Now()
		lock, err := client.TryAcquire(ctx, fmt.Sprint("pair ", n), time.Minute)
		assert.Equal(t, err == nil, lock != nil, "a lock or an error")
		switch {
		case lock != nil:
			locks.Add(1)
			acquired.add(time.Since(start))
			start = time.Now()
			assert.NoError(t, lock.Release(ctx), "whatever has become of ctx")
			released.add(time.Since(start))
		case ctx.Err() != nil:
			cancelled.Add(1)
		default:
			assert.NoError(t, err)
		}
	}
	var wg sync.WaitGroup
	start := time.Now()
	for range goroutines {
		wg.Go(func() {
			for n := started.Add(1); n <= pairs; n = started.Add(1) {
				pair(n)
			}
		})
	}
	wg.Wait()
	end := time.Now()
	took := end.Sub(start)
	t.Logf("%d pairs at %d in %v: %.0f/s, %d locks, %d cancelled; acquired %v; released %v",
		pairs, goroutines, took.Round(time.Millisecond), float64(pairs)/took.Seconds(),
		locks.Load(), cancelled.Load(), &acquired, &released)
	eventuallyClean(t, masters, opts.NodeTimeout+time.Second)
	t.Logf("0 orphans %v after the end", time.Since(end).Round(time.Millisecond))
	goroutinesBack(t, before, time.Second)
	require.Greater(t, locks.Load(), pairs/2, "too little happened")
	require.Greater(t, cancelled.Load(), pairs/20, "too little was cancelled")
}
