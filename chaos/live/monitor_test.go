package live_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

// A log is what MONITOR tells of one server.
type log struct {
	t *testing.T
	m *process.Monitor
}

// monitor records what the servers carry out.
func monitor(t *testing.T, masters []master) []log {
	t.Helper()
	logs := make([]log, len(masters))
	for i, m := range masters {
		r, err := m.(*processMaster).Monitor()
		require.NoError(t, err)
		t.Cleanup(func() { r.Close() })
		logs[i] = log{t, r}
	}
	return logs
}

func (l log) read() []process.Command {
	l.t.Helper()
	commands, err := l.m.Commands()
	require.NoError(l.t, err)
	return commands
}

// A key is what a server may hold under a name, as far as its record tells: values
// with the times at which they expire. Keys expire unrecorded, and around the end
// of a TTL nobody can say whether one has; so a SET may have worked or not, and
// there may be several.
type key map[string]time.Time

// fuzz is how far from the end of its TTL a key may be there or not: the time in
// a record is not quite the one that decides.
const fuzz = 20 * time.Millisecond

// seen counts what was in a record.
type seen struct{ sets, extensions, deletes, late int }

// replay goes through a record and checks, command by command, that
//   - every SET has NX and PX, so that no key lives for ever or is overwritten;
//   - nothing else writes, but scripts with PEXPIRE and DEL, and those only on a
//     key that holds their caller's value;
//   - after the release of a token there is neither a SET nor an extension of it.
//
// On a server that hung, what was sent to it before may come on its old connection
// after what was sent later on a new one: with late, such commands are counted, and
// must have been undone in the end.
func replay(t *testing.T, m master, record []process.Command, late bool) (s seen) {
	t.Helper()
	state := map[string]key{}
	released := map[string]bool{} // tokens that were released
	undone := map[string]bool{}   // tokens whose last SET was followed by a release
	var name, value string        // of the script that runs
	var renews bool               // whether it extends
	for i, c := range record {
		where := fmt.Sprintf("command %d of %v: %q", i, m, c.Args)
		switch verb := strings.ToLower(c.Args[0]); verb {
		case "set":
			require.NotEqual(t, "lua", c.Client, where)
			require.Len(t, c.Args, 6, where)
			require.Equal(t, []string{"nx", "px"}, lower(c.Args[3:5]), where)
			ttl, err := strconv.Atoi(c.Args[5])
			require.NoError(t, err, where)
			require.Positive(t, ttl, where)
			if released[c.Args[2]] {
				require.True(t, late, "set after its release: %s", where)
				s.late++
			}
			s.sets++
			undone[c.Args[2]] = false
			state[c.Args[1]] = state[c.Args[1]].put(c.Time, c.Args[2], time.Duration(ttl)*time.Millisecond)
		case "evalsha", "eval":
			require.GreaterOrEqual(t, len(c.Args), 5, where)
			require.Equal(t, "1", c.Args[2], where)
			name, value, renews = c.Args[3], c.Args[4], len(c.Args) == 6
			if !renews {
				// NOSCRIPT is recorded too, and then the source again.
				released[value], undone[value] = true, true
			} else if released[value] {
				require.True(t, late, "extended after its release: %s", where)
				s.late++
			}
		case "del", "pexpire":
			require.Equal(t, "lua", c.Client, where)
			require.Equal(t, name, c.Args[1], "not the script's key: %s", where)
			require.Equal(t, verb == "pexpire", renews, where)
			require.Contains(t, state[name].at(c.Time), value, "the key is not the caller's: %s", where)
			if renews {
				s.extensions++
				ms, err := strconv.Atoi(c.Args[2])
				require.NoError(t, err, where)
				state[name] = key{value: c.Time.Add(time.Duration(ms) * time.Millisecond)}
			} else {
				s.deletes++
				delete(state, name)
			}
		case "get", "pttl", "dbsize", "keys", "script", "hello", "select", "client", "ping", "echo", "info":
		default:
			require.Fail(t, "unexpected command", where)
		}
	}
	if late {
		for token := range released {
			require.True(t, undone[token], "%v: set again after its release, and left: %s", m, token)
		}
	}
	return s
}

func lower(words []string) []string {
	l := make([]string, len(words))
	for i, w := range words {
		l[i] = strings.ToLower(w)
	}
	return l
}

// at returns what the key may hold at a time.
func (k key) at(now time.Time) key {
	alive := key{}
	for value, until := range k {
		if now.Before(until.Add(fuzz)) {
			alive[value] = until
		}
	}
	return alive
}

// put returns the key after SET key value NX PX ttl.
func (k key) put(now time.Time, value string, ttl time.Duration) key {
	alive := k.at(now)
	free := len(alive) < len(k) || len(k) == 0 // perhaps
	for _, until := range alive {
		free = free || now.After(until.Add(-fuzz))
	}
	if free {
		alive[value] = now.Add(ttl)
	}
	return alive
}

// Traffic of all kinds with faults of all kinds, and the record of every server.
func TestRecordsOfARunWithFaultsShowNoForbiddenCommand(t *testing.T) {
	process.Need(t)
	masters := startServers(t, 5, process.Config{})
	logs := monitor(t, masters)
	hanging := masters[3:] // the others answer always, so that their order is strict
	run := 2 * time.Second
	if testing.Short() {
		run = time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), run)
	defer cancel()

	var wg sync.WaitGroup
	for i := range 4 {
		opts := patient()
		if i >= 2 { // suspicion, hunts
			opts.NodeTimeout = 50 * time.Millisecond
		}
		opts.RetryMax = 20 * time.Millisecond
		opts.Owner = fmt.Sprint("worker-", i)
		client := newClient(t, options(masters), opts)
		for range 6 {
			wg.Go(func() {
				for ctx.Err() == nil {
					traffic(ctx, t, client)
				}
			})
		}
	}
	wg.Go(func() { // faults
		for n := 0; ctx.Err() == nil; n++ {
			m := hanging[n%2]
			m.Hang()
			time.Sleep(time.Duration(n%4) * 40 * time.Millisecond)
			m.Resume()
			masters[n%5].Do("SCRIPT", "FLUSH")
			time.Sleep(20 * time.Millisecond)
		}
	})
	wg.Wait()
	eventuallyClean(t, masters, 10*time.Second) // TTLs and hunts
	var total seen
	for i, log := range logs {
		s := replay(t, masters[i], log.read(), i >= 3)
		t.Logf("%v: %+v", masters[i], s)
		total.sets += s.sets
		total.extensions += s.extensions
		total.deletes += s.deletes
	}
	least := int(run/time.Second) * 100
	require.Greater(t, total.sets, 5*least, "too little traffic")
	require.Greater(t, total.extensions, least, "too few extensions")
	require.Greater(t, total.deletes, 2*least, "too few releases")
}

// traffic is one thing that a user of a lock may do.
func traffic(ctx context.Context, t *testing.T, client *redlock.Client) {
	name := fmt.Sprint("job ", mathrand.N(12))
	switch mathrand.N(6) {
	case 0: // gives up in the middle
		ctx, cancel := context.WithTimeout(ctx, mathrand.N(2*time.Millisecond))
		defer cancel()
		if lock, err := client.TryAcquire(ctx, name, 5*time.Second); err == nil {
			_ = lock.Release(ctx)
		}
	case 1: // sleeps past the end, and releases what is another's by then
		if lock, err := client.TryAcquire(ctx, name, 100*time.Millisecond); err == nil {
			time.Sleep(90*time.Millisecond + mathrand.N(40*time.Millisecond))
			_ = lock.Extend(context.Background(), 100*time.Millisecond)
			_ = lock.Release(context.Background())
		}
	case 2: // is never heard of again
		_, _ = client.TryAcquire(ctx, name, 60*time.Millisecond)
	case 3:
		_ = client.TryDo(ctx, name, 5*time.Second, func(ctx context.Context, lock *redlock.Lock) error {
			assert.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 2 * time.Millisecond}))
			time.Sleep(mathrand.N(10 * time.Millisecond))
			return nil
		})
	default:
		lock, err := client.Acquire(ctx, name, 5*time.Second)
		if err != nil {
			return
		}
		for range mathrand.N(4) {
			_ = lock.Extend(context.Background(), 6*time.Second)
		}
		_ = lock.Release(context.Background())
	}
}

// B66: two applications share the servers under prefixes of their own, and touch
// nothing else.
func TestB66EveryKeyHasItsClientsPrefix(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 3, process.Config{})
	logs := monitor(t, masters)
	prefixes := []string{"billing:", "{mail}/" + rand.Text() + "/"}
	var locks []*redlock.Lock
	for _, prefix := range prefixes {
		opts := patient()
		opts.KeyPrefix = prefix
		client := newClient(t, options(masters), opts)
		lock := acquire(t, client, "job", time.Minute)
		require.NoError(t, lock.Extend(context.Background(), 2*time.Minute))
		_, err := client.TryAcquire(context.Background(), "job", time.Minute)
		require.ErrorIs(t, err, redlock.ErrHeld)
		locks = append(locks, lock)
	}
	for _, m := range masters {
		eventually(t, bound, "a key for each prefix", func() bool {
			return get(m, prefixes[0]+"job") != "" && get(m, prefixes[1]+"job") != ""
		})
	}
	for _, lock := range locks {
		require.NoError(t, lock.Release(context.Background()))
	}
	eventuallyClean(t, masters, bound)
	for i, log := range logs {
		replay(t, masters[i], log.read(), false)
		keys := map[string]bool{}
		for _, c := range log.read() {
			switch strings.ToLower(c.Args[0]) {
			case "set", "get", "pttl", "pexpire", "del":
				keys[c.Args[1]] = true
			case "evalsha", "eval":
				keys[c.Args[3]] = true
			}
		}
		require.Len(t, keys, 2, "%v", keys)
		for _, prefix := range prefixes {
			require.True(t, keys[prefix+"job"], "%v", keys)
		}
	}
}
