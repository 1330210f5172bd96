package live_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
)

// A reply is lost, or the connection ends in its place, after the server has
// carried out the SET. go-redis by itself would send it again, and report our own
// key as somebody else's.
func TestB10LostReplyIsNeverHeldByAnother(t *testing.T) {
	lose := map[string]func(c *cable){
		"swallowed":  func(c *cable) { c.swallow(1) },
		"broken off": func(c *cable) { c.hangUp(1) },
	}
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		for what, lose := range lose {
			for _, c := range []struct{ nodes, lost int }{{1, 1}, {3, 1}, {3, 2}} {
				masters := l.start(t, c.nodes)
				cables, dialed := cables(masters)
				for _, o := range dialed {
					o.MaxRetries = 3
				}
				client := newClient(t, dialed, quick())
				warm(t, client, "", masters...)
				for _, cable := range cables[:c.lost] {
					lose(cable)
				}
				within(t, nodeTimeout, what, func() {
					lock, err := client.TryAcquire(context.Background(), "job", time.Minute)
					if err != nil {
						require.Nil(t, lock)
						require.NotErrorIs(t, err, redlock.ErrHeld, "nobody else ever had it: %s, %+v", what, c)
						require.ErrorIs(t, err, redlock.ErrNoQuorum)
						return
					}
					require.NoError(t, lock.Err())
					require.NoError(t, lock.Release(context.Background()))
				})
				eventuallyClean(t, masters, nodeTimeout+time.Second)
			}
		}
	})
}

func TestB11AcquireWithoutAnAnswerIsUndone(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 3)
		cables, dialed := cables(masters)
		client := newClient(t, dialed, quick())
		warm(t, client, "", masters...)
		for _, c := range cables[:2] {
			c.swallow(1)
		}
		ctx, cancel := context.WithCancel(context.Background())
		within(t, nodeTimeout, "TryAcquire", func() {
			lock, err := client.TryAcquire(ctx, "job", time.Minute)
			require.Nil(t, lock)
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
		})
		cancel() // the undo is not the caller's
		eventuallyClean(t, masters, 2*nodeTimeout+slack)
		lock := acquire(t, connected(t, masters, quick()), "job", time.Minute)
		require.NoError(t, lock.Release(context.Background()))
	})
}

func TestB16LateReleaseLeavesTheNextHolderAlone(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 3)
		a, b := connected(t, masters, patient()), connected(t, masters, patient())
		late := acquire(t, a, "job", time.Second)
		next, err := b.Acquire(context.Background(), "job", time.Minute)
		require.NoError(t, err)
		before := holders(masters, next) // where the old key had just not expired, there is none
		require.GreaterOrEqual(t, before, 2)
		require.ErrorIs(t, late.Err(), redlock.ErrLost)
		require.ErrorIs(t, late.Release(context.Background()), redlock.ErrLost)
		require.NoError(t, next.Err())
		require.GreaterOrEqual(t, holders(masters, next), before)
		_, err = a.TryAcquire(context.Background(), "job", time.Minute)
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.NoError(t, next.Release(context.Background()))
		eventuallyClean(t, masters, bound)
	})
}

func TestB17ReleaseAfterTheEndIsOneRoundAndSaysLost(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 3)
		client := connected(t, masters, patient())
		for _, ttl := range []time.Duration{200 * time.Millisecond, 500 * time.Millisecond} {
			lock, err := client.Acquire(context.Background(), "job", ttl)
			require.NoError(t, err)
			<-lock.Done()
			eventually(t, bound, "it has ended", func() bool { return lock.Remaining() == 0 })
			eventuallyClean(t, masters, bound)
			within(t, nodeTimeout, "release", func() {
				err := lock.Release(context.Background())
				require.ErrorIs(t, err, redlock.ErrLost)
				require.NotErrorIs(t, err, redlock.ErrHeld)
				require.NotErrorIs(t, err, redlock.ErrNoQuorum)
			})
		}
	})
}

func TestB18ReleaseUnderAnEndedContextDeletesTheKeys(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 3)
		client := connected(t, masters, patient())
		ended, end := context.WithCancel(context.Background())
		defer end()
		expired, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		defer cancel()
		for _, ctx := range []context.Context{ended, expired} {
			lock := acquire(t, client, "job", time.Minute)
			end()
			within(t, nodeTimeout, "release", func() { require.NoError(t, lock.Release(ctx)) })
			eventuallyClean(t, masters, nodeTimeout)
		}
	})
}

func TestB24ExtendAndReleaseOfAnExpiredLockSayLost(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		for _, resp := range []int{2, 3} {
			masters := l.start(t, 3)
			opts := options(masters)
			for _, o := range opts {
				o.Protocol = resp
			}
			client := newClient(t, opts, patient())
			warm(t, client, "", masters...)

			// By the clock.
			lock, err := client.Acquire(context.Background(), "job", 200*time.Millisecond)
			require.NoError(t, err)
			eventually(t, bound, "it has ended", func() bool { return lock.Remaining() == 0 })
			require.ErrorIs(t, lock.Extend(context.Background(), time.Minute), redlock.ErrLost)
			require.ErrorIs(t, lock.Release(context.Background()), redlock.ErrLost)
			eventuallyClean(t, masters, bound)

			// By the nodes: they have no such key, while the handle does not know.
			for _, change := range []func(m master){forget, func(m master) { set(m, "job", stranger, time.Minute) }} {
				for _, call := range []func(l *redlock.Lock) error{
					func(l *redlock.Lock) error { return l.Extend(context.Background(), time.Minute) },
					func(l *redlock.Lock) error { return l.Release(context.Background()) },
				} {
					lock := acquire(t, client, "job", time.Minute)
					eventually(t, bound, "all nodes hold it", func() bool { return holders(masters, lock) == 3 })
					for _, m := range masters {
						change(m)
					}
					require.ErrorIs(t, call(lock), redlock.ErrLost, "RESP%d", resp)
					require.Error(t, lock.Err())
					for _, m := range masters {
						require.Contains(t, []string{"", stranger}, get(m, "job"))
						forget(m)
					}
				}
			}
		}
	})
}

// The application's connections are all taken, and nobody waits for them: the
// lock has its own.
func TestB57TheCallersPoolDoesNotMatter(t *testing.T) {
	t.Parallel()
	for _, l := range layers[1:] { // blocking commands are not served inside the process
		t.Run(l.name, func(t *testing.T) {
			masters := l.start(t, 3)
			opts := make([]*redis.Options, len(masters))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for i, m := range masters {
				o := m.Options()
				o.PoolSize, o.MaxActiveConns, o.MinIdleConns = 1, 1, 1
				o.PoolTimeout = 10 * time.Second
				app := redis.NewClient(o)
				defer app.Close()
				go app.BLPop(ctx, 0, "never")
				eventually(t, bound, "the only connection is taken", func() bool {
					return app.PoolStats().TotalConns == 1 && app.PoolStats().IdleConns == 0
				})
				opts[i] = app.Options()
			}
			client := newClient(t, opts, quick())
			var late atomic.Int64
			for range 20 {
				took := within(t, 2*nodeTimeout, "acquire and release", func() {
					lock := acquire(t, client, "job", time.Minute)
					require.NoError(t, lock.Release(context.Background()))
				})
				if took > nodeTimeout {
					late.Add(1)
				}
			}
			assert.Less(t, late.Load(), int64(10))
		})
	}
}
