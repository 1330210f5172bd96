package embedded_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/embedded"
)

func TestDownNodeRefusesAndUpNodeRemembers(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		ctx := t.Context()
		require.True(t, lock(t, client, "long", "a", time.Minute))
		require.True(t, lock(t, client, "short", "a", time.Second))
		require.NoError(t, extend.Load(ctx, client).Err())

		node.Down()
		node.Down()
		require.Error(t, client.Ping(ctx).Err(), "the connection of the pool")
		require.ErrorIs(t, client.Ping(ctx).Err(), syscall.ECONNREFUSED)
		require.Equal(t, 2, node.Len())

		time.Sleep(time.Second)
		node.Up()
		node.Up()
		require.NoError(t, connect(t, node).Ping(ctx).Err())
		require.Equal(t, []string{"long"}, node.Keys())
		require.ErrorContains(t, extend.EvalSha(ctx, connect(t, node), []string{"k"}, "a", 1).Err(), "NOSCRIPT")
	})
}

func TestForgetDeletesEveryKey(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		require.True(t, lock(t, client, "k", "a", time.Minute))
		node.Down()
		node.Forget()
		node.Up()
		require.Zero(t, node.Len())
		require.True(t, lock(t, connect(t, node), "k", "b", time.Minute))
	})
}

func TestHangingNodeTakesCommandsAndAppliesThemOnResume(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		require.NoError(t, client.Ping(t.Context()).Err())
		node.Hang()
		node.Hang()

		answer := make(chan error, 1)
		go func() { answer <- client.Set(context.Background(), "waits", "a", time.Minute).Err() }()
		time.Sleep(time.Hour)
		require.Empty(t, answer)
		require.Zero(t, node.Len())

		// A new connection is taken as well, and hangs in its handshake.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, connect(t, node).Ping(ctx).Err(), os.ErrDeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))

		node.Resume()
		node.Resume()
		require.NoError(t, <-answer)
		require.Equal(t, []string{"waits"}, node.Keys())
	})
}

func TestCommandOfAClientThatGaveUpIsAppliedOnResume(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		require.NoError(t, client.Ping(t.Context()).Err())
		node.Hang()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.Error(t, client.Set(ctx, "k", "a", time.Minute).Err())
		require.NoError(t, client.Close())

		node.Resume()
		synctest.Wait()
		value, ok := node.Get("k")
		require.True(t, ok)
		require.Equal(t, "a", value)
	})
}

func TestKilledNodeNeverAppliesWhatWasWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, client *redis.Client) {
		require.NoError(t, client.Ping(t.Context()).Err())
		node.Hang()
		failed := make(chan error, 1)
		go func() { failed <- client.Set(context.Background(), "k", "a", time.Minute).Err() }()
		synctest.Wait()

		node.Down()
		require.Error(t, <-failed)
		node.Hang() // is down: does not hang afterwards
		node.Up()
		synctest.Wait()
		require.Zero(t, node.Len())
		require.NoError(t, connect(t, node).Ping(t.Context()).Err())
	})
}

// Everything at once, for the race detector: no INCR that was answered is lost,
// none is applied twice.
func TestAnsweredCommandsAreAppliedOnceUnderFaults(t *testing.T) {
	const clients, commands = 8, 100
	node, _ := start(t)
	var done, asking sync.WaitGroup
	var answered [clients]int64
	for i := range answered {
		client := connect(t, node)
		asking.Go(func() {
			for range commands {
				if client.Incr(context.Background(), key(i)).Err() == nil {
					answered[i]++
				}
			}
		})
	}
	stop := make(chan struct{})
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			node.Hang()
			node.Len()
			node.Resume()
			node.Down()
			node.Up()
		}
	})
	asking.Wait()
	close(stop)
	done.Wait()

	for i, n := range answered {
		value, _ := node.Get(key(i))
		got, err := strconv.ParseInt(value, 10, 64)
		require.NoError(t, err)
		require.Positive(t, n)
		require.GreaterOrEqual(t, got, n)
		require.LessOrEqual(t, got, int64(commands))
	}
}

func key(i int) string { return strconv.Itoa(i) }
