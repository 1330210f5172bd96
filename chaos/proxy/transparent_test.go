package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/embedded"
	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/proxy"
)

func TestClientsDoNotNoticeAProxyWithoutFaults(t *testing.T) {
	_, p := start(t)
	for protocol, pipelined := range map[int]int{2: 1000, 3: 10_000} {
		o := options(p.Addr())
		o.Protocol, o.PoolSize = protocol, 32
		client, ctx := connect(t, o), t.Context()

		big := strings.Repeat("\x00\r\n$5\r\n\xff", 1<<17) // 1 MiB, and looks like messages
		require.NoError(t, client.Set(ctx, "big", big, 0).Err())
		require.Equal(t, big, client.Get(ctx, "big").Val())

		results, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Del(ctx, "n")
			for range pipelined {
				pipe.Incr(ctx, "n")
			}
			return nil
		})
		require.NoError(t, err)
		for i, result := range results[1:] {
			require.Equal(t, int64(i+1), result.(*redis.IntCmd).Val())
		}

		var clients sync.WaitGroup
		for i := range 32 {
			clients.Go(func() {
				for j := range 10 {
					value := fmt.Sprint(i, j)
					got, err := redis.NewScript(`redis.call("SET", KEYS[1], ARGV[1]) return redis.call("GET", KEYS[1])`).
						Run(ctx, client, []string{"k" + strconv.Itoa(i)}, value).Text()
					if err != nil || got != value {
						t.Error(got, err)
					}
				}
			})
		}
		clients.Wait()

		sub := client.Subscribe(ctx, "news")
		_, err = sub.Receive(ctx)
		require.NoError(t, err)
		require.NoError(t, client.Publish(ctx, "news", "hello").Err())
		message, err := sub.ReceiveMessage(ctx)
		require.NoError(t, err)
		require.Equal(t, "hello", message.Payload)
		require.NoError(t, sub.Close())
	}
	require.Empty(t, p.Counts())
}

func TestRequestsMayBeTornAnywhere(t *testing.T) {
	_, p := start(t)
	w := dial(t, p)
	for _, b := range []byte(encode("SET k v", "GET k", "ECHO \r")) {
		_, err := w.Write([]byte{b})
		require.NoError(t, err)
	}
	w.expect("+OK\n$1\nv\n$1\n\r\n")
	_, err := io.WriteString(w, "SET k  inline\r\n\r\n*0\r\n*-1\r\nget k\nPING\r\n")
	require.NoError(t, err)
	w.expect("+OK\n$6\ninline\n+PONG\n")
}

func TestRepliesOfEveryTypeArePassedOn(t *testing.T) {
	server, p := start(t, "--enable-debug-command", "yes")
	direct := dialAddr(t, server.Addr())
	through := dial(t, p)
	commands := []string{"HELLO 3 SETNAME x"}
	for _, kind := range []string{"string", "integer", "double", "null", "array", "set", "map", "attrib", "push", "verbatim", "true", "false", "bignum"} {
		commands = append(commands, "DEBUG PROTOCOL "+kind)
	}
	commands = append(commands, "COMMAND DOCS SET", "COMMAND INFO SET", "GET none", "BLPOP none 0.01", "NOSUCH", "MULTI", "INCR n", "GET n", "DISCARD", "QUIT")
	direct.send(commands...)
	through.send(commands...)
	want, err := io.ReadAll(direct)
	require.NoError(t, err)
	got, err := io.ReadAll(through)
	require.NoError(t, err)
	// They differ in the number of the client, which HELLO says.
	cut := func(b []byte) string {
		_, after, _ := strings.Cut(string(b), "mode")
		return after
	}
	require.Greater(t, len(want), 1000)
	require.Equal(t, cut(want), cut(got))
}

func TestStreamsArePassedOn(t *testing.T) {
	server, p := start(t)
	w := dial(t, p)
	w.send("GET a", "SUBSCRIBE x y", "UNSUBSCRIBE", "GET b")
	w.expect("$-1\n*3\n$9\nsubscribe\n$1\nx\n:1\n*3\n$9\nsubscribe\n$1\ny\n:2\n")
	w.expect("*3\n$11\nunsubscribe\n$1\n")
	_, err := w.r.Discard(len("x\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\ny\r\n:0\r\n"))
	require.NoError(t, err)
	w.expect("$-1\n")

	w = dial(t, p)
	w.send("CLIENT REPLY SKIP", "SET a 1", "GET a", "CLIENT REPLY OFF", "SET b 1", "CLIENT REPLY ON", "GET b")
	w.expect("$1\n1\n+OK\n$1\n1\n")

	monitor, err := process.NewMonitor(p.Addr())
	require.NoError(t, err)
	now(t, "1", server, "GET", "a")
	commands, err := monitor.Commands()
	require.NoError(t, err)
	require.Equal(t, []string{"GET", "a"}, commands[0].Args)
	require.NoError(t, monitor.Close())

	// A fault of commands would hit the wrong reply.
	p.Add(proxy.Fault{Kind: proxy.ErrorReply, Reply: "ERR no"})
	w = dial(t, p)
	w.send("SUBSCRIBE x", "PING")
	w.expect("*3\n$9\nsubscribe\n$1\nx\n:1\n*2\n$4\npong\n$0\n\n")
	require.Empty(t, p.Counts())
}

func TestWhatIsNoCommandIsForTheServerToRefuse(t *testing.T) {
	_, p := start(t)
	for bytes, want := range map[string]string{
		"*1\r\n:7\r\n":            "-ERR Protocol error: expected '$', got ':'\n",
		"*x\r\n":                  "-ERR Protocol error: invalid multibulk length\n",
		"*1\r\n$x\r\n":            "-ERR Protocol error: invalid bulk length\n",
		"*2\r\n$4\r\nECHO\r\n$-5": "",
	} {
		w := dial(t, p)
		w.send("PING")
		_, err := io.WriteString(w, bytes)
		require.NoError(t, err)
		w.expect("+PONG\n" + want)
	}
}

func TestTheEndOfEitherSideReachesTheOther(t *testing.T) {
	server, p := start(t)
	w := dial(t, p)
	w.send("CLIENT ID", "SET k v")
	w.expect(":")
	_, err := w.r.ReadString('\n')
	require.NoError(t, err)
	w.expect("+OK\n")
	require.NoError(t, w.Close())
	require.Eventually(t, func() bool {
		reply, err := server.Do("CLIENT", "LIST")
		return err == nil && strings.Count(reply.(string), "\n") == 1 // which asks
	}, soon, 1e6)

	// Replies still come to a client that has only said that it sends no more.
	w = dial(t, p)
	w.send("PING", "GET k")
	require.NoError(t, w.Conn.(*net.TCPConn).CloseWrite())
	_, err = w.r.ReadString('\n')
	require.NoError(t, err)
	w.expect("$1\nv\n")
	w.eof()

	w = dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
	require.NoError(t, server.Kill())
	w.eof()

	require.NoError(t, server.Restart(true))
	w = dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
	require.NoError(t, server.Pause())
	w.send("PING")
	w.silent() // by now it has come, and has not been read
	require.NoError(t, server.Kill())
	w.reset()

	conn, err := net.Dial("tcp", p.Addr())
	if err == nil { // the reset may come before Dial returns
		_, err = conn.Read(make([]byte, 1))
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)

	require.NoError(t, server.Restart(true))
	w = dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
}

func TestAReaderThatComesLateLosesNothing(t *testing.T) {
	_, p := start(t)
	w := dial(t, p)
	value := strings.Repeat("v", 1<<20)
	w.send("SET k " + value)
	for range 12 { // far more than the buffers of sockets hold
		w.send("GET k")
	}
	w.expect("+OK\n")
	for range 12 {
		w.expect("$1048576\n" + value + "\n")
	}
}

func TestAnyServerThatCanBeDialled(t *testing.T) {
	nodes, stop := embedded.Start(1)
	defer stop()
	p, err := proxy.StartDialer(nodes[0].Dial, 1)
	require.NoError(t, err)
	client := connect(t, options(p.Addr()))
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	value, _ := nodes[0].Get("k")
	require.Equal(t, "v", value)
	nodes[0].Down()
	require.Error(t, client.Ping(t.Context()).Err())
	require.NoError(t, p.Close())
}

func dialAddr(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{t: t, Conn: conn}
}

// What a proxy costs: the difference of the two is one round trip's.
func BenchmarkRoundTrip(b *testing.B) {
	server := process.Nodes(b, 1, process.Config{})[0]
	p := before(b, server.Addr())
	for _, through := range []struct{ name, addr string }{{"direct", server.Addr()}, {"proxy", p.Addr()}} {
		for _, parallel := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", through.name, parallel), func(b *testing.B) {
				o := options(through.addr)
				o.PoolSize = parallel
				client := connect(b, o)
				var clients sync.WaitGroup
				tokens := make(chan struct{}, parallel)
				for b.Loop() {
					tokens <- struct{}{}
					clients.Go(func() {
						if err := client.Set(context.Background(), "k", "v", 0).Err(); err != nil {
							b.Error(err)
						}
						<-tokens
					})
				}
				clients.Wait()
			})
		}
		b.Run(through.name+"/pipeline of 100", func(b *testing.B) {
			client := connect(b, options(through.addr))
			for b.Loop() {
				_, err := client.Pipelined(context.Background(), func(pipe redis.Pipeliner) error {
					for range 100 {
						pipe.Set(context.Background(), "k", "v", 0)
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
