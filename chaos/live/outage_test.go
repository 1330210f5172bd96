package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

// nodeTimeout is short for a test and long for a busy machine.
const nodeTimeout = 500 * time.Millisecond

// quick are options for tests about time.
func quick() *redlock.Options {
	return &redlock.Options{NodeTimeout: nodeTimeout, ConnectTimeout: 500 * time.Millisecond}
}

func TestThreeOfFiveGoneIsNoQuorumAtOnceAndSaysWhichThree(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 5)
		client := connected(t, masters, quick())
		try := func(client *redlock.Client, limit time.Duration) error {
			t.Helper()
			var err error
			within(t, limit, "TryAcquire", func() {
				var lock *redlock.Lock
				lock, err = client.TryAcquire(context.Background(), "job", time.Minute)
				require.Nil(t, lock)
			})
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.NotErrorIs(t, err, redlock.ErrHeld)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			for _, m := range masters[:3] {
				n := result(t, err, m)
				assert.Error(t, n.Err, "%v", err)
				assert.Contains(t, err.Error(), m.String())
			}
			return err
		}
		for _, m := range masters[:3] {
			m.Hang()
		}
		err := try(client, nodeTimeout)
		for _, m := range masters[:3] {
			assert.ErrorIs(t, result(t, err, m).Err, redlock.ErrNodeTimeout)
		}
		for range 3 {
			_ = try(client, nodeTimeout)
		}
		fresh := newClient(t, options(masters), quick())
		_ = try(fresh, 500*time.Millisecond+nodeTimeout)
		_ = try(fresh, nodeTimeout)

		for _, m := range masters[:3] {
			m.Down() // killed
		}
		for range 3 {
			_ = try(client, nodeTimeout)
		}
		_ = try(newClient(t, options(masters), quick()), nodeTimeout)

		for _, m := range masters[:3] {
			m.Up()
		}
		for _, c := range []*redlock.Client{client, fresh} {
			eventually(t, bound, "a quorum is back", func() bool {
				lock, err := c.TryAcquire(context.Background(), "job", time.Minute)
				return err == nil && lock.Release(context.Background()) == nil
			})
		}
		eventuallyClean(t, masters, bound)
	})
}

// timings are how long calls took.
type timings struct{ acquire, extend, release []time.Duration }

func (ts *timings) round(t *testing.T, client *redlock.Client) {
	t.Helper()
	start := time.Now()
	lock := acquire(t, client, "job", time.Minute)
	acquired := time.Now()
	require.NoError(t, lock.Extend(context.Background(), time.Minute))
	extended := time.Now()
	require.NoError(t, lock.Release(context.Background()))
	ts.acquire = append(ts.acquire, acquired.Sub(start))
	ts.extend = append(ts.extend, extended.Sub(acquired))
	ts.release = append(ts.release, time.Since(extended))
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func TestOneHungNodeCostsNothingAfterItsFirstTimeOut(t *testing.T) {
	onEachLayer(t, func(t *testing.T, l layer) {
		masters := l.start(t, 5)
		client := connected(t, masters, quick())
		const rounds = 50
		var healthy, hung timings
		for range rounds {
			healthy.round(t, client)
		}
		masters[4].Hang()
		defer masters[4].Resume()
		lock := acquire(t, client, "first", time.Minute) // decided without it
		within(t, nodeTimeout, "release", func() { require.NoError(t, lock.Release(context.Background())) })
		time.Sleep(nodeTimeout + 10*time.Millisecond) // its time is out
		for range rounds {
			hung.round(t, client)
		}
		for _, c := range []struct {
			what          string
			healthy, hung []time.Duration
		}{
			{"acquire", healthy.acquire, hung.acquire},
			{"extend", healthy.extend, hung.extend},
			{"release", healthy.release, hung.release},
		} {
			before, after := median(c.healthy), median(c.hung)
			assert.LessOrEqual(t, after, 2*before+2*time.Millisecond, "%s took %v, with a hung node %v", c.what, before, after)
			assert.LessOrEqual(t, slices.Max(c.hung), nodeTimeout+slack, c.what)
		}
	})
}

// Waiters for one name go through the lock one after another. What they get while
// a node hangs is measured beside what they get before and after, in so many
// rounds as it takes: other programs on the machine disturb single ones.
func TestManyWaitersLoseLittleToAHungNode(t *testing.T) {
	process.Need(t)
	masters := startServers(t, 5, process.Config{})
	opts := quick()
	opts.RetryMax = 50 * time.Millisecond
	client := connected(t, masters, opts)
	const window, enough = 250 * time.Millisecond, 0.8
	var healthy, hung float64
	for round := 0; round < 3 || round < 12 && hung < enough*healthy; round++ {
		before := throughput(t, client, window)
		masters[4].Hang()
		for range 2 { // it times out now
			lock := acquire(t, client, "first", time.Minute)
			require.NoError(t, lock.Release(context.Background()))
		}
		time.Sleep(nodeTimeout)
		during := throughput(t, client, window)
		masters[4].Resume()
		warm(t, client, "", masters...)
		after := throughput(t, client, window)
		t.Logf("%d grants, with one hung %d, then %d", before, during, after)
		healthy += float64(before+after) / 2
		hung += float64(during)
	}
	assert.GreaterOrEqual(t, hung, enough*healthy, "grants with a hung node, of those without")
}

// throughput returns how many grants 32 waiters for one name get.
func throughput(t *testing.T, client *redlock.Client, window time.Duration) int64 {
	t.Helper()
	var grants atomic.Int64
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), window)
	defer cancel()
	for range 32 {
		wg.Go(func() {
			for ctx.Err() == nil {
				lock, err := client.Acquire(ctx, "hot", time.Minute)
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("Acquire: %v", err)
					}
					return
				}
				grants.Add(1)
				time.Sleep(rand.N(2 * time.Millisecond))
				if err := lock.Release(context.Background()); err != nil {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	wg.Wait()
	return grants.Load()
}

func TestB22ReleaseDoesNotWaitForAHungNode(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 3)
		client, other := connected(t, masters, quick()), connected(t, masters, quick())
		lock := acquire(t, client, "job", time.Minute)
		eventually(t, bound, "the third node holds the key too", func() bool { return get(masters[2], "job") != "" })
		masters[2].Hang()
		within(t, nodeTimeout, "release", func() { require.NoError(t, lock.Release(context.Background())) })
		next := acquire(t, other, "job", time.Minute)
		for _, m := range masters[:2] {
			require.Equal(t, next.Token(), get(m, "job")[:40])
		}
		require.NoError(t, next.Release(context.Background()))
		masters[2].Resume()
		eventuallyClean(t, masters, bound)
	})
}

// The caller's go-redis options are plain: nothing in them bounds a command in
// less than 5 s.
func TestB43ContextAndNodeTimeoutBoundACommandWhateverTheOptions(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 5)
		plain := options(masters)
		for _, o := range plain {
			o.ContextTimeoutEnabled = false
			o.ReadTimeout, o.WriteTimeout, o.DialTimeout = 5*time.Second, 5*time.Second, 5*time.Second
			o.MaxRetries = 3
		}
		client := newClient(t, plain, &redlock.Options{NodeTimeout: nodeTimeout})
		warm(t, client, "", masters...)

		masters[0].Hang()
		var lock *redlock.Lock
		within(t, nodeTimeout, "acquire with one of five hung", func() { lock = acquire(t, client, "one", time.Minute) })
		within(t, nodeTimeout, "extend", func() { require.NoError(t, lock.Extend(context.Background(), time.Minute)) })
		within(t, nodeTimeout, "release", func() { require.NoError(t, lock.Release(context.Background())) })

		for _, m := range masters[1:] {
			m.Hang()
		}
		within(t, nodeTimeout, "acquire with all hung", func() {
			_, err := client.TryAcquire(context.Background(), "job", time.Minute)
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
		})
		within(t, 3*nodeTimeout/2, "acquire with a deadline", func() {
			ctx, cancel := context.WithTimeout(context.Background(), 3*nodeTimeout/2)
			defer cancel()
			_, err := client.Acquire(ctx, "job", time.Minute)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		why := errors.New("the user has left")
		within(t, 30*time.Millisecond, "acquire that is cancelled", func() {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(30*time.Millisecond, func() { cancel(why) })
			_, err := client.TryAcquire(ctx, "job", time.Minute)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, why)
			require.NotErrorIs(t, err, redlock.ErrNoQuorum)
		})
		for _, m := range masters {
			m.Resume()
		}
		eventuallyClean(t, masters, bound)
	})
}

func TestB46OneBadNodeIsNoObstacle(t *testing.T) {
	bad := map[string]func(m master, o *redis.Options){
		"refused": func(m master, _ *redis.Options) { m.Down() },
		"unresolvable": func(_ master, o *redis.Options) {
			o.Dialer = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: o.Addr, IsNotFound: true}}
			}
		},
		"ends in the middle of a reply": func(_ master, o *redis.Options) {
			c := &cable{}
			c.hangUp(1000)
			c.through(o)
		},
		"slow to connect": func(_ master, o *redis.Options) {
			o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
	}
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		for _, n := range []int{3, 5} {
			for how, spoil := range bad {
				masters := l.start(t, n)
				for i, m := range masters {
					opts := options(masters)
					spoil(m, opts[i])
					client := newClient(t, opts, quick())
					what := fmt.Sprintf("%s: node %d of %d", how, i+1, n)
					within(t, 500*time.Millisecond+nodeTimeout, what, func() {
						lock, err := client.TryAcquire(context.Background(), "job", time.Minute)
						require.NoError(t, err, what)
						require.NoError(t, lock.Extend(context.Background(), time.Minute), what)
						require.NoError(t, lock.Release(context.Background()), what)
					})
					within(t, nodeTimeout, what, func() {
						lock, err := client.TryAcquire(context.Background(), "again", time.Minute)
						require.NoError(t, err, what)
						require.NoError(t, lock.Release(context.Background()), what)
					})
					if how == "refused" {
						m.Up()
					}
				}
				eventuallyClean(t, masters, bound)
			}
		}
	})
}

func TestB47OneHungAndOneRefusedNodeSlowNobodyDown(t *testing.T) {
	process.Need(t)
	masters := startServers(t, 5, process.Config{})
	client := connected(t, masters, quick())
	masters[2].Hang()
	defer masters[2].Resume()
	masters[3].Down()
	goroutines := runtime.NumGoroutine()

	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 2 {
				start := time.Now()
				lock, err := client.TryAcquire(context.Background(), fmt.Sprint("job ", i, j), time.Minute)
				if !assert.NoError(t, err) {
					return
				}
				assert.NoError(t, lock.Extend(context.Background(), time.Minute))
				assert.NoError(t, lock.Release(context.Background()))
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	assert.LessOrEqual(t, took[len(took)*99/100-1], 2*nodeTimeout+slack)
	goroutinesBack(t, goroutines+3, nodeTimeout+time.Second) // attempts to connect
}

func TestB48WithoutNodesThereIsNoQuorumAndAnEnd(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 3)
		opts := quick()
		client := connected(t, masters, opts)
		limited := *opts
		limited.Attempts, limited.RetryMax = 3, 20*time.Millisecond
		few := connected(t, masters, &limited)
		fresh := newClient(t, options(masters), opts)
		check := func(how string) {
			t.Helper()
			var wg sync.WaitGroup
			for who, c := range map[string]*redlock.Client{"connected": client, "fresh": fresh} {
				const limit = 500*time.Millisecond + 2*nodeTimeout
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), limit)
					defer cancel()
					var err error
					within(t, limit, how, func() { _, err = c.Acquire(ctx, "job", time.Minute) })
					assert.ErrorIs(t, err, context.DeadlineExceeded, "%s, %s", how, who)
					assert.NotErrorIs(t, err, redlock.ErrHeld, "%s, %s", how, who)
					assert.ErrorIs(t, err, redlock.ErrNoQuorum, "%s, %s", how, who)
					var e *redlock.QuorumError
					if !assert.ErrorAs(t, err, &e) {
						return
					}
					failed := 0
					for _, n := range e.Nodes {
						if n.Err != nil {
							failed++
						}
					}
					assert.GreaterOrEqual(t, failed, 2, "so many rule out a quorum: %s, %s: %v", how, who, err)
				})
			}
			wg.Wait()
			within(t, 3*(nodeTimeout+limited.RetryMax), how, func() {
				_, err := few.Acquire(context.Background(), "job", time.Minute)
				require.ErrorIs(t, err, redlock.ErrNoQuorum, how)
				require.NotErrorIs(t, err, redlock.ErrHeld, how)
				assert.Equal(t, 3, strings.Count(err.Error(), "\n"), "a line for each node: %v", err)
			})
		}
		for _, m := range masters {
			m.Hang()
		}
		check("hung")
		masters[0].Down()
		masters[1].Down()
		check("two refused, one hung")
		masters[2].Down()
		check("refused")
	})
}
