package sweep_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/embedded"
	"github.com/quorumlock/redlock/chaos/process"
)

// A fleet is the servers that all cells share, each with names of its own.
type fleet struct {
	servers []*server
	others  map[int]*redlock.Client // by number of nodes: clients that no fault touches

	plays    atomic.Int64  // so far
	starting chan struct{} // has room for those that may connect at once

	mu       sync.Mutex
	immortal []string // keys seen without a TTL; guarded by mu
}

// A server is one master, reached without any fault.
type server struct {
	options func() *redis.Options
	dial    func(context.Context) (net.Conn, error)
	direct  *redis.Client
}

// connect opens all connections at once, so that none is opened in a cell: there
// it would look like a leak.
func (s *server) connect(t *testing.T) {
	const connections = 4
	o := s.options()
	o.MaxRetries, o.ReadTimeout, o.PoolTimeout, o.Protocol, o.DisableIdentity = -1, patience, patience, 2, true
	o.PoolSize, o.MinIdleConns, o.ConnMaxIdleTime = connections, connections, -1
	s.direct = redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, s.direct.Close()) })
	require.True(t, until(patience, func() bool { return s.direct.PoolStats().IdleConns == connections }))
}

const fleetSize = 5

// A layer is a kind of servers.
type layer struct {
	name   string
	start  func(t *testing.T) []*server
	period time.Duration // of looking at all keys, which miniredis is slow at
}

var layers = []layer{
	{"process", startProcesses, 10 * time.Millisecond},
	{"embedded", startEmbedded, 200 * time.Millisecond},
}

func startProcesses(t *testing.T) []*server {
	var servers []*server
	for _, s := range process.Nodes(t, fleetSize, process.Config{}) {
		servers = append(servers, &server{
			options: func() *redis.Options { return &redis.Options{Addr: s.Addr()} },
			dial: func(ctx context.Context) (net.Conn, error) {
				return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", s.Addr())
			},
		})
	}
	return servers
}

func startEmbedded(t *testing.T) []*server {
	nodes, stop := embedded.Start(fleetSize)
	t.Cleanup(stop)
	var servers []*server
	for _, n := range nodes {
		servers = append(servers, &server{options: n.Options, dial: n.Dial})
	}
	return servers
}

func newFleet(t *testing.T, l layer) *fleet {
	f := &fleet{servers: l.start(t), others: map[int]*redlock.Client{}, starting: make(chan struct{}, 4)}
	for _, s := range f.servers {
		s.connect(t)
	}
	for _, n := range []int{3, 5} {
		opts := make([]*redis.Options, n)
		for i := range opts {
			opts[i] = f.servers[i].options()
		}
		other, err := redlock.New(opts, &redlock.Options{NodeTimeout: patience, ConnectTimeout: patience, Owner: "other"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, other.Close()) })
		lock, err := other.TryAcquire(context.Background(), "warm", time.Minute)
		require.NoError(t, err)
		require.NoError(t, lock.Release(context.Background()))
		f.others[n] = other
	}
	f.watch(t, l.period)
	return f
}

// immortals returns the keys that have no TTL.
var immortals = redis.NewScript(`
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
	if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
end
return found`)

// watch looks for keys without a TTL as long as the test runs.
func (f *fleet) watch(t *testing.T, period time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	for _, s := range f.servers {
		watching.Go(func() {
			ticker := time.NewTicker(period)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				if found, err := immortals.Run(context.Background(), s.direct, nil).StringSlice(); err == nil && len(found) > 0 {
					f.mu.Lock()
					f.immortal = append(f.immortal, found...)
					f.mu.Unlock()
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); watching.Wait() })
}

// sawImmortal reports whether a key that begins so was ever seen without a TTL.
func (f *fleet) sawImmortal(prefix string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.immortal, func(key string) bool { return strings.HasPrefix(key, prefix) })
}

// An entry is a key as a server has it.
type entry struct {
	value string        // "": there is none
	ttl   time.Duration // negative as PTTL is
}

// look returns what the server has under the key.
func (s *server) look(key string) (entry, error) {
	pipe := s.direct.Pipeline()
	value, ttl := pipe.Get(context.Background(), key), pipe.PTTL(context.Background(), key)
	if _, err := pipe.Exec(context.Background()); err != nil && err != redis.Nil { //nolint:errorlint // go-redis returns it bare
		return entry{}, err
	}
	return entry{value.Val(), ttl.Val()}, nil
}
