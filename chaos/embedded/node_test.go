package embedded_test

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/embedded"
)

func TestMain(m *testing.M) {
	logging.Disable() // of every dial that a node refuses
	m.Run()
}

// extend is a script of the kind that the nodes exist for.
var extend = redis.NewScript(`
	if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
	end
	return 0`)

// start returns a node and a client that repeats nothing and waits for an
// answer as long as its context allows.
func start(t *testing.T) (*embedded.Node, *redis.Client) {
	nodes, stop := embedded.Start(1)
	t.Cleanup(stop)
	return nodes[0], connect(t, nodes[0])
}

func connect(t *testing.T, node *embedded.Node) *redis.Client {
	options := node.Options()
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ReadTimeout, options.ContextTimeoutEnabled = -1, true
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() }) // a test may have closed it
	return client
}

// inBubble runs the test in a bubble, which also fails if a goroutine is left.
func inBubble(t *testing.T, f func(t *testing.T, node *embedded.Node, client *redis.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		node, client := start(t)
		f(t, node, client)
	})
}

func lock(t *testing.T, client *redis.Client, key, token string, ttl time.Duration) bool {
	t.Helper()
	ok, err := client.SetNX(t.Context(), key, token, ttl).Result()
	require.NoError(t, err)
	return ok
}

func TestKeyExpiresExactlyAtTheEndOfItsTTL(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		require.True(t, lock(t, client, "k", "a", 1500*time.Millisecond))

		time.Sleep(1500*time.Millisecond - time.Nanosecond)
		require.False(t, lock(t, client, "k", "b", time.Second))
		require.Equal(t, "a", client.Get(t.Context(), "k").Val())
		left, ok := node.PTTL("k")
		require.True(t, ok)
		require.Equal(t, time.Nanosecond, left)

		time.Sleep(time.Nanosecond)
		require.ErrorIs(t, client.Get(t.Context(), "k").Err(), redis.Nil)
		require.True(t, lock(t, client, "k", "b", time.Second))
	})
}

func TestInspectionSeesExpiryWithoutACommand(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		require.True(t, lock(t, client, "k", "a", time.Second))
		require.NoError(t, client.Set(t.Context(), "for ever", "b", 0).Err())
		require.Equal(t, []string{"for ever", "k"}, node.Keys())
		left, ok := node.PTTL("for ever")
		require.True(t, ok)
		require.Zero(t, left)

		time.Sleep(time.Second)
		_, ok = node.Get("k")
		require.False(t, ok)
		_, ok = node.PTTL("k")
		require.False(t, ok)
		require.Equal(t, 1, node.Len())
	})
}

func TestScriptRunsByItsHash(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		ctx := t.Context()
		require.True(t, lock(t, client, "k", "a", time.Second))
		require.ErrorContains(t, extend.EvalSha(ctx, client, []string{"k"}, "a", 9000).Err(), "NOSCRIPT")
		require.NoError(t, extend.Load(ctx, client).Err())

		time.Sleep(900 * time.Millisecond)
		require.Equal(t, int64(1), extend.EvalSha(ctx, client, []string{"k"}, "a", 9000).Val())
		require.Equal(t, int64(0), extend.EvalSha(ctx, client, []string{"k"}, "b", 9000).Val())
		left, _ := node.PTTL("k")
		require.Equal(t, 9*time.Second, left)
	})
}

func TestTimeCommandFollowsTheNodesClock(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		node.Clock().Step(time.Hour)
		require.Equal(t, time.Now().Add(time.Hour).UnixMilli(), client.Time(t.Context()).Val().UnixMilli())
	})
}

func TestClockMovesTheEndOfKeys(t *testing.T) {
	for _, test := range []struct {
		name  string
		skew  func(node *embedded.Node)
		lives time.Duration
	}{
		{"right", func(*embedded.Node) {}, 10 * time.Second},
		{"step forward", func(n *embedded.Node) { n.Clock().Step(4 * time.Second) }, 6 * time.Second},
		{"step back", func(n *embedded.Node) { n.Clock().Step(-4 * time.Second) }, 14 * time.Second},
		{"step past the end", func(n *embedded.Node) { n.Clock().Step(time.Minute) }, 0},
		{"twice as fast", func(n *embedded.Node) { n.Clock().SetRate(2) }, 5 * time.Second},
		{"half as fast", func(n *embedded.Node) { n.Clock().SetRate(0.5) }, 20 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
				require.True(t, lock(t, client, "k", "a", 10*time.Second))
				test.skew(node)
				if test.lives > 0 {
					time.Sleep(test.lives - time.Nanosecond)
					require.False(t, lock(t, client, "k", "b", time.Second))
					time.Sleep(time.Nanosecond)
				}
				require.True(t, lock(t, client, "k", "b", time.Second))
			})
		})
	}
}

func TestNodesAreApart(t *testing.T) {
	nodes, stop := embedded.Start(5)
	defer stop()
	addresses := map[string]bool{}
	for i, node := range nodes {
		addresses[node.Addr()] = true
		require.Equal(t, node.Addr(), node.String())
		require.True(t, lock(t, connect(t, node), "k", string(rune('a'+i)), time.Minute))
	}
	require.Len(t, addresses, 5)
	stop()
	_, err := nodes[0].Dial(t.Context())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	nodes[0].Up()
	_, err = nodes[0].Dial(t.Context())
	require.Error(t, err, "closed for good")
	require.Panics(t, func() { embedded.Start(0) })
	require.Panics(t, func() { embedded.Start(255) })
}
