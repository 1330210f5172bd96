package proxy_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/proxy"
)

func TestLatencyDelaysAndDoesNotSerialize(t *testing.T) {
	const d = 100 * time.Millisecond
	_, p := start(t)
	w := dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
	remove := p.Add(proxy.Fault{Kind: proxy.Latency, Direction: proxy.ToClient, Min: d})
	took := within(t, func() {
		w.send(strings.Split(strings.Repeat("INCR n,", 50)+"GET n", ",")...)
		for i := range 50 {
			w.expect(":" + itoa(i+1) + "\n")
		}
		w.expect("$2\n50\n")
	})
	require.GreaterOrEqual(t, took, d)
	require.Less(t, took, 25*d, "one after the other")
	acted(t, p, proxy.Latency, 51)

	remove()
	remove()
	p.Add(proxy.Fault{Kind: proxy.Latency, Min: d / 2, Commands: []string{"get"}})
	took = within(t, func() {
		w.send("GET n")
		w.expect("$2\n50\n")
	})
	require.GreaterOrEqual(t, took, d)
	acted(t, p, proxy.Latency, 53)
	w.send("INCR n")
	w.expect(":51\n")
	acted(t, p, proxy.Latency, 53)
}

func TestLatencyOfRequestsIsAppliedThoughTheClientHasGone(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.Latency, Direction: proxy.ToServer, Min: late})
	w := dial(t, p)
	w.send("SET k v")
	require.NoError(t, w.Close())
	now(t, nil, server, "GET", "k")
	eventually(t, "v", server, "GET", "k")
}

func TestBandwidthIsThatOfEachDirection(t *testing.T) {
	const rate = 1 << 20
	_, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.Bandwidth, Rate: 10 * rate})
	p.Add(proxy.Fault{Kind: proxy.Bandwidth, Rate: rate})
	w := dial(t, p)
	value := strings.Repeat("v", rate/5)
	took := within(t, func() {
		w.send("SET k " + value)
		w.expect("+OK\n")
	})
	require.GreaterOrEqual(t, took, 190*time.Millisecond)
	took = within(t, func() {
		w.send("GET k")
		w.expect("$" + itoa(len(value)) + "\n" + value + "\n")
	})
	require.GreaterOrEqual(t, took, 190*time.Millisecond)
	acted(t, p, proxy.Bandwidth, 8)
}

func TestSliceDribblesReplies(t *testing.T) {
	_, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.Slice, Direction: proxy.ToClient, Size: 2, Min: 5 * time.Millisecond, Max: 10 * time.Millisecond})
	w := dial(t, p)
	w.send("ECHO 0123456789")
	pieces, got := 0, ""
	b := make([]byte, 100)
	for got != "$10\r\n0123456789\r\n" {
		n, err := w.Read(b)
		require.NoError(t, err)
		pieces++
		got += string(b[:n])
	}
	require.Greater(t, pieces, 3, "of 9, of which a busy machine may join some")
	acted(t, p, proxy.Slice, 1)

	p.Heal()
	p.Add(proxy.Fault{Kind: proxy.Slice, Size: 3})
	client := connect(t, options(p.Addr()))
	require.NoError(t, client.Set(t.Context(), "k", "hello", 0).Err())
	require.Equal(t, "hello", client.Get(t.Context(), "k").Val())
}

func TestBlackholeSwallowsEverything(t *testing.T) {
	server, p := start(t)
	w := dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
	remove := p.Add(proxy.Fault{Kind: proxy.Blackhole})
	w.send("SET k v")
	w.silent()

	client := connect(t, options(p.Addr())) // is accepted, and waits for ever
	ctx, cancel := context.WithTimeout(t.Context(), quiet)
	defer cancel()
	var late net.Error // on a busy machine the connection is late, too, which is another error
	require.ErrorAs(t, client.Ping(ctx).Err(), &late)
	require.True(t, late.Timeout(), late)

	remove()
	w.send("SET k v") // after a gap TCP delivers nothing
	w.silent()
	now(t, nil, server, "GET", "k")
	require.NoError(t, client.Ping(t.Context()).Err())
	acted(t, p, proxy.Blackhole, 2)
}

func TestBlackholeInOneDirection(t *testing.T) {
	server, p := start(t)
	w := dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
	p.Add(proxy.Fault{Kind: proxy.Blackhole, Direction: proxy.ToClient})
	w.send("SET k v", "SET k w")
	eventually(t, "w", server, "GET", "k")
	require.NoError(t, server.Kill())
	w.silent() // not even that the server is dead
	require.NoError(t, server.Restart(true))
	p.Heal()

	w = dial(t, p)
	w.send("BLPOP list 0")
	require.Eventually(t, func() bool {
		reply, err := server.Do("CLIENT", "LIST")
		return err == nil && strings.Contains(reply.(string), "cmd=blpop")
	}, soon, time.Millisecond)
	p.Add(proxy.Fault{Kind: proxy.Blackhole, Direction: proxy.ToServer})
	w.send("SET k v")
	now(t, int64(1), server, "RPUSH", "list", "x")
	w.expect("*2\n$4\nlist\n$1\nx\n") // what was on its way
	w.silent()
	now(t, nil, server, "GET", "k")
}

func TestHoldDeliversWhenItIsRemoved(t *testing.T) {
	server, p := start(t)
	stays, goes := dial(t, p), dial(t, p)
	stays.send("PING")
	stays.expect("+PONG\n")
	remove := p.Add(proxy.Fault{Kind: proxy.Hold})
	p.Add(proxy.Fault{Kind: proxy.Hold, Direction: proxy.ToServer, Commands: []string{"APPEND"}})
	stays.send("INCR n")
	goes.send("INCR n", "INCR n")
	require.NoError(t, goes.Close())
	fresh := dial(t, p)
	fresh.send("INCR n")
	require.NoError(t, fresh.Close())
	stays.silent()
	now(t, nil, server, "GET", "n")

	remove()
	eventually(t, "4", server, "GET", "n")
	stays.expect(":")
	_, err := stays.r.ReadString('\n')
	require.NoError(t, err)

	stays.send("APPEND k a", "GET k")
	stays.silent()
	p.Heal()
	stays.expect(":1\n$1\na\n")
}

func TestHoldOfRepliesHidesTheEndOfTheServer(t *testing.T) {
	server, p := start(t)
	w := dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
	p.Add(proxy.Fault{Kind: proxy.Hold, Direction: proxy.ToClient})
	w.send("SET k v")
	eventually(t, "v", server, "GET", "k")
	now(t, "v", server, "GET", "k") // by now it has sent the reply to SET, too
	require.NoError(t, server.Kill())
	w.silent()
	p.Heal()
	w.expect("+OK\n")
	w.eof()
}

func TestRefuseClosesThePortAndKeepsIt(t *testing.T) {
	server, p := start(t)
	w := dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
	first := p.Add(proxy.Fault{Kind: proxy.Refuse})
	second := p.Add(proxy.Fault{Kind: proxy.Refuse})
	refused := func() {
		t.Helper()
		_, err := net.Dial("tcp", p.Addr())
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	}
	refused()
	require.ErrorIs(t, bind(t, p.Addr()), syscall.EADDRINUSE)
	acted(t, p, proxy.Refuse, 1)

	w.send("PING") // the open connection goes on
	w.expect("+PONG\n")
	first()
	refused()
	second()
	w = dial(t, p)
	w.send("SET k v")
	w.expect("+OK\n")
	eventually(t, "v", server, "GET", "k")
}

// bind tries to take the port as who asks for any free one does.
func bind(t *testing.T, addr string) error {
	t.Helper()
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	require.NoError(t, err)
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer func() { _ = syscall.Close(socket) }()
	return syscall.Bind(socket, &syscall.SockaddrInet4{Port: tcp.Port, Addr: [4]byte{127, 0, 0, 1}})
}

func TestSeverResetsBothSides(t *testing.T) {
	server, p := start(t)
	a, b := dial(t, p), dial(t, p)
	for _, w := range []*wire{a, b} {
		w.send("PING")
		w.expect("+PONG\n")
	}
	p.Sever()
	a.reset()
	b.reset()
	acted(t, p, proxy.Reset, 2)
	require.Eventually(t, func() bool {
		reply, err := server.Do("CLIENT", "LIST")
		return err == nil && strings.Count(reply.(string), "\n") == 1
	}, soon, time.Millisecond)
}

func TestCloseEndsConnectionsThatWait(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.Hold, Commands: []string{"GET"}})
	p.Add(proxy.Fault{Kind: proxy.Latency, Min: time.Hour, Commands: []string{"SET"}})
	p.Add(proxy.Fault{Kind: proxy.LateDeliver, Min: time.Hour, Commands: []string{"INCR"}})
	p.Add(proxy.Fault{Kind: proxy.Slice, Size: 1, Min: time.Hour, Commands: []string{"ECHO"}})
	p.Add(proxy.Fault{Kind: proxy.Bandwidth, Rate: 1, Commands: []string{"APPEND"}})
	for _, command := range []string{"GET k", "SET k v", "INCR n", "ECHO x", "APPEND k v", "BLPOP k 0", "PING"} {
		w := dial(t, p)
		w.send(command)
	}
	gone := dial(t, p)
	gone.send("INCR n")
	require.NoError(t, gone.Close())
	require.NoError(t, server.Pause())
	require.Eventually(t, func() bool { return p.Kept() == 2 }, soon, time.Millisecond)
	within(t, func() { require.NoError(t, p.Close()) })
	require.NoError(t, p.Close())
	require.Zero(t, p.Kept())
	_, err := net.Dial("tcp", p.Addr())
	require.Error(t, err)
	p.Heal()
}

func TestWhatWaitsIsBounded(t *testing.T) {
	const n, size = 64, 1 << 20 // more than a lane and the buffers of sockets hold
	_, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.Hold, Direction: proxy.ToServer})
	w := dial(t, p)
	command := encode("ECHO " + strings.Repeat("v", size))
	var sent atomic.Int64
	go func() {
		for range n {
			if _, err := io.WriteString(w, command); err != nil {
				return
			}
			sent.Add(1)
		}
	}()
	require.Eventually(t, func() bool { return sent.Load() >= 16 }, soon, time.Millisecond)
	time.Sleep(quiet)
	require.Less(t, sent.Load(), int64(n))
	p.Heal()
	require.Eventually(t, func() bool { return sent.Load() == n }, soon, time.Millisecond)
	w.expect("$1048576\nvvv")
}
