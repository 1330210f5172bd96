package skew_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/skew"
)

func TestOffsetOfAServerOnThisMachineIsWithinItsPlusMinus(t *testing.T) {
	t.Parallel()
	server := process.Nodes(t, 1, process.Config{})[0]
	for range 20 {
		offset, plusMinus, err := skew.Offset(server.Addr())
		require.NoError(t, err)
		require.Positive(t, plusMinus)
		require.LessOrEqual(t, offset.Abs(), plusMinus)
	}
	require.NoError(t, server.Kill())
	_, _, err := skew.Offset(server.Addr())
	require.Error(t, err)
}

func TestAnswersThatAreNoTimeAreErrors(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "-NOAUTH Authentication required.\r\n", "*2\r\n$1\r\nx\r\n$1\r\n0\r\n", "*2\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 100))
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}()
		_, _, err = skew.Offset(l.Addr().String())
		require.Error(t, err, answer)
		require.NoError(t, l.Close())
	}
}

// A slow answer is not taken for a fast clock.
func TestPlusMinusIsHalfTheRoundTrip(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		for {
			if _, err := c.Read(make([]byte, 100)); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
			_, _ = io.WriteString(c, "*2\r\n$10\r\n2000000000\r\n$6\r\n000007\r\n")
		}
	}()
	began := time.Now()
	offset, plusMinus, err := skew.Offset(l.Addr().String())
	require.NoError(t, err)
	require.GreaterOrEqual(t, plusMinus, 10*time.Millisecond)
	truth := time.Unix(2_000_000_000, 7000).Sub(began.Round(0))
	require.LessOrEqual(t, offset, truth)
	require.Greater(t, offset, truth-soon)
}
