package live_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

// heapInUse returns the memory that the heap takes.
func heapInUse() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// heapPeak observes the heap until stop is called, which returns the most.
func heapPeak() (stop func() uint64) {
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			most = max(most, heapInUse())
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-peak
	}
}

// settledHeap returns what the heap keeps.
func settledHeap() uint64 {
	for range 3 { // what finalizers and pools keep goes with the second
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

const (
	mebibyte = 1 << 20
	heapMost = 600 * mebibyte
	heapKept = 16 * mebibyte
)

// 50,000 goroutines are far more than two cores and five servers can serve within
// a NodeTimeout. They wait their turn, or are told that their time was over.
func TestFiftyThousandAtOnceAreServedOrToldAndTheClientRecovers(t *testing.T) {
	process.Need(t)
	size := 50_000
	if testing.Short() {
		size /= 10
	}
	different := func(i int) string { return fmt.Sprint("job ", i) }
	same := func(int) string { return "job" }
	for _, c := range []crowd{
		{"different names in a hurry", size, different, (*redlock.Client).TryAcquire, 50 * time.Millisecond, 300 * time.Millisecond},
		{"different names with time", size, different, (*redlock.Client).TryAcquire, 10 * time.Second, time.Second},
		{"one name", size, same, (*redlock.Client).Acquire, 50 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(c.what, func(t *testing.T) { c.press(t) })
	}
}

// A crowd is callers who come at once.
type crowd struct {
	what     string
	size     int
	name     func(i int) string
	acquire  func(*redlock.Client, context.Context, string, time.Duration) (*redlock.Lock, error)
	timeout  time.Duration // of a node
	patience time.Duration // until all are cancelled
}

// told counts what callers were told.
type told struct{ locks, held, noQuorum, ended atomic.Int64 }

func (c *crowd) press(t *testing.T) {
	masters := startServers(t, 5, process.Config{})
	client := connected(t, masters, &redlock.Options{NodeTimeout: c.timeout})
	goroutines := runtime.NumGoroutine()
	c.assemble()
	heap := settledHeap()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var told told
	var wg sync.WaitGroup
	barrier := make(chan struct{})
	peak := heapPeak()
	for i := range c.size {
		wg.Go(func() {
			<-barrier
			lock, err := c.acquire(client, ctx, c.name(i), time.Minute)
			c.hears(t, &told, lock, err)
		})
	}
	start := time.Now()
	defer time.AfterFunc(c.patience, cancel).Stop()
	close(barrier)
	wg.Wait()
	took, most := time.Since(start), peak()
	t.Logf("%d locks, %d held, %d without a quorum, %d cancelled; all told after %v; heap %d MiB at most",
		told.locks.Load(), told.held.Load(), told.noQuorum.Load(), told.ended.Load(), took.Round(time.Millisecond), most/mebibyte)
	assert.Less(t, most, uint64(heapMost))
	// Most of this is the time that the machine takes to wake them all.
	assert.Less(t, took, c.patience+time.Minute)

	eventually(t, 2*time.Second, "a pair afterwards", func() bool {
		lock, err := client.TryAcquire(context.Background(), "afterwards", time.Minute)
		return err == nil && lock.Release(context.Background()) == nil
	})
	eventuallyClean(t, masters, 3*time.Second)
	goroutinesBack(t, goroutines, 2*time.Second)
	eventually(t, 3*time.Second, "the heap keeps nothing of them", func() bool { return settledHeap() < heap+heapKept })
	require.NoError(t, client.Close())
}

// assemble runs as many goroutines at once: the runtime keeps what it needs for
// them, and that is not the lock's.
func (c *crowd) assemble() {
	var all sync.WaitGroup
	barrier := make(chan struct{})
	for range c.size {
		all.Go(func() { <-barrier })
	}
	close(barrier)
	all.Wait()
}

// hears checks what a caller is told, and gives back what he gets.
func (c *crowd) hears(t *testing.T, told *told, lock *redlock.Lock, err error) {
	assert.Equal(t, err == nil, lock != nil, "a lock or an error")
	switch {
	case lock != nil:
		told.locks.Add(1)
		if err := lock.Release(context.Background()); err != nil {
			assert.ErrorIs(t, err, redlock.ErrNoQuorum)
		}
	case errors.Is(err, context.Canceled):
		told.ended.Add(1)
	case errors.Is(err, redlock.ErrHeld):
		told.held.Add(1)
		assert.Equal(t, c.name(0), c.name(1), "nobody else has it: %v", err)
	default:
		told.noQuorum.Add(1)
		assert.ErrorIs(t, err, redlock.ErrNoQuorum)
	}
}

// The limit of a node's queue refuses new work, and never what cleans up.
func TestFullQueueRefusesToAcquireButNeverToRelease(t *testing.T) {
	process.Need(t)
	masters := startServers(t, 3, process.Config{})
	nodes := make([]redlock.Node, len(masters))
	for i, o := range options(masters) {
		var err error
		nodes[i], err = redlock.RedisNode(o, 0)
		require.NoError(t, err)
	}
	client, err := redlock.NewFrom(nodes, &redlock.Options{NodeTimeout: 200 * time.Millisecond})
	require.NoError(t, err)
	defer client.Close()
	warm(t, client, "", masters...)
	lock := acquire(t, client, "held", time.Minute)
	for _, m := range masters {
		eventually(t, bound, "every node has it", func() bool { return get(m, "held") != "" })
	}
	for _, m := range masters {
		m.Hang()
	}
	// One command is under way, so that the others wait.
	const limit, more = 65_536, 1000
	var answers, busy atomic.Int64
	command := &redlock.Command{Op: redlock.OpAcquire, Key: "filling", Value: stranger, TTL: time.Second}
	const timeout = 8 * time.Second // longer than filling three queues takes on a busy machine
	count := func(a redlock.Answer) {
		answers.Add(1)
		if errors.Is(a.Err, redlock.ErrNodeBusy) {
			busy.Add(1)
			assert.Equal(t, redlock.VoteNotSent, a.Vote)
		}
	}
	for _, n := range nodes {
		first := redlock.NewRequest(command, timeout, count)
		n.Send(first)
		time.Sleep(10 * time.Millisecond)
		for range limit + more {
			n.Send(redlock.NewRequest(command, timeout, count))
		}
	}
	require.InDelta(t, 3*more, busy.Load(), 3*100, "refused at once")

	_, err = client.TryAcquire(context.Background(), "another", time.Minute)
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	told := 0
	for _, n := range quorumError(t, err).Nodes {
		if errors.Is(n.Err, redlock.ErrNodeBusy) {
			told++
		}
	}
	require.GreaterOrEqual(t, told, 2, "so many decide: %v", err)
	err = lock.Release(context.Background())
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	for _, m := range masters {
		require.NotErrorIs(t, result(t, err, m).Err, redlock.ErrNodeBusy, "a release is taken, whatever waits")
	}
	for _, m := range masters {
		m.Resume()
	}
	eventually(t, bound, "each has one answer", func() bool { return answers.Load() == 3*(1+limit+more) })
	for _, m := range masters {
		untilCounted(t, client, m)
	}
	eventuallyClean(t, masters, bound)
	require.Equal(t, int64(3*(1+limit+more)), answers.Load())
}
