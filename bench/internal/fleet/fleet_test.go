package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/chaos/process"
)

// eachKind runs a test on a fleet of each kind.
func eachKind(t *testing.T, test func(t *testing.T, f *fleet.Fleet)) {
	for _, kind := range []fleet.Kind{fleet.Process, fleet.Embedded} {
		t.Run(string(kind), func(t *testing.T) {
			if kind == fleet.Process {
				process.Need(t)
			}
			f, err := fleet.Start(t.Context(), kind, 2)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, f.Close()) })
			test(t, f)
		})
	}
}

func TestNodesCountWhatClientsSendAndNotTheLooking(t *testing.T) {
	eachKind(t, func(t *testing.T, f *fleet.Fleet) {
		client := redis.NewClient(fleet.Options(f.Addrs())[0])
		defer client.Close()
		ctx := context.Background()
		require.NoError(t, client.Ping(ctx).Err()) // connected
		require.NoError(t, f.Reset())
		record, err := f.Nodes[0].Record()
		require.NoError(t, err)
		defer record.Close()

		require.NoError(t, client.SetNX(ctx, "k", "v", time.Minute).Err())
		script := "redis.call('get', KEYS[1]) return redis.call('set', KEYS[1], 'w')"
		require.NoError(t, client.Eval(ctx, script, []string{"k"}).Err())
		sent, err := record.Commands()
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"set": 1, "eval": 1}, sent)
		keys, err := f.Keys()
		require.NoError(t, err)
		assert.Equal(t, 1, keys)

		stats, err := f.Stats()
		require.NoError(t, err)
		assert.EqualValues(t, 1, stats[0].Calls["eval"])
		assert.Zero(t, stats[1].Locking())
		if f.Kind == fleet.Process {
			assert.EqualValues(t, 2, stats[0].Calls["set"], "with the script's")
			assert.EqualValues(t, 2, stats[0].Clients, "the client and the record")
		}
	})
}

func TestBytesAreThoseOfClients(t *testing.T) {
	process.Need(t)
	f, err := fleet.Start(t.Context(), fleet.Process, 1)
	require.NoError(t, err)
	defer f.Close()
	client := redis.NewClient(fleet.Options(f.Addrs())[0])
	defer client.Close()
	require.NoError(t, client.Ping(t.Context()).Err())
	require.NoError(t, f.Reset())
	for range 3 { // looking leaves no trace
		_, err := f.Keys()
		require.NoError(t, err)
		stats, err := f.Stats()
		require.NoError(t, err)
		assert.Zero(t, stats[0].BytesIn)
		assert.Zero(t, stats[0].BytesOut)
	}
	require.ErrorIs(t, client.Get(t.Context(), "missing").Err(), redis.Nil)
	stats, err := f.Stats()
	require.NoError(t, err)
	assert.EqualValues(t, len("*2\r\n$3\r\nget\r\n$7\r\nmissing\r\n"), stats[0].BytesIn)
	assert.Positive(t, stats[0].BytesOut)
}

func TestNodesFailAndComeBack(t *testing.T) {
	eachKind(t, func(t *testing.T, f *fleet.Fleet) {
		n := f.Nodes[0]
		ask := func() error {
			client := redis.NewClient(&redis.Options{
				Addr: n.Addr(), MaxRetries: -1, DialerRetries: 1, ReadTimeout: 100 * time.Millisecond,
			})
			defer client.Close()
			return client.Set(context.Background(), "k", "v", 0).Err()
		}
		require.NoError(t, ask())
		require.NoError(t, n.Pause())
		require.Error(t, ask())
		require.NoError(t, n.Resume())
		require.Eventually(t, func() bool { return ask() == nil }, 5*time.Second, 5*time.Millisecond)
		require.NoError(t, n.Kill())
		require.Error(t, ask())
		require.NoError(t, n.Restart())
		keys, err := n.Keys()
		require.NoError(t, err)
		assert.Zero(t, keys, "it has forgotten everything")
		require.NoError(t, ask())
	})
}
