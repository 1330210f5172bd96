package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/proxy"
)

// TestMain fails if a closed proxy has left a goroutine.
func TestMain(m *testing.M) {
	logging.Disable() // of every dial that is refused
	code := m.Run()
	var stacks bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	if bytes.Contains(stacks.Bytes(), []byte("chaos/proxy.(")) {
		fmt.Printf("left behind:\n%s", stacks.String())
		code = 1
	}
	os.Exit(code)
}

const (
	soon  = 20 * time.Second       // by when an event must have come
	quiet = 50 * time.Millisecond  // for nothing to happen
	late  = 400 * time.Millisecond // enough to look before it, on a machine that is busy
)

// start returns a server and a proxy in front of it.
func start(t *testing.T, args ...string) (*process.Server, *proxy.Proxy) {
	t.Helper()
	t.Parallel()
	args = append(args, "--hz", "100") // how often it looks whether it is to stop
	server := process.Nodes(t, 1, process.Config{Args: args})[0]
	return server, before(t, server.Addr())
}

func before(t testing.TB, addr string) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(addr, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// options are those of a client that repeats nothing.
func options(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		ContextTimeoutEnabled: true, ReadTimeout: soon, WriteTimeout: soon,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func connect(t testing.TB, o *redis.Options) *redis.Client {
	client := redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// A wire is a connection on which bytes are sent and compared.
type wire struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, p *proxy.Proxy) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // a test may have closed it
	return &wire{t: t, Conn: conn, r: bufio.NewReader(conn)}
}

// send sends commands, whose words have no blanks.
func (w *wire) send(commands ...string) {
	w.t.Helper()
	_, err := io.WriteString(w, encode(commands...))
	require.NoError(w.t, err)
}

func encode(commands ...string) string {
	var b strings.Builder
	for _, command := range commands {
		words := strings.Split(command, " ")
		fmt.Fprintf(&b, "*%d\r\n", len(words))
		for _, word := range words {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	return b.String()
}

// expect reads exactly these bytes; "\n" stands for the end of a line.
func (w *wire) expect(want string) {
	w.t.Helper()
	want = strings.ReplaceAll(want, "\n", "\r\n")
	require.NoError(w.t, w.SetReadDeadline(time.Now().Add(soon)))
	got := make([]byte, len(want))
	n, err := io.ReadFull(w.r, got)
	require.Equal(w.t, want, string(got[:n]), "%v", err)
}

// silent expects that nothing comes for a while.
func (w *wire) silent() {
	w.t.Helper()
	require.NoError(w.t, w.SetReadDeadline(time.Now().Add(quiet)))
	b, err := w.r.Peek(1)
	require.ErrorIs(w.t, err, os.ErrDeadlineExceeded, "got %q", b)
}

// eof expects the orderly end of the connection.
func (w *wire) eof() {
	w.t.Helper()
	require.NoError(w.t, w.SetReadDeadline(time.Now().Add(soon)))
	_, err := w.r.ReadByte()
	require.Equal(w.t, io.EOF, err)
}

// reset expects the end of the connection by RST.
func (w *wire) reset() {
	w.t.Helper()
	require.NoError(w.t, w.SetReadDeadline(time.Now().Add(soon)))
	_, err := w.r.ReadByte()
	require.ErrorIs(w.t, err, syscall.ECONNRESET)
}

// eventually waits for what a server says over a direct connection.
func eventually(t *testing.T, want any, server *process.Server, command ...string) {
	t.Helper()
	var reply any
	var err error
	require.Eventually(t, func() bool {
		reply, err = server.Do(command...)
		return err == nil && reply == want
	}, soon, time.Millisecond, "%v: %v %v", command, reply, err)
}

// now is what a server says over a direct connection.
func now(t *testing.T, want any, server *process.Server, command ...string) {
	t.Helper()
	reply, err := server.Do(command...)
	require.NoError(t, err)
	require.Equal(t, want, reply)
}

// acted is what the proxy has done, and nothing else.
func acted(t *testing.T, p *proxy.Proxy, kind proxy.Kind, n int) {
	t.Helper()
	require.Equal(t, map[proxy.Kind]int{kind: n}, p.Counts())
}

// within calls f and returns how long it took, or fails the test if it was not
// soon.
func within(t *testing.T, f func()) time.Duration {
	t.Helper()
	began := time.Now()
	f()
	took := time.Since(began)
	require.LessOrEqual(t, took, soon)
	return took
}
