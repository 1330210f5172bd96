package live_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/redlocktest"
)

// A wiring is a way to reach a server: it starts one and returns options for it.
type wiring struct {
	name  string
	start func(t *testing.T) (master, *redis.Options)
}

func wirings() []wiring {
	server := func(args ...string) func(t *testing.T) (master, *redis.Options) {
		return func(t *testing.T) (master, *redis.Options) {
			m := startServers(t, 1, process.Config{Args: args})[0]
			return m, m.Options()
		}
	}
	with := func(start func(t *testing.T) (master, *redis.Options), change func(o *redis.Options)) func(t *testing.T) (master, *redis.Options) {
		return func(t *testing.T) (master, *redis.Options) {
			m, o := start(t)
			change(o)
			return m, o
		}
	}
	resp := func(version int) func(*redis.Options) {
		return func(o *redis.Options) { o.Protocol = version }
	}
	as := func(user, password string) func(*redis.Options) {
		return func(o *redis.Options) { o.Username, o.Password = user, password }
	}
	return []wiring{
		{"RESP2", with(server(), resp(2))},
		{"RESP3", with(server(), resp(3))},
		{"database 3", with(server(), func(o *redis.Options) { o.DB = 3 })},
		{"unix socket", onUnixSocket},
		{"TLS", onTLS},
		{"password", with(server("--requirepass", "open-sesame"), as("", "open-sesame"))},
		{
			"user with no more rights than it needs",
			with(server(minimalUser("+script|load")...), as("locker", "open-sesame")),
		},
		{
			"user who may not load scripts",
			with(server(minimalUser()...), as("locker", "open-sesame")),
		},
		{
			"user in database 3",
			with(server(minimalUser("+select")...), func(o *redis.Options) {
				o.Username, o.Password, o.DB = "locker", "open-sesame", 3
			}),
		},
		{"scripts flushed all the time", flushed(server())},
	}
}

// minimalUser returns arguments for a server with a user who may do what the
// lock does, on the keys that Conform uses, and more.
func minimalUser(more ...string) []string {
	return append([]string{
		"--user", "locker", "on", ">open-sesame", "resetchannels", "~redlocktest:*",
		"-@all", "+set", "+get", "+pttl", "+pexpire", "+del", "+evalsha", "+eval",
	}, more...)
}

func onUnixSocket(t *testing.T) (master, *redis.Options) {
	path := socketPath(t)
	m := startServers(t, 1, process.Config{Args: []string{"--unixsocket", path}})[0]
	return m, &redis.Options{Network: "unix", Addr: path}
}

// socketPath returns a path that is short enough for a socket.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "redlock-live-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "redis.sock")
}

func onTLS(t *testing.T) (master, *redis.Options) {
	authority := newAuthority(t)
	port := sparePort(t)
	m := startServers(t, 1, process.Config{Args: []string{
		"--tls-port", strconv.Itoa(port), "--tls-auth-clients", "no",
		"--tls-cert-file", authority.certFile, "--tls-key-file", authority.keyFile,
		"--tls-ca-cert-file", authority.certFile,
	}})[0]
	return m, &redis.Options{
		Addr:      net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		TLSConfig: &tls.Config{RootCAs: authority.pool, MinVersion: tls.VersionTLS12},
	}
}

// sparePort returns a port that nobody gets but who binds it on purpose: that
// of a server that was killed and is not restarted.
func sparePort(t *testing.T) int {
	t.Helper()
	s := process.Nodes(t, 1, process.Config{})[0]
	require.NoError(t, s.Kill())
	_, port, err := net.SplitHostPort(s.Addr())
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}

// flushed makes a server forget its scripts about every millisecond.
func flushed(start func(t *testing.T) (master, *redis.Options)) func(t *testing.T) (master, *redis.Options) {
	return func(t *testing.T) (master, *redis.Options) {
		m, o := start(t)
		flushing := redis.NewClient(m.Options())
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				flushing.ScriptFlush(ctx) // fails while the server hangs
				time.Sleep(time.Millisecond)
			}
		}()
		t.Cleanup(func() { stop(); flushing.Close(); <-done })
		return m, o
	}
}

// A voter is a go-redis node whose server can be made silent.
type voter struct {
	redlock.Node
	m master
}

func (v voter) Hang()   { v.m.Hang() }
func (v voter) Resume() { v.m.Resume() }

func TestRedisNodeConforms(t *testing.T) {
	t.Parallel()
	for _, w := range wirings() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			process.Need(t)
			conforms(t, w)
		})
	}
}

// Not beside other tests: 2,000 scripts at once keep miniredis busy for seconds.
func TestRedisNodeConformsOnMiniredis(t *testing.T) {
	conforms(t, wiring{"embedded", func(t *testing.T) (master, *redis.Options) {
		m := startEmbedded(t, 1)[0]
		o := m.Options()
		o.Protocol = 3
		return m, o
	}})
}

func conforms(t *testing.T, w wiring) {
	m, opt := w.start(t)
	redlocktest.Conform(t, func(t *testing.T) redlock.Node {
		node, err := redlock.RedisNode(opt, 0)
		require.NoError(t, err)
		t.Cleanup(func() { node.Close() })
		return voter{node, m}
	})
}

// Every kind of URL leads to the server and the database that it says.
func TestURLLeadsToItsServer(t *testing.T) {
	t.Parallel()
	process.Need(t)
	socket := socketPath(t)
	config := process.Config{Args: []string{
		"--unixsocket", socket, "--user", "locker", "on", ">open-sesame", "~*", "+@all",
	}}
	m := startServers(t, 1, config)[0]
	for i, url := range []string{
		"redis://" + m.String() + "/0",
		"redis://" + m.String() + "/3?protocol=3",
		"redis://locker:open-sesame@" + m.String() + "/4",
		"unix://locker:open-sesame@" + socket + "?db=5",
	} {
		db := []int{0, 3, 4, 5}[i]
		client, err := redlock.Open([]string{url}, patient())
		require.NoError(t, err, url)
		defer client.Close()
		lock := acquire(t, client, "job", time.Minute)
		info := m.Do("INFO", "keyspace").(string)
		require.Contains(t, info, fmt.Sprintf("db%d:keys=1", db))
		require.NoError(t, lock.Extend(context.Background(), 2*time.Minute))
		require.NoError(t, lock.Release(context.Background()))
		require.NotContains(t, m.Do("INFO", "keyspace"), fmt.Sprintf("db%d:", db))
	}
}
