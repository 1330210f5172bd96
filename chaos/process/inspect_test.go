package process_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

// allBytes has every byte once.
var allBytes = func() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

// serve answers the first command of every connection with the bytes, then
// closes, like a server that dies.
func serve(t *testing.T, bytes string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(c)
			for range 3 { // lines of a command without arguments
				_, _ = r.ReadString('\n')
			}
			_, _ = c.Write([]byte(bytes))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestRepliesOfEveryKind(t *testing.T) {
	for _, test := range []struct {
		reply string
		want  any
	}{
		{"+OK\r\n", "OK"},
		{":-7\r\n", int64(-7)},
		{"$3\r\na\r\n\r\n", "a\r\n"},
		{"$0\r\n\r\n", ""},
		{"$-1\r\n", nil},
		{"*-1\r\n", nil},
		{"*0\r\n", []any(nil)},
		{"*3\r\n:1\r\n*1\r\n$1\r\nx\r\n-ERR no\r\n", []any{int64(1), []any{"x"}, process.ReplyError("ERR no")}},
	} {
		got, err := process.Do(serve(t, test.reply), "PING")
		require.NoError(t, err, "%q", test.reply)
		require.Equal(t, test.want, got, "%q", test.reply)
	}
}

func TestBrokenRepliesAreErrors(t *testing.T) {
	for _, reply := range []string{"", "\r\n", "+OK", "$5\r\nab\r\n", "$x\r\n", "$-2\r\n", "$99999999999\r\n", ":x\r\n", "!1\r\n", "*2\r\n:1\r\n"} {
		_, err := process.Do(serve(t, reply), "PING")
		require.Error(t, err, "%q", reply)
		require.NotErrorAs(t, err, new(process.ReplyError))
	}
	_, err := process.Do(serve(t, "-OOM full\r\n"), "PING")
	require.Equal(t, process.ReplyError("OOM full"), err)
}

func TestInspectionOfKeys(t *testing.T) {
	s := start(t, process.Config{})
	_, ok, err := s.Get("k")
	require.NoError(t, err)
	require.False(t, ok)
	left, err := s.PTTL("k")
	require.NoError(t, err)
	require.Equal(t, process.NoKey, left)

	set(t, s, "k", allBytes)
	value, ok, err := s.Get("k")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, allBytes, value)
	left, err = s.PTTL("k")
	require.NoError(t, err)
	require.Equal(t, process.NoExpiry, left)

	_, err = s.Do("PEXPIRE", "k", "60000")
	require.NoError(t, err)
	left, err = s.PTTL("k")
	require.NoError(t, err)
	require.InDelta(t, time.Minute, left, float64(30*time.Second))
	n, err := s.Dbsize()
	require.NoError(t, err)
	require.Equal(t, 1, n)

	_, err = s.Do("LPUSH", "list", "a")
	require.NoError(t, err)
	_, _, err = s.Get("list")
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NoError(t, s.Kill())
	_, err = s.Dbsize()
	require.Error(t, err)
	_, err = s.PTTL("k")
	require.Error(t, err)
}

func TestMonitorShowsCommandsAndWhatScriptsCall(t *testing.T) {
	s := start(t, process.Config{})
	set(t, s, "before", "")
	monitor, err := s.Monitor()
	require.NoError(t, err)
	defer monitor.Close()
	began := time.Now()
	const script = "return redis.call('SET', KEYS[1], ARGV[1])"
	_, err = s.Do("eval", script, "1", "k", allBytes)
	require.NoError(t, err)
	_, err = s.Do("GET", "k")
	require.NoError(t, err)

	commands, err := monitor.Commands()
	require.NoError(t, err)
	require.Len(t, commands, 3)
	require.Equal(t, []string{"eval", script, "1", "k", allBytes}, commands[0].Args)
	require.Equal(t, []string{"SET", "k", allBytes}, commands[1].Args)
	require.Equal(t, []string{"GET", "k"}, commands[2].Args)
	require.True(t, strings.HasPrefix(commands[0].Client, "127.0.0.1:"))
	require.Equal(t, "lua", commands[1].Client)
	require.WithinDuration(t, began, commands[0].Time, 10*time.Second)

	again, err := monitor.Commands()
	require.NoError(t, err)
	require.Equal(t, commands, again)
	require.NoError(t, monitor.Close())
	require.NoError(t, monitor.Close())
	kept, err := monitor.Commands()
	require.Error(t, err)
	require.Equal(t, commands, kept)
}

func TestMonitorOfAKilledServerSaysThatItMayLack(t *testing.T) {
	s := start(t, process.Config{})
	monitor, err := s.Monitor()
	require.NoError(t, err)
	defer monitor.Close()
	set(t, s, "k", "v")
	require.NoError(t, s.Restart(true)) // so that the mark itself is answered
	_, err = monitor.Commands()
	require.ErrorContains(t, err, "has ended")
}

// A server may answer a command before its monitors have the line.
func TestMonitorWaitsForWhatWasAnswered(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		monitor, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(monitor, "+OK\r\n")
		c, err := l.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 1<<10)
		n, err := c.Read(b)
		if err != nil {
			return
		}
		mark := strings.Split(string(b[:n]), "\r\n")[4]
		_, _ = io.WriteString(c, "+OK\r\n")
		time.Sleep(50 * time.Millisecond)
		_, _ = fmt.Fprintf(monitor, "+1.000001 [0 x] \"a\"\r\n+1.000002 [0 x] \"ECHO\" %q\r\n", mark)
	}()
	monitor, err := process.NewMonitor(l.Addr().String())
	require.NoError(t, err)
	commands, err := monitor.Commands()
	require.NoError(t, err)
	require.Len(t, commands, 1)
	require.Equal(t, []string{"a"}, commands[0].Args)
	require.NoError(t, monitor.Close())
}

func TestLinesOfMonitor(t *testing.T) {
	addr := serve(t, "+OK\r\n"+
		`+1339518083.107412 [15 unix:/run/redis.sock] "a" "\"\\\n\r\t\a\b\x00\xff" ""`+"\r\n"+
		`+1339518083.000001 [0 lua] "b"`+"\r\n"+
		`+no line of MONITOR's`+"\r\n"+
		`+1339518083.000001 [0 lua] "after the end"`+"\r\n")
	monitor, err := process.NewMonitor(addr)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		commands, err := monitor.Commands()
		return err != nil && len(commands) == 2
	}, 10*time.Second, time.Millisecond)
	commands, _ := monitor.Commands()
	require.Equal(t, []process.Command{
		{Time: time.Unix(1339518083, 107412000), DB: 15, Client: "unix:/run/redis.sock", Args: []string{"a", "\"\\\n\r\t\a\b\x00\xff", ""}},
		{Time: time.Unix(1339518083, 1000), DB: 0, Client: "lua", Args: []string{"b"}},
	}, commands)
	require.NoError(t, monitor.Close())

	for _, reply := range []string{"", "-ERR no\r\n", "+QUEUED\r\n"} {
		_, err = process.NewMonitor(serve(t, reply))
		require.Error(t, err)
	}
}
