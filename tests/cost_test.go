package tests

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
)

// yes is a node that agrees to everything and keeps nothing.
type yes struct{ name string }

func (n yes) String() string              { return n.name }
func (yes) Connect(context.Context) error { return nil }
func (yes) Close() error                  { return nil }
func (yes) Send(r *redlock.Request) {
	if r.Begin() {
		r.Answer(redlock.Answer{Vote: redlock.VoteYes})
	}
}

func yesClient(tb testing.TB, n int) *redlock.Client {
	var nodes []redlock.Node
	for i := range n {
		nodes = append(nodes, yes{fmt.Sprint("yes-", i)})
	}
	client, err := redlock.NewFrom(nodes, nil)
	require.NoError(tb, err)
	tb.Cleanup(func() { client.Close() })
	require.NoError(tb, client.Connect(ctx))
	return client
}

func TestHeldLockCostsAtMostOneKiBAndNoGoroutine(t *testing.T) {
	const locks = 10_000
	for _, keptAlive := range []bool{false, true} {
		t.Run(fmt.Sprint("kept alive ", keptAlive), func(t *testing.T) {
			client := yesClient(t, 5)
			goroutines, heap := runtime.NumGoroutine(), heapInUse()
			held := make([]*redlock.Lock, locks)
			for i := range held {
				lock, err := client.TryAcquire(ctx, fmt.Sprintf("settle:%06d", i), time.Hour)
				require.NoError(t, err)
				if keptAlive {
					require.NoError(t, lock.KeepAlive(redlock.KeepAlive{}))
				}
				held[i] = lock
			}
			each := (heapInUse() - heap) / locks
			t.Logf("%d bytes a lock", each)
			require.LessOrEqual(t, each, int64(1024))
			require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+1)
			runtime.KeepAlive(held)
		})
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The library's own allocations; those of go-redis come on top.
func TestPairOnFiveNodesAllocatesLittle(t *testing.T) {
	client := yesClient(t, 5)
	each := testing.AllocsPerRun(1000, func() {
		lock, err := client.TryAcquire(ctx, "pair", time.Minute)
		require.NoError(t, err)
		require.NoError(t, lock.Release(ctx))
	})
	t.Logf("%v allocations", each)
	require.LessOrEqual(t, each, 40.0)
}

// The library's own cost of a pair: nodes that answer at once.
func BenchmarkPairWithoutNodes(b *testing.B) {
	client := yesClient(b, 5)
	b.ReportAllocs()
	for b.Loop() {
		lock, err := client.TryAcquire(ctx, "pair", time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		if err := lock.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
