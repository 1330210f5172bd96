package main_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/bench/internal/raw"
	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/proxy"
)

// BenchmarkPair measures acquire + release of names of their own over five
// redis-server processes: ours, and raw sockets as the limit.
//
//	go test -run - -bench Pair ./bench
func BenchmarkPair(b *testing.B) {
	process.Need(b)
	servers := process.Nodes(b, 5, process.Config{})
	var addrs []string
	var nodes []*redis.Options
	for _, s := range servers {
		addrs = append(addrs, s.Addr())
		nodes = append(nodes, &redis.Options{Addr: s.Addr()})
	}
	limit := func(b *testing.B) func(name string) error {
		f, err := raw.Dial(addrs)
		require.NoError(b, err)
		b.Cleanup(func() { f.Close() })
		return func(name string) error {
			name = "raw-" + name // whoever came before may have left stragglers
			f.Release(name, f.Acquire(name, 30*time.Second))
			return nil
		}
	}
	for _, goroutines := range []int{1, 16, 128, 1024} {
		b.Run(fmt.Sprintf("goroutines=%d/raw", goroutines), func(b *testing.B) { measure(b, goroutines, limit(b)) })
		b.Run(fmt.Sprintf("goroutines=%d/redlock", goroutines), func(b *testing.B) { measure(b, goroutines, ours(b, nodes)) })
	}
	require.NoError(b, servers[4].Pause())
	for _, goroutines := range []int{1, 16, 128, 1024} {
		b.Run(fmt.Sprintf("goroutines=%d/redlock-one-hung", goroutines), func(b *testing.B) { measure(b, goroutines, ours(b, nodes)) })
	}
	require.NoError(b, servers[4].Resume())
}

// BenchmarkDistance measures the same over servers that are a round trip away.
//
//	go test -run - -bench Distance ./bench
func BenchmarkDistance(b *testing.B) {
	process.Need(b)
	for _, distance := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		var nodes []*redis.Options
		for i, s := range process.Nodes(b, 5, process.Config{}) {
			far, err := proxy.Start(s.Addr(), uint64(i))
			require.NoError(b, err)
			b.Cleanup(func() { far.Close() })
			far.Add(proxy.Fault{Kind: proxy.Latency, Min: distance / 2})
			nodes = append(nodes, &redis.Options{Addr: far.Addr()})
		}
		for _, goroutines := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("rtt=%v/goroutines=%d", distance, goroutines), func(b *testing.B) {
				measure(b, goroutines, ours(b, nodes))
			})
		}
	}
}

func ours(b *testing.B, nodes []*redis.Options) func(name string) error {
	client, err := redlock.New(nodes, &redlock.Options{NodeTimeout: time.Second}) // two cores cannot answer 1,024 in 50 ms
	require.NoError(b, err)
	b.Cleanup(func() { assert.NoError(b, client.Shutdown(context.Background())) }) // the next run finds no key of this one
	require.NoError(b, client.Connect(context.Background()))
	return func(name string) error { return pair(client, name) }
}

func pair(client *redlock.Client, name string) error {
	lock, err := client.TryAcquire(context.Background(), name, 30*time.Second)
	if err != nil {
		return err
	}
	return lock.Release(context.Background())
}

// measure runs b.N pairs on so many goroutines and reports pairs/s, p50 and p99.
func measure(b *testing.B, goroutines int, pair func(name string) error) {
	for i := range 5 * min(goroutines, 64) { // connections, scripts, suspicion
		require.NoError(b, pair(fmt.Sprint("warm-", i)))
	}
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	times := make([][]time.Duration, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			name := fmt.Sprint("pair-", g)
			for next.Add(1) <= int64(b.N) {
				start := time.Now()
				if err := pair(name); err != nil {
					b.Error(err)
					next.Store(int64(b.N)) // nobody begins another
				}
				times[g] = append(times[g], time.Since(start))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	sorted := slices.Sorted(slices.Values(slices.Concat(times...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
	b.ReportMetric(float64(sorted[len(sorted)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(sorted[len(sorted)*99/100].Microseconds()), "p99-us")
}
