package tests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// Whatever a URL is, it makes a client or an error that keeps its secret.
func FuzzOpenKeepsPasswords(f *testing.F) {
	for _, s := range [][2]string{
		{"redis://user:", "@host:6379/0"}, {"redis://:", "@host:6379/zero"}, {"rediss://u:", "@host:port"},
		{"unix://u:", "@/tmp/redis.sock?db=x"}, {"http://u:", "@host"}, {"redis://u:", "/@host:1"},
		{"redis://u:", "#@host"}, {"redis://", "#@000000"}, {"redis://u:", "?x=1@host:2"}, {"://", ""}, {"redis://u:%", "@h"},
		{"redis://host/", "?bogus=1"}, {"redis://[", "]:6379"}, {"redis://h:6379/0?dial_timeout=", ""},
	} {
		f.Add(s[0], s[1])
	}
	const secret = "hunter2-is-a-secret"
	f.Fuzz(func(t *testing.T, before, after string) {
		client, err := redlock.Open([]string{before + secret + after}, nil)
		if err != nil {
			require.ErrorIs(t, err, redlock.ErrInvalid)
			require.NotContains(t, err.Error(), secret)
			return
		}
		defer client.Close()
		_, authority, found := strings.Cut(before, "://")
		if !found || strings.ContainsAny(authority, "@/") || !strings.Contains(after, "@") {
			return // it is no password there, but an address or a path
		}
		require.NotContains(t, client.String(), secret)
	})
}

// Whatever options are, they are refused by name or work.
func FuzzOptionsAreRefusedOrWork(f *testing.F) {
	f.Add(int64(0), int64(0), 0.0, int64(0), int64(0), int64(0), int64(0), 0, "", int64(30_000_000_000))
	f.Add(int64(-1), int64(1), math.NaN(), int64(-1), int64(1), int64(2), int64(1), -1, "\x00", int64(1))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), 0.999, int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), math.MaxInt, "o", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, node, conn int64, factor float64, fixed, margin, retryMin, retryMax int64, attempts int, owner string, ttl int64) {
		opts := &redlock.Options{
			NodeTimeout: time.Duration(node), ConnectTimeout: time.Duration(conn),
			Drift:      &redlock.Drift{Factor: factor, Fixed: time.Duration(fixed)},
			StopMargin: time.Duration(margin), RetryMin: time.Duration(retryMin), RetryMax: time.Duration(retryMax),
			Attempts: attempts, Owner: owner,
		}
		nodes := redlocktest.Nodes(3)
		client, err := redlock.NewFrom([]redlock.Node{nodes[0], nodes[1], nodes[2]}, opts)
		if invalid := opts.Validate(); invalid != nil {
			require.ErrorIs(t, invalid, redlock.ErrInvalid)
			require.ErrorIs(t, err, redlock.ErrInvalid)
			return
		}
		require.NoError(t, err)
		defer client.Close()
		lock, err := client.TryAcquire(context.Background(), "job", time.Duration(ttl))
		if err != nil {
			require.True(t, errors.Is(err, redlock.ErrInvalid) || errors.Is(err, redlock.ErrNoQuorum), "%v", err)
			require.Zero(t, keys(nodes))
			return
		}
		require.Positive(t, lock.Remaining())
		require.LessOrEqual(t, lock.Remaining(), time.Duration(ttl))
		require.NoError(t, lock.Release(context.Background()))
		require.Zero(t, keys(nodes))
	})
}

// Whatever bytes a name has, it is one key, or refused.
func FuzzNamesAreKeysByteForByte(f *testing.F) {
	for _, name := range []string{"", "a", "\x00\xff", "{tag} x\r\n", strings.Repeat("n", 1024), strings.Repeat("n", 1025)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		nodes := redlocktest.Nodes(1)
		client := redlocktest.NewClient(t, nodes, &redlock.Options{KeyPrefix: "p:"})
		lock, err := client.TryAcquire(context.Background(), name, time.Minute)
		if len(name) < 1 || len(name) > redlock.MaxName {
			require.ErrorIs(t, err, redlock.ErrInvalid)
			require.Less(t, len(err.Error()), 200)
			require.Zero(t, nodes[0].Count(redlock.OpAcquire))
			return
		}
		require.NoError(t, err)
		require.Equal(t, name, lock.Name())
		value, _, ok := nodes[0].Get("p:" + name)
		require.True(t, ok)
		require.True(t, strings.HasPrefix(value, lock.Token()+"/"))
		require.NoError(t, lock.Release(context.Background()))
	})
}

// Whatever a server replies to SET and to the scripts, the request is answered
// once, and with yes only for what means yes.
func FuzzReplies(f *testing.F) {
	for _, reply := range []string{
		"+OK\r\n", ":1\r\n", ":0\r\n", "$-1\r\n", "_\r\n", "$2\r\nOK\r\n", "-ERR no\r\n", "-NOSCRIPT no\r\n", "-READONLY no\r\n",
		"*1\r\n:1\r\n", "*-1\r\n", "#t\r\n", ",1.5\r\n", "(1\r\n", "%1\r\n+a\r\n:1\r\n", ">1\r\n+invalidate\r\n", "$99999999\r\nx", "?", "",
		"+OK\r\n+OK\r\n", "$5\r\na/b/c\r\n", "*99999999\r\n", ":99999999999999999999\r\n",
	} {
		for op := byte(1); op <= 4; op++ {
			f.Add([]byte(reply), op)
		}
	}
	f.Fuzz(func(t *testing.T, reply []byte, op byte) {
		node, err := redlock.RedisNode(&redis.Options{
			Addr:   "127.0.0.1:1",
			Dialer: func(context.Context, string, string) (net.Conn, error) { return replier(reply), nil },
		}, time.Second)
		require.NoError(t, err)
		defer node.Close()
		require.NoError(t, node.Connect(context.Background()))
		answers := make(chan redlock.Answer, 2)
		c := &redlock.Command{Op: redlock.Op(op%4 + 1), Key: "k", Value: "v", TTL: time.Minute}
		node.Send(redlock.NewRequest(c, 20*time.Millisecond, func(a redlock.Answer) { answers <- a }))
		select {
		case a := <-answers:
			script := c.Op == redlock.OpExtend || c.Op == redlock.OpRelease
			yes := bytes.HasPrefix(reply, []byte("+OK\r\n")) || bytes.HasPrefix(reply, []byte("$2\r\nOK\r\n"))
			if script {
				yes = bytes.HasPrefix(reply, []byte(":1\r\n"))
			}
			if a.Vote == redlock.VoteYes {
				require.True(t, yes, "%q to %v", reply, c.Op)
			}
			require.Equal(t, a.Vote >= redlock.VoteError, a.Err != nil, "%+v", a)
		case <-time.After(5 * time.Second):
			require.Fail(t, "no answer")
		}
		require.NoError(t, node.Close())
		require.Empty(t, answers)
	})
}

// replier is the connection to a server that makes friends like any other, and
// then has only one reply.
func replier(reply []byte) net.Conn {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		r := bufio.NewReader(server)
		for {
			args, err := readCommand(r)
			if err != nil {
				return
			}
			answer := reply
			switch strings.ToLower(args[0]) {
			case "hello":
				answer = []byte("*2\r\n$5\r\nproto\r\n:2\r\n")
			case "script":
				answer = []byte("$40\r\n" + strings.Repeat("0", 40) + "\r\n")
			}
			if _, err := server.Write(answer); err != nil {
				return
			}
		}
	}()
	return client
}

func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r)
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readLength(r)
		if err != nil {
			return nil, err
		}
		buf := make([]byte, size+2)
		for read := 0; read < len(buf); {
			m, err := r.Read(buf[read:])
			if err != nil {
				return nil, err
			}
			read += m
		}
		args[i] = string(buf[:size])
	}
	return args, nil
}

func readLength(r *bufio.Reader) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
