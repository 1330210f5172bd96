package live_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"runtime"
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

// clientName is what servers call the connections of the clients under test.
const clientName = "under-test"

func named(masters []master) []*redis.Options {
	opts := options(masters)
	for _, o := range opts {
		o.ClientName = clientName
	}
	return opts
}

// connections returns the ids of the connections of clients under test that m
// has.
func connections(m master) (ids []string) {
	list, _ := m.Do("CLIENT", "LIST").(string)
	for line := range strings.Lines(list) {
		if strings.Contains(line, " name="+clientName+" ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			ids = append(ids, id)
		}
	}
	return ids
}

// disconnect ends all connections that m has, records too, but for the one that
// says so.
func disconnect(m master) { m.Do("CLIENT", "KILL", "TYPE", "normal") }

// flawless makes a failed attempt, a second try, a silent node and an orphan
// failures of the test.
func flawless(t *testing.T) *redlock.Trace {
	return &redlock.Trace{
		Attempt: func(_ context.Context, name string, try int, _ time.Duration, err error) {
			assert.NoError(t, err, name)
			assert.Equal(t, 1, try, name)
		},
		Extended: func(_ context.Context, name string, _ time.Duration, err error) { assert.NoError(t, err, name) },
		Released: func(_ context.Context, name string, err error) { assert.NoError(t, err, name) },
		Suspect:  func(node string, suspect bool) { assert.False(t, suspect, node) },
		Healed:   func(node, name string) { assert.Fail(t, "a SET got lost", "%s on %s", name, node) },
		Orphan: func(node, key string, state redlock.OrphanState) {
			assert.Fail(t, "a command got no answer", "%s on %s: %v", key, node, state)
		},
	}
}

// everyStep acquires, extends and releases a lock, after a disturbance before
// each, and checks that each reached every node.
func everyStep(t *testing.T, client *redlock.Client, masters []master, disturb func()) {
	t.Helper()
	name := rand.Text()
	all := func(what string, is func(m master) bool) {
		t.Helper()
		for _, m := range masters {
			eventually(t, bound, what+" on every node", func() bool { return is(m) })
		}
	}
	disturb()
	lock := acquire(t, client, name, time.Minute)
	all("the key", func(m master) bool { return strings.HasPrefix(get(m, name), lock.Token()) })
	disturb()
	require.NoError(t, lock.Extend(context.Background(), time.Hour))
	all("the extension", func(m master) bool { return pttl(m, name) > time.Minute })
	disturb()
	require.NoError(t, lock.Release(context.Background()))
	all("the release", func(m master) bool { return get(m, name) == "" })
}

func TestConnectionsThatServersCloseWhenIdleAreReplacedUnnoticed(t *testing.T) {
	t.Parallel()
	process.Need(t)
	for what, c := range map[string]struct {
		rounds  int
		disturb func(masters []master)
	}{
		"killed": {50, func(masters []master) {
			for _, m := range masters {
				disconnect(m)
			}
		}},
		"timed out": {1, func(masters []master) {
			for _, m := range masters {
				m.Do("CONFIG", "SET", "timeout", 1)
			}
			for _, m := range masters {
				eventually(t, bound, "the connection is closed", func() bool { return len(connections(m)) == 0 })
				m.Do("CONFIG", "SET", "timeout", 0)
			}
		}},
		"restarted": {5, func(masters []master) {
			for _, m := range masters {
				m.Down()
				m.Up()
			}
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			masters := startServers(t, 5, process.Config{AppendOnly: what == "restarted"})
			opts := patient()
			opts.Trace = flawless(t)
			client := newClient(t, named(masters), opts)
			everyStep(t, client, masters, func() {})
			for range c.rounds {
				everyStep(t, client, masters, func() { c.disturb(masters) })
			}
			for _, m := range masters {
				require.Len(t, connections(m), 1)
			}
			require.NoError(t, client.Close())
		})
	}
}

// A server that has no room accepts a connection, says so, and closes it.
func TestServerWithoutRoomForConnectionsIsOneFailedVoteUntilItHasSome(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 5, process.Config{})
	client := newClient(t, named(masters), quick())
	for _, m := range masters {
		untilCounted(t, client, m)
	}
	fill := func(m master) (empty func()) {
		t.Helper()
		m.Do("CONFIG", "SET", "maxclients", 5)
		disconnect(m)
		var conns []net.Conn
		for refused := 0; refused < 3; { // the connections of Do end when they end
			c, err := net.Dial("tcp", m.String())
			require.NoError(t, err)
			conns = append(conns, c)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
			if n, _ := c.Read(make([]byte, 100)); n > 0 { // it is told so
				refused++
				time.Sleep(20 * time.Millisecond)
			}
		}
		return func() {
			for _, c := range conns {
				c.Close()
			}
		}
	}
	var empty []func()
	for _, m := range masters[:2] {
		empty = append(empty, fill(m))
		for range 20 {
			name := rand.Text()
			within(t, atOnce, "a pair beside a full server", func() {
				lock := acquire(t, client, name, time.Minute)
				require.NoError(t, lock.Extend(context.Background(), time.Minute))
				require.NoError(t, lock.Release(context.Background()))
			})
		}
	}
	empty = append(empty, fill(masters[2]))
	for range 3 {
		within(t, nodeTimeout, "an attempt with three of five full", func() {
			_, err := client.TryAcquire(context.Background(), "job", time.Minute)
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			for _, m := range masters[:3] {
				require.Error(t, result(t, err, m).Err)
			}
		})
	}
	for _, e := range empty {
		e()
	}
	freed := time.Now()
	eventually(t, bound, "a quorum", func() bool {
		lock, err := client.TryAcquire(context.Background(), "job", time.Minute)
		return err == nil && lock.Release(context.Background()) == nil
	})
	for _, m := range masters {
		untilCounted(t, client, m)
	}
	assert.LessOrEqual(t, time.Since(freed), 1500*time.Millisecond+machine.since(freed))
	eventuallyClean(t, masters, bound)
}

// Servers end connections at any moment, those with commands under way too. What
// comes of such a command may be unknown, but nobody is told anything wrong.
func TestKilledConnectionsUnderLoadCauseNoWrongAnswer(t *testing.T) {
	process.Need(t)
	masters := startServers(t, 5, process.Config{})
	goroutines := runtime.NumGoroutine()
	opts := &redlock.Options{NodeTimeout: 200 * time.Millisecond}
	client := newClient(t, named(masters), opts)
	run := time.Second
	if testing.Short() {
		run /= 4
	}
	ctx, cancel := context.WithTimeout(context.Background(), run)
	defer cancel()
	var pairs, unknown, kills atomic.Int64
	var wg sync.WaitGroup
	// honest checks an answer: nil or that nodes did not answer.
	honest := func(what string, err error) {
		switch {
		case err == nil:
		case errors.Is(err, redlock.ErrNoQuorum):
			unknown.Add(1)
			assert.NotErrorIs(t, err, redlock.ErrHeld, what)
			assert.NotErrorIs(t, err, redlock.ErrLost, what)
		default:
			assert.NoError(t, err, what)
		}
	}
	for i := range 32 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				lock, err := client.TryAcquire(context.Background(), fmt.Sprint("job ", i, " ", n), time.Minute)
				honest("TryAcquire", err)
				assert.Equal(t, err == nil, lock != nil)
				if lock == nil {
					continue
				}
				pairs.Add(1)
				honest("Extend", lock.Extend(context.Background(), time.Minute))
				assert.NoError(t, lock.Err())
				honest("Release", lock.Release(context.Background()))
			}
		})
	}
	for _, m := range masters {
		wg.Go(func() {
			for ctx.Err() == nil {
				disconnect(m)
				kills.Add(1)
				time.Sleep(mathrand.N(40 * time.Millisecond))
			}
		})
	}
	wg.Wait()
	eventuallyClean(t, masters, opts.NodeTimeout+4*time.Second) // pauses between probes, and between attempts to connect
	for _, m := range masters {
		untilCounted(t, client, m)
	}
	for _, m := range masters {
		eventually(t, time.Second, "one connection", func() bool { return len(connections(m)) == 1 })
	}
	t.Logf("%d pairs, %d kills, %d answers unknown", pairs.Load(), kills.Load(), unknown.Load())
	require.Greater(t, pairs.Load(), int64(50), "too little traffic")
	require.Greater(t, kills.Load(), int64(20), "too few kills")
	for _, m := range masters[:2] { // a silent node is still probed
		m.Hang()
		lock := acquire(t, client, "job", time.Minute)
		require.NoError(t, lock.Release(context.Background()))
		time.Sleep(opts.NodeTimeout)
		m.Resume()
		back := time.Now()
		assert.LessOrEqual(t, untilCounted(t, client, m), 1500*time.Millisecond+machine.since(back))
	}
	require.NoError(t, client.Close())
	goroutinesBack(t, goroutines, time.Second)
}
