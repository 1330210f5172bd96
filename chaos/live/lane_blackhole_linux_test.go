package live_test

import (
	"context"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

// What a firewall does that drops packets: connecting takes as long as the
// client lets it, and the kernel asks again after a second or more.

func init() {
	ailments = append(ailments, ailment{"dropping packets", func(t *testing.T) *redis.Options {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(sparePort(t)))
		blackhole(t, addr)
		return &redis.Options{Addr: addr}
	}, ""})
	absences = append(absences, absence{"dropping packets for a while", func(t *testing.T) (master, *redis.Options, func(), func()) {
		m := startServers(t, 1, process.Config{})[0]
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(sparePort(t)))
		stop := relay(t, addr, m.String())
		return m, &redis.Options{Addr: addr}, func() {
			stop()
			stop = blackhole(t, addr)
		}, func() { stop(); relay(t, addr, m.String()) }
	}})
}

// blackhole makes the kernel drop what comes to addr to connect, until stop is
// called: it listens there and accepts nothing, with its backlog full.
func blackhole(t *testing.T, addr string) (stop func()) {
	t.Helper()
	to, err := net.ResolveTCPAddr("tcp", addr)
	require.NoError(t, err)
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	file := os.NewFile(uintptr(socket), "blackhole")
	require.NoError(t, syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	eventually(t, bound, "the address is free", func() bool { // see listen
		return syscall.Bind(socket, &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}) == nil
	})
	require.NoError(t, syscall.Listen(socket, 0))

	var filling []net.Conn
	stop = func() {
		file.Close()
		for _, c := range filling {
			c.Close()
		}
		filling = nil
	}
	t.Cleanup(func() { stop() })
	for range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		cancel()
		if err != nil {
			var timeout net.Error
			require.ErrorAs(t, err, &timeout)
			require.True(t, timeout.Timeout(), "%v", err)
			return stop
		}
		filling = append(filling, c)
	}
	require.Fail(t, "the backlog does not fill")
	return nil
}
