package proxy_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/proxy"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestDropRequestLosesItAndWhatFollows(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.DropRequest, Commands: []string{"SET"}, Count: 1})
	w := dial(t, p)
	w.send("INCR n", "SET k v", "INCR n")
	w.expect(":1\n")
	w.silent()
	now(t, "1", server, "GET", "n")
	now(t, nil, server, "GET", "k")
	acted(t, p, proxy.DropRequest, 1)
	w = dial(t, p)
	w.send("SET k v")
	w.expect("+OK\n")
}

func TestDropReplyHasTheRequestCarriedOut(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.DropReply, Commands: []string{"set"}, Count: 1})
	w := dial(t, p)
	w.send("INCR n", "SET k v", "INCR n")
	w.expect(":1\n")
	eventually(t, "2", server, "GET", "n")
	now(t, "v", server, "GET", "k")
	w.silent()
	acted(t, p, proxy.DropReply, 1)

	// As go-redis sees it: B10 and B11.
	p.Heal()
	p.Add(proxy.Fault{Kind: proxy.DropReply, Count: 1})
	o := options(p.Addr())
	o.ReadTimeout, o.MaxRetries = 100*time.Millisecond, 1
	ok, err := connect(t, o).SetNX(t.Context(), "lock", "token", time.Minute).Result()
	require.NoError(t, err)
	require.False(t, ok, "repeated: it answers that somebody else has it")
	now(t, "token", server, "GET", "lock")
}

func TestEOFAfterApplyClosesInsteadOfReplying(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.EOFAfterApply, Commands: []string{"EVAL"}, Count: 1})
	w := dial(t, p)
	w.send("INCR n", "EVAL return{redis.call('INCR','n')} 0", "INCR n")
	w.expect(":1\n")
	w.eof()
	now(t, "2", server, "GET", "n")
	acted(t, p, proxy.EOFAfterApply, 1)

	p.Add(proxy.Fault{Kind: proxy.EOFAfterApply, Commands: []string{"SET"}})
	require.ErrorContains(t, connect(t, options(p.Addr())).Set(t.Context(), "k", "v", 0).Err(), "EOF")
	now(t, "v", server, "GET", "k")
}

func TestEOFAfterApplyWaitsForAServerThatHangs(t *testing.T) {
	server, p := start(t)
	w := dial(t, p)
	w.send("PING")
	w.expect("+PONG\n")
	p.Add(proxy.Fault{Kind: proxy.EOFAfterApply})
	require.NoError(t, server.Pause())
	w.send("SET k v")
	w.silent()
	require.Empty(t, p.Counts())
	require.NoError(t, server.Resume())
	w.eof()
	now(t, "v", server, "GET", "k")
}

func TestCutLetsSoManyCommandsThrough(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.Cut, After: 2, Count: 1, PerConn: true})
	for i := range 3 {
		w := dial(t, p)
		w.send("SELECT 0", "INCR n", "INCR n", "INCR n", "INCR n")
		n := 3 * i
		w.expect("+OK\n:" + itoa(n+1) + "\n:" + itoa(n+2) + "\n:" + itoa(n+3) + "\n")
		w.eof()
		now(t, itoa(n+3), server, "GET", "n")
	}
	acted(t, p, proxy.Cut, 3)
}

func TestResetOfACommand(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.Reset, Commands: []string{"SET"}})
	w := dial(t, p)
	w.send("INCR n")
	w.expect(":1\n")
	w.send("SET k v", "SET k v", "SET k v") // of which only the first exists
	w.reset()
	now(t, nil, server, "GET", "k")
	acted(t, p, proxy.Reset, 1)
}

func TestDuplicateIsCarriedOutTwiceAndAnsweredOnce(t *testing.T) {
	server, p := start(t)
	remove := p.Add(proxy.Fault{Kind: proxy.Duplicate, Commands: []string{"INCR"}})
	w := dial(t, p)
	w.send("INCR n", "GET n", "INCR n")
	w.expect(":1\n$1\n2\n:3\n")
	eventually(t, "4", server, "GET", "n")
	acted(t, p, proxy.Duplicate, 2)

	remove()
	p.Add(proxy.Fault{Kind: proxy.Duplicate, Commands: []string{"SETNX"}, Min: late})
	w.send("SELECT 3", "SETNX lock a", "DEL lock")
	w.expect("+OK\n:1\n:1\n")
	require.Equal(t, 1, p.Kept())
	w.send("EXISTS lock")
	w.expect(":0\n")
	require.Eventually(t, func() bool { return p.Kept() == 0 }, soon, time.Millisecond)
	w.send("EXISTS lock")
	w.expect(":1\n") // a copy that came after the release
}

func TestLateDeliverStallsTheConnectionOfAClientThatStays(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.LateDeliver, Commands: []string{"SET"}, Min: late, Count: 1})
	w := dial(t, p)
	w.send("INCR n", "SET k v", "INCR n")
	w.expect(":1\n")
	now(t, nil, server, "GET", "k")
	require.Equal(t, 1, p.Kept())
	other := dial(t, p)
	other.send("INCR m")
	other.expect(":1\n")
	w.expect("+OK\n:2\n")
	require.Zero(t, p.Kept())
	acted(t, p, proxy.LateDeliver, 1)
}

// B12: the SET comes after the release.
func TestLateDeliverOutlivesItsClientAndItsConnection(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(t *testing.T, p *proxy.Proxy, w *wire)
	}{
		{"client closes", func(t *testing.T, _ *proxy.Proxy, w *wire) { require.NoError(t, w.Close()) }},
		{"proxy severs", func(_ *testing.T, p *proxy.Proxy, w *wire) { p.Sever(); w.reset() }},
		{"server closes", func(t *testing.T, p *proxy.Proxy, w *wire) {
			killer := dial(t, p)
			killer.send("AUTH secret", "CLIENT KILL TYPE normal")
			killer.expect("+OK\n:1\n")
			w.eof()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, p := start(t, "--requirepass", "secret")
			p.Add(proxy.Fault{Kind: proxy.LateDeliver, Commands: []string{"SET"}, Min: late, Max: late + quiet, Count: 1})
			w := dial(t, p)
			w.send("HELLO 3 AUTH default wrong", "AUTH secret", "SELECT 1", "SELECT 5", "GET k", "SET k v")
			w.expect("-WRONGPASS invalid username-password pair or user is disabled.\n+OK\n+OK\n+OK\n$-1\n")
			require.Eventually(t, func() bool { return p.Kept() == 1 }, soon, time.Millisecond)
			test.end(t, p, w)

			look := dial(t, p)
			look.send("AUTH secret", "SELECT 5", "DEL k")
			look.expect("+OK\n+OK\n:0\n")
			require.Eventually(t, func() bool { return p.Kept() == 0 }, soon, time.Millisecond)
			require.Eventually(t, func() bool {
				look.send("EXISTS k")
				reply, err := look.r.ReadString('\n')
				return err == nil && reply == ":1\r\n"
			}, soon, time.Millisecond)
			_ = server
		})
	}
}

func TestLateDeliverToAServerThatWasRestarted(t *testing.T) {
	server, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.LateDeliver, Commands: []string{"SET"}, Min: 3 * late, Count: 1})
	w := dial(t, p)
	w.send("PING", "SET k v")
	w.expect("+PONG\n")
	require.Eventually(t, func() bool { return p.Kept() == 1 }, soon, time.Millisecond)
	require.NoError(t, server.Restart(false))
	w.eof()
	now(t, nil, server, "GET", "k")
	eventually(t, "v", server, "GET", "k")
}

func TestErrorRepliesTakeTheirTurnAndReachNobody(t *testing.T) {
	server, p := start(t)
	for _, code := range []string{"LOADING", "OOM", "READONLY", "NOSCRIPT", "BUSY", "MISCONF", "NOPERM", "CLUSTERDOWN", "MOVED", "ERR my own words"} {
		remove := p.Add(proxy.Fault{Kind: proxy.ErrorReply, Commands: []string{"SET"}, Reply: code})
		err := connect(t, options(p.Addr())).Set(t.Context(), "k", "v", 0).Err()
		require.Error(t, err)
		require.True(t, strings.HasPrefix(err.Error(), code), err.Error())
		require.Contains(t, err.Error(), " ", "words for people")
		remove()
	}
	now(t, nil, server, "GET", "k")

	p.Add(proxy.Fault{Kind: proxy.ErrorReply, Commands: []string{"SET"}, Reply: "ERR no"})
	w := dial(t, p)
	w.send("SET k v", "INCR n", "SET k v", "SET k v", "INCR n", "SET k v")
	w.expect("-ERR no\n:1\n-ERR no\n-ERR no\n:2\n-ERR no\n")
	acted(t, p, proxy.ErrorReply, 14)
}

func TestHandshakesAreSparedUnlessNamed(t *testing.T) {
	_, p := start(t)
	o := options(p.Addr())
	o.ClientName, o.DB = "somebody", 2
	client := connect(t, o)
	remove := p.Add(proxy.Fault{Kind: proxy.ErrorReply, Reply: "LOADING"})
	require.ErrorContains(t, client.Ping(t.Context()).Err(), "LOADING")
	acted(t, p, proxy.ErrorReply, 1)
	remove()
	require.NoError(t, client.Ping(t.Context()).Err())

	for _, f := range []proxy.Fault{
		{Kind: proxy.EOFAfterApply, Commands: []string{"client setname"}},
		{Kind: proxy.EOFAfterApply, Commands: []string{"SELECT"}},
		{Kind: proxy.EOFAfterApply, Handshake: true},
	} {
		remove := p.Add(f)
		require.Error(t, connect(t, o).Ping(t.Context()).Err())
		remove()
	}
	p.Add(proxy.Fault{Kind: proxy.EOFAfterApply, Commands: []string{"CLIENT KILL"}})
	require.NoError(t, connect(t, o).Ping(t.Context()).Err())
}

func TestMatchSelectsAScriptByItsHashAndArguments(t *testing.T) {
	server, p := start(t)
	set := redis.NewScript(`return redis.call("SET", KEYS[1], ARGV[1])`)
	get := redis.NewScript(`return redis.call("GET", KEYS[1])`)
	client := connect(t, options(p.Addr()))
	require.NoError(t, set.Load(t.Context(), client).Err())
	require.NoError(t, get.Load(t.Context(), client).Err())
	p.Add(proxy.Fault{
		Kind: proxy.ErrorReply, Reply: "BUSY", Commands: []string{"EVALSHA", "EVAL"},
		Match: func(args []string) bool { return args[1] == set.Hash() && args[3] == "b" },
	})
	require.NoError(t, set.EvalSha(t.Context(), client, []string{"a"}, 1).Err())
	require.ErrorContains(t, set.EvalSha(t.Context(), client, []string{"b"}, 1).Err(), "BUSY")
	require.ErrorIs(t, get.EvalSha(t.Context(), client, []string{"b"}).Err(), redis.Nil)
	require.NoError(t, client.Set(t.Context(), "b", "b", 0).Err())
	now(t, "1", server, "GET", "a")
	acted(t, p, proxy.ErrorReply, 1)
}
