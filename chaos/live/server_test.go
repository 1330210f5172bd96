package live_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

// What servers answer when something is wrong with them or with their
// configuration.

// says checks that the error names the master with a reply that has the word.
func says(t *testing.T, err error, m master, word string) {
	t.Helper()
	n := result(t, err, m)
	require.Error(t, n.Err, "%v", err)
	require.Contains(t, n.Err.Error(), word, "%v", err)
}

func TestB51EvictedKeysAreALoss(t *testing.T) {
	t.Parallel()
	process.Need(t)
	for _, how := range []string{"Extend", "Release", "keep-alive"} {
		masters := startServers(t, 3, process.Config{})
		client := connected(t, masters, patient())
		lock := acquire(t, client, "job", 10*time.Second)
		ctx, cancel := lock.Context(context.Background())
		defer cancel()
		for _, m := range masters {
			eventually(t, bound, "all nodes hold it", func() bool { return get(m, "job") != "" })
		}
		for _, m := range masters[:2] {
			m.Do("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
			m.Do("CONFIG", "SET", "maxmemory", 1)
			eventually(t, bound, "the key is evicted", func() bool { return get(m, "job") == "" })
			m.Do("CONFIG", "SET", "maxmemory", 0)
		}
		switch how {
		case "Extend":
			require.ErrorIs(t, lock.Extend(context.Background(), time.Minute), redlock.ErrLost)
			require.ErrorIs(t, lock.Err(), redlock.ErrLost)
		case "Release":
			require.ErrorIs(t, lock.Release(context.Background()), redlock.ErrLost)
		case "keep-alive":
			require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 50 * time.Millisecond}))
			within(t, 100*time.Millisecond, "to learn of the loss", func() { <-ctx.Done() })
			require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
			require.Zero(t, lock.Remaining())
		}
		_ = lock.Release(context.Background())
		eventuallyClean(t, masters, bound)
	}
}

func TestB52FullServersTakeNoLockButExtendAndReleaseOne(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 3, process.Config{})
	client := connected(t, masters, patient())
	other := connected(t, masters, patient())
	fill := func(m master, full bool) {
		limit := 0
		if full {
			limit = 1
		}
		m.Do("CONFIG", "SET", "maxmemory", limit)
	}
	for full := range 4 {
		lock := acquire(t, client, "job", 10*time.Second)
		eventually(t, bound, "all nodes hold it", func() bool { return holders(masters, lock) == 3 })
		for _, m := range masters[:full] {
			fill(m, true)
		}
		require.NoError(t, lock.Extend(context.Background(), time.Minute), "%d full", full)
		_, err := other.TryAcquire(context.Background(), "job", time.Minute)
		require.Error(t, err)
		require.NoError(t, lock.Release(context.Background()), "%d full", full)

		lock, err = client.TryAcquire(context.Background(), "another", time.Minute)
		if full < 2 {
			require.NoError(t, err)
			require.NoError(t, lock.Release(context.Background()))
		} else {
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.NotErrorIs(t, err, redlock.ErrHeld)
			require.GreaterOrEqual(t, strings.Count(err.Error(), "OOM"), 2, "%v", err)
		}
		for _, m := range masters {
			fill(m, false)
		}
		eventuallyClean(t, masters, bound)
	}
}

func TestB53ServersThatCannotSaveAreNamed(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 3, process.Config{Args: []string{"--enable-protected-configs", "yes"}})
	client := connected(t, masters, patient())
	manual, kept := acquire(t, client, "manual", time.Minute), acquire(t, client, "kept", 2*time.Second)
	require.NoError(t, kept.KeepAlive(redlock.KeepAlive{}))
	eventually(t, bound, "all nodes hold it", func() bool { return holders(masters, manual) == 3 })
	for _, m := range masters[:2] {
		m.Do("CONFIG", "SET", "save", "3600 1")
		m.Do("CONFIG", "SET", "dir", "/proc/self")
		m.Do("BGSAVE")
		eventually(t, bound, "saving has failed", func() bool {
			return strings.Contains(m.Do("INFO", "persistence").(string), "rdb_last_bgsave_status:err")
		})
	}
	named := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		require.NotErrorIs(t, err, redlock.ErrHeld)
		require.NotErrorIs(t, err, redlock.ErrLost)
		says(t, err, masters[0], "MISCONF")
		says(t, err, masters[1], "MISCONF")
	}
	_, err := client.TryAcquire(context.Background(), "new", time.Minute)
	named(err)
	named(manual.Extend(context.Background(), 2*time.Minute))
	require.NoError(t, manual.Err(), "a failed extension leaves the lock as it was")
	named(manual.Release(context.Background()))
	for _, m := range masters[:2] {
		require.Equal(t, manual.Token(), get(m, "manual")[:40])
	}
	within(t, 2*time.Second, "keep-alive to give up", func() { <-kept.Done() })
	require.ErrorIs(t, kept.Err(), redlock.ErrLost)
	require.ErrorContains(t, kept.Err(), "MISCONF")

	for _, m := range masters[:2] { // somebody repairs them
		m.Do("CONFIG", "SET", "save", "")
	}
	require.NoError(t, manual.Release(context.Background()), "calling again tries again")
	eventuallyClean(t, masters, bound)
}

func TestB55ForgottenScriptsAreNoticedByNobody(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		masters := l.start(t, 3)
		client := connected(t, masters, patient())
		for forgetful := 1; forgetful <= len(masters); forgetful++ {
			flush := func() {
				for _, m := range masters[:forgetful] {
					m.Do("SCRIPT", "FLUSH")
				}
			}
			for range 5 {
				flush()
				lock := acquire(t, client, "job", time.Minute)
				flush()
				within(t, nodeTimeout, "extend", func() { require.NoError(t, lock.Extend(context.Background(), time.Minute)) })
				flush()
				_, err := client.TryAcquire(context.Background(), "job", time.Minute) // undo
				require.ErrorIs(t, err, redlock.ErrHeld)
				flush()
				within(t, nodeTimeout, "release", func() { require.NoError(t, lock.Release(context.Background())) })
			}
		}
		eventuallyClean(t, masters, bound)
	})
}

func TestB55RestartedServersAreNoticedByNobody(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := durable(t, 3)
	client := connected(t, masters, patient())
	restart := func() {
		for _, m := range masters {
			m.Down()
			m.Up()
		}
	}
	for range 3 {
		warm(t, client, "", masters...)
		lock := acquire(t, client, "job", time.Minute)
		eventually(t, bound, "all nodes hold it", func() bool { return holders(masters, lock) == 3 })
		restart()
		require.NoError(t, lock.Extend(context.Background(), time.Minute))
		restart()
		require.NoError(t, lock.Release(context.Background()))
		restart()
	}
	eventuallyClean(t, masters, bound)
}

// A master fails over: its name leads to a new server, and the old one becomes a
// replica, which accepts connections and refuses to write.
func TestB58NameThatMovesIsFollowedWithoutARestart(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 4, process.Config{})
	old, second, third, promoted := masters[0], masters[1], masters[2], masters[3]
	opts := options(masters[:3])
	target := make(chan string, 1)
	target <- old.String()
	opts[0].Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		addr := <-target
		target <- addr
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	client := newClient(t, opts, quick())
	warm(t, client, "", masters[:3]...)

	host, port, err := net.SplitHostPort(promoted.String())
	require.NoError(t, err)
	old.Do("REPLICAOF", host, port)
	lock := acquire(t, client, "job", time.Minute) // by the other two
	require.NoError(t, lock.Extend(context.Background(), time.Minute))
	require.NoError(t, lock.Release(context.Background()))
	second.Hang()
	_, err = client.TryAcquire(context.Background(), "job", time.Minute)
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	says(t, err, old, "READONLY")

	<-target
	target <- promoted.String()
	eventually(t, bound, "the new server is asked", func() bool {
		lock, err := client.TryAcquire(context.Background(), "job", time.Minute)
		if err != nil {
			return false
		}
		require.Equal(t, lock.Token(), get(promoted, "job")[:40])
		require.NoError(t, lock.Release(context.Background()))
		return true
	})
	second.Resume()
	eventuallyClean(t, []master{second, third, promoted}, bound)
}

func TestB59AuthenticationAndProtocolFailuresAreNodeErrors(t *testing.T) {
	t.Parallel()
	process.Need(t)
	authority := newAuthority(t)
	closed, open := startServers(t, 1, process.Config{Args: []string{"--requirepass", "sesame"}})[0], startServers(t, 2, process.Config{})
	old := startServers(t, 1, process.Config{Args: []string{"--rename-command", "HELLO", ""}})[0]
	tlsPort := sparePort(t)
	startServers(t, 1, process.Config{Args: []string{
		"--tls-port", strconv.Itoa(tlsPort), "--tls-auth-clients", "no",
		"--tls-cert-file", authority.certFile, "--tls-key-file", authority.keyFile, "--tls-ca-cert-file", authority.certFile,
	}})
	secure := net.JoinHostPort("127.0.0.1", strconv.Itoa(tlsPort))
	plain := startServers(t, 1, process.Config{})[0]
	for _, c := range []struct {
		what string
		bad  redis.Options
		want string // in the node's error; "": it is no error
	}{
		{"wrong password", redis.Options{Addr: closed.String(), Password: "nonsense"}, "WRONGPASS"},
		{"wrong user", redis.Options{Addr: closed.String(), Username: "nobody", Password: "sesame"}, "WRONGPASS"},
		{"no password", redis.Options{Addr: closed.String()}, "NOAUTH"},
		{"right password", redis.Options{Addr: closed.String(), Password: "sesame"}, ""},
		{"a server that does not know HELLO", redis.Options{Addr: old.String()}, ""},
		{"TLS addressed in clear", redis.Options{Addr: secure}, "connecting"},
		{"clear addressed with TLS", redis.Options{Addr: plain.String(), TLSConfig: &tls.Config{RootCAs: authority.pool}}, ""},
		{"unknown authority", redis.Options{Addr: secure, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}}, "certificate"},
		{"no such database", redis.Options{Addr: plain.String(), DB: 99}, "DB index"},
	} {
		for _, resp := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s, RESP%d", c.what, resp), func(t *testing.T) {
				t.Parallel()
				bad := c.bad
				opts := append(options(open), &bad)
				for _, o := range opts {
					o.Protocol = resp
				}
				name := "job " + t.Name()
				client := newClient(t, opts, quick())
				within(t, 500*time.Millisecond+nodeTimeout, "the first acquisition", func() {
					lock := acquire(t, client, name, time.Minute)
					require.NoError(t, lock.Release(context.Background()))
				})
				// Alone, so that it shows what it has.
				patient := quick()
				patient.ConnectTimeout = 3 * time.Second // a TLS handshake on a busy machine
				alone := newClient(t, []*redis.Options{&bad}, patient)
				var err error
				within(t, patient.ConnectTimeout+2*nodeTimeout, "to fail", func() {
					var lock *redlock.Lock
					lock, err = alone.TryAcquire(context.Background(), name, time.Minute)
					if err == nil {
						err = lock.Release(context.Background())
					}
				})
				switch {
				case c.want != "":
					require.ErrorIs(t, err, redlock.ErrNoQuorum)
					require.ErrorContains(t, quorumError(t, err).Nodes[0].Err, c.want)
				case c.what == "clear addressed with TLS": // the server waits for the end of a line
					require.ErrorIs(t, err, redlock.ErrNoQuorum)
				default:
					require.NoError(t, err)
				}
			})
		}
	}
}

// Waiting cannot cure a server that refuses the command itself: Acquire without an
// end says why, instead of trying for ever.
func TestB77RefusedCommandsEndTheWait(t *testing.T) {
	t.Parallel()
	process.Need(t)
	for what, c := range map[string]struct {
		args  []string
		spoil func(m master)
		want  string
	}{
		"no permission":    {nil, func(m master) { m.Do("ACL", "SETUSER", "default", "-set") }, "NOPERM"},
		"another type":     {nil, func(m master) { m.Do("RPUSH", "job", "x") }, "WRONGTYPE"},
		"no such command":  {[]string{"--rename-command", "SET", ""}, func(master) {}, "unknown command"},
		"another's prefix": {nil, func(m master) { m.Do("ACL", "SETUSER", "default", "resetkeys", "~theirs:*") }, "NOPERM"},
		"wrong password":   {nil, nil, "WRONGPASS"},
		"not in a script": {nil, func(m master) { // which looks whose the key is
			m.Do("SET", "job", "theirs")
			m.Do("ACL", "SETUSER", "default", "-get")
		}, "script"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if c.spoil == nil {
				c.args = []string{"--requirepass", "sesame"}
				c.spoil = func(master) {}
			}
			masters := startServers(t, 3, process.Config{Args: c.args})
			opts := options(masters)
			for i, m := range masters {
				c.spoil(m)
				if what == "wrong password" {
					opts[i].Password = "nonsense"
				}
			}
			client := newClient(t, opts, quick())
			within(t, time.Second, "to say so", func() {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				lock, err := client.Acquire(ctx, "job", time.Minute)
				require.Nil(t, lock)
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
				require.NotErrorIs(t, err, context.DeadlineExceeded, "it waited for nothing")
				require.NotErrorIs(t, err, redlock.ErrHeld)
				assert.ErrorContains(t, err, c.want)
			})
			if what == "another type" {
				for _, m := range masters {
					require.Equal(t, "list", m.Do("TYPE", "job"), "it is not ours to delete")
				}
			}
		})
	}
}
