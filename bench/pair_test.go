package bench_test

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
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
	ours := func(b *testing.B) func(name string) {
		client, err := redlock.New(nodes, &redlock.Options{NodeTimeout: time.Second}) // two cores cannot answer 1,024 in 50 ms
		require.NoError(b, err)
		b.Cleanup(func() { client.Close() })
		require.NoError(b, client.Connect(context.Background()))
		return func(name string) { pair(b, client, name) }
	}
	raw := func(b *testing.B) func(name string) {
		fleet := newRawFleet(b, addrs)
		sum := sha1.Sum([]byte(rawRelease))
		sha := hex.EncodeToString(sum[:])
		return func(name string) {
			var token [20]byte
			rand.Read(token[:])
			value := hex.EncodeToString(token[:])
			fleet.call(command("SET", name, value, "NX", "PX", "30000"))
			fleet.call(command("EVALSHA", sha, "1", name, value))
		}
	}
	for _, goroutines := range []int{1, 16, 128, 1024} {
		b.Run(fmt.Sprintf("goroutines=%d/raw", goroutines), func(b *testing.B) { measure(b, goroutines, raw(b)) })
		b.Run(fmt.Sprintf("goroutines=%d/redlock", goroutines), func(b *testing.B) { measure(b, goroutines, ours(b)) })
	}
	require.NoError(b, servers[4].Pause())
	for _, goroutines := range []int{1, 16, 128, 1024} {
		b.Run(fmt.Sprintf("goroutines=%d/redlock-one-hung", goroutines), func(b *testing.B) { measure(b, goroutines, ours(b)) })
	}
	require.NoError(b, servers[4].Resume())
}

func pair(b *testing.B, client *redlock.Client, name string) {
	lock, err := client.TryAcquire(context.Background(), name, 30*time.Second)
	if err == nil {
		err = lock.Release(context.Background())
	}
	if err != nil {
		b.Fatal(err)
	}
}

// measure runs b.N pairs on so many goroutines and reports pairs/s, p50 and p99.
func measure(b *testing.B, goroutines int, pair func(name string)) {
	for i := range 5 * goroutines { // connections, scripts, suspicion
		if i%goroutines < 64 {
			pair(fmt.Sprint("warm-", i))
		}
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
				pair(name)
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
