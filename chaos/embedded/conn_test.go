package embedded_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/embedded"
)

func TestPipelineIsAnsweredInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *embedded.Node, client *redis.Client) {
		const n = 3000 // more than the backlog
		results, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for range n {
				p.Incr(t.Context(), "n")
			}
			return nil
		})
		require.NoError(t, err)
		for i, result := range results {
			require.Equal(t, int64(i+1), result.(*redis.IntCmd).Val())
		}
	})
}

func TestServerClosesAfterWhatIsNoCommand(t *testing.T) {
	for _, bytes := range []string{"GET k\r\n", "*0\r\n", "*1\r\n:7\r\n", "*1\r\n$x\r\n"} {
		inBubble(t, func(t *testing.T, node *embedded.Node, _ *redis.Client) {
			c, err := node.Dial(t.Context())
			require.NoError(t, err)
			_, err = c.Write([]byte(bytes))
			require.NoError(t, err)
			_, err = c.Read(make([]byte, 1))
			require.Error(t, err)
		})
	}
}

func TestQuitIsAnsweredAndEndsTheConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, node *embedded.Node, _ *redis.Client) {
		c, err := node.Dial(t.Context())
		require.NoError(t, err)
		_, err = c.Write([]byte("*1\r\n$4\r\nQUIT\r\n"))
		require.NoError(t, err)
		answer, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "+OK\r\n", string(answer))
	})
}

func TestDialHonoursItsContext(t *testing.T) {
	node, _ := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := node.Dial(ctx)
	require.ErrorIs(t, err, context.Canceled)
	var operation *net.OpError
	require.ErrorAs(t, err, &operation)
}
