package live_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/embedded"
	"github.com/quorumlock/redlock/chaos/process"
)

// slack is what a time limit gets on a busy machine.
const slack = 250 * time.Millisecond

// bound is how long a test waits for an event that is due.
const bound = 10 * time.Second

// A master is one node: what happens to it, and what is in it, without the lock
// having a part in that.
type master interface {
	fmt.Stringer // its address
	Options() *redis.Options

	Down()   // as killed by SIGKILL
	Up()     // started again with what it remembers
	Hang()   // as stopped by SIGSTOP
	Resume() // goes on after Hang

	// Do carries out a command over a connection of its own. It fails the
	// test if the node is down or hangs.
	Do(args ...any) any
	// Do, too; but an error reply is returned.
	Try(args ...any) (any, error)
}

// A layer is a kind of nodes.
type layer struct {
	name  string
	start func(tb testing.TB, n int) []master
}

var layers = []layer{
	{"embedded", startEmbedded},
	{"process", func(tb testing.TB, n int) []master { return startServers(tb, n, process.Config{}) }},
}

// onEachLayer runs the test on nodes of each kind.
func onEachLayer(t *testing.T, test func(t *testing.T, l layer)) {
	for _, l := range layers {
		t.Run(l.name, func(t *testing.T) {
			if l.name == "process" {
				process.Need(t)
			}
			test(t, l)
		})
	}
}

// onEachLayerAtOnce does so beside other tests.
func onEachLayerAtOnce(t *testing.T, test func(t *testing.T, l layer)) {
	t.Parallel()
	onEachLayer(t, func(t *testing.T, l layer) {
		t.Parallel()
		test(t, l)
	})
}

type embeddedMaster struct {
	*embedded.Node
	tb     testing.TB
	direct *redis.Client
}

func startEmbedded(tb testing.TB, n int) []master {
	tb.Helper()
	nodes, stop := embedded.Start(n)
	tb.Cleanup(stop)
	masters := make([]master, n)
	for i, node := range nodes {
		m := &embeddedMaster{Node: node, tb: tb, direct: direct(node.Options())}
		tb.Cleanup(func() { m.direct.Close() })
		masters[i] = m
	}
	return masters
}

// direct returns a client that opens a connection for every command and is slow
// to give up.
func direct(opt *redis.Options) *redis.Client {
	opt.MaxRetries = -1
	opt.MaxIdleConns = 1
	opt.ConnMaxIdleTime = time.Nanosecond
	opt.ReadTimeout = bound
	return redis.NewClient(opt)
}

func (m *embeddedMaster) Try(args ...any) (any, error) {
	reply, err := m.direct.Do(context.Background(), args...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}

func (m *embeddedMaster) Do(args ...any) any {
	m.tb.Helper()
	return must(m.tb, m, args)
}

type processMaster struct {
	*process.Server
	tb testing.TB
}

func startServers(tb testing.TB, n int, config process.Config) []master {
	tb.Helper()
	masters := make([]master, n)
	for i, s := range process.Nodes(tb, n, config) {
		masters[i] = &processMaster{Server: s, tb: tb}
	}
	return masters
}

// durable are servers that forget nothing when they are killed.
func durable(tb testing.TB, n int) []master {
	tb.Helper()
	return startServers(tb, n, process.Config{AppendOnly: true})
}

func (m *processMaster) Options() *redis.Options { return &redis.Options{Addr: m.Addr()} }

func (m *processMaster) Down()   { m.check(m.Kill()) }
func (m *processMaster) Up()     { m.check(m.Restart(true)) }
func (m *processMaster) Hang()   { m.check(m.Pause()) }
func (m *processMaster) Resume() { m.check(m.Server.Resume()) }

func (m *processMaster) check(err error) {
	m.tb.Helper()
	if err != nil {
		m.tb.Errorf("%v: %v", m, err)
	}
}

func (m *processMaster) Try(args ...any) (any, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = fmt.Sprint(arg)
	}
	return m.Server.Do(words...)
}

func (m *processMaster) Do(args ...any) any {
	m.tb.Helper()
	return must(m.tb, m, args)
}

func must(tb testing.TB, m master, args []any) any {
	tb.Helper()
	reply, err := m.Try(args...)
	require.NoError(tb, err, "%v on %v", args, m)
	return reply
}

// get returns the value under key, "" if there is none.
func get(m master, key string) string {
	value, _ := m.Do("GET", key).(string)
	return value
}

// pttl returns how long key lives: negative if it has no expiry or is absent.
func pttl(m master, key string) time.Duration {
	ms, _ := m.Do("PTTL", key).(int64)
	return time.Duration(ms) * time.Millisecond
}

// forget deletes everything.
func forget(m master) { m.Do("FLUSHALL") }

// set puts a value under key that is nobody's of this test binary.
func set(m master, key, value string, ttl time.Duration) {
	m.Do("SET", key, value, "PX", ttl.Milliseconds())
}

// stranger is a value of a holder who is not there.
var stranger = strings.Repeat("5", 40) + "/stranger:1"

func options(masters []master) []*redis.Options {
	opts := make([]*redis.Options, len(masters))
	for i, m := range masters {
		opts[i] = m.Options()
	}
	return opts
}

// patient are options for tests that are not about time: a node that works
// never times out, however busy the machine is.
func patient() *redlock.Options { return &redlock.Options{NodeTimeout: 2 * time.Second} }

// newClient returns a client that is closed when the test ends.
func newClient(tb testing.TB, nodes []*redis.Options, opts *redlock.Options) *redlock.Client {
	tb.Helper()
	client, err := redlock.New(nodes, opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { client.Close() })
	return client
}

// connected returns a client that has a connection to every node.
func connected(tb testing.TB, masters []master, opts *redlock.Options) *redlock.Client {
	tb.Helper()
	client := newClient(tb, options(masters), opts)
	prefix := ""
	if opts != nil {
		prefix = opts.KeyPrefix
	}
	warm(tb, client, prefix, masters...)
	return client
}

// warm waits until the client has a connection to each of the masters, and these
// have no key.
func warm(tb testing.TB, client *redlock.Client, prefix string, masters ...master) {
	tb.Helper()
	reach(tb, client, prefix, masters...)
	eventuallyClean(tb, masters, bound)
}

// reach waits until the client has a connection to each of the masters.
func reach(tb testing.TB, client *redlock.Client, prefix string, masters ...master) {
	tb.Helper()
	eventually(tb, bound, "every node is connected", func() bool {
		name := "warm:" + rand.Text()
		lock, err := client.TryAcquire(context.Background(), name, time.Minute)
		if err != nil {
			return false
		}
		holds := func() bool {
			for _, m := range masters {
				if !strings.HasPrefix(get(m, prefix+name), lock.Token()) {
					return false
				}
			}
			return true
		}
		for try := 0; try < 20 && !holds(); try++ { // stragglers
			time.Sleep(time.Millisecond)
		}
		all := holds()
		return lock.Release(context.Background()) == nil && all
	})
}

// acquire acquires a lock that must be free.
func acquire(tb testing.TB, client *redlock.Client, name string, ttl time.Duration) *redlock.Lock {
	tb.Helper()
	lock, err := client.TryAcquire(context.Background(), name, ttl)
	require.NoError(tb, err)
	return lock
}

// eventually waits until is holds, at most limit.
func eventually(tb testing.TB, limit time.Duration, what string, is func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(limit); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(tb, "not within "+limit.String(), what)
		}
	}
}

// eventuallyClean waits until no node has any key in database 0, at most limit,
// slack, and what the machine lost.
func eventuallyClean(tb testing.TB, masters []master, limit time.Duration) {
	tb.Helper()
	start := time.Now()
	for _, m := range masters {
		for {
			keys := m.Do("KEYS", "*").([]any)
			if len(keys) == 0 {
				break
			}
			if time.Since(start) > limit+slack+machine.since(start) {
				require.Failf(tb, "keys are left", "%d on %v after %v: %.10v", len(keys), m, limit, keys)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// within runs f and fails the test if it took longer than limit, slack, and what
// the machine lost.
func within(tb testing.TB, limit time.Duration, what string, f func()) time.Duration {
	tb.Helper()
	start := time.Now()
	f()
	took := time.Since(start)
	if took > limit+slack {
		if lost := machine.since(start); took > limit+slack+lost {
			assert.Failf(tb, "too slow", "%s took %v, want at most %v; the machine lost %v", what, took, limit, lost)
		}
	}
	return took
}

// goroutinesBack waits until no more goroutines run than before, and fails the
// test with their stacks if that does not come. Tests that use it do not run
// beside others.
func goroutinesBack(tb testing.TB, before int, limit time.Duration) {
	tb.Helper()
	deadline := time.Now().Add(limit + slack)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			require.Failf(tb, "goroutines are left", "%d, had %d\n%s", runtime.NumGoroutine(), before, stacks(""))
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// quorumError returns err's account of the nodes.
func quorumError(tb testing.TB, err error) *redlock.QuorumError {
	tb.Helper()
	var e *redlock.QuorumError
	require.ErrorAs(tb, err, &e)
	return e
}

// result returns what err says about a node.
func result(tb testing.TB, err error, m master) redlock.NodeResult {
	tb.Helper()
	for _, n := range quorumError(tb, err).Nodes {
		if n.Node == m.String() {
			return n
		}
	}
	require.Failf(tb, "node not named", "%v in %v", m, err)
	return redlock.NodeResult{}
}
