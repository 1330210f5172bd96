package live_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

// The environment of the program "secrets".
const (
	secretEnv = "REDLOCK_LIVE_SECRET" // the password
	rightEnv  = "REDLOCK_LIVE_RIGHT"  // a server that knows it
	wrongEnv  = "REDLOCK_LIVE_WRONG"  // a server that knows another
	closedEnv = "REDLOCK_LIVE_CLOSED" // an address where nobody listens
)

func init() { programs["secrets"] = secrets }

// secrets shows all that a program could show that uses a password.
func secrets() {
	secret := os.Getenv(secretEnv)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	if err != nil {
		panic(err)
	}
	for _, addr := range []string{os.Getenv(rightEnv), os.Getenv(wrongEnv), os.Getenv(closedEnv), silent.Addr().String()} {
		provider := func() (string, string) { return "default", secret }
		for how, o := range map[string]*redis.Options{
			"password": {Addr: addr, Password: secret},
			"user":     {Addr: addr, Username: "default", Password: secret},
			"provider": {Addr: addr, CredentialsProvider: provider},
			"hook": {Addr: addr, OnConnect: func(ctx context.Context, c *redis.Conn) error {
				return c.Auth(ctx, secret).Err()
			}},
		} {
			opts := &redlock.Options{NodeTimeout: 100 * time.Millisecond, ConnectTimeout: 200 * time.Millisecond, Attempts: 2}
			client, err := redlock.New([]*redis.Options{o}, opts)
			show(how, err)
			show(how, client)
			show(how, client.Connect(ctx))
			lock, err := client.Acquire(ctx, "job", time.Minute)
			show(how, err)
			show(how, lock)
			show(how, client.Do(ctx, "other", time.Minute, func(context.Context, *redlock.Lock) error { return nil }))
			show(how, lock.Release(ctx))
			show(how, lock.Err())
			show(how, client.Close())

			node, err := redlock.RedisNode(o, 200*time.Millisecond)
			show(how, err)
			show(how, node)
			show(how, node.Connect(ctx))
			show(how, node.Close())
		}
		client, err := redlock.Open([]string{"redis://default:" + secret + "@" + addr + "/0"}, &redlock.Options{ConnectTimeout: 200 * time.Millisecond})
		show("URL", err)
		show("URL", client)
		show("URL", client.Connect(ctx))
		show("URL", client.Close())
	}
	for _, url := range []string{
		"redis://default:" + secret + "@127.0.0.1:1:2/0",
		"redis://default:" + secret + "@127.0.0.1:port/0",
		"redis://default:" + secret + "%zz@127.0.0.1:1/0",
		"redis://default:" + secret + "@127.0.0.1:1/nine",
		"redis://default:" + secret + "@127.0.0.1:1/0?nonsense=1",
		"redis://default:" + secret + "@127.0.0.1:1/0?dial_timeout=" + secret,
		"redis://127.0.0.1:1/" + secret,
		"redis://" + secret,
		"redis://:" + secret + "@",
		"redis:/default:" + secret + "@127.0.0.1",
		"http://default:" + secret + "@127.0.0.1:1",
		secret + "://127.0.0.1:1",
		"default:" + secret + "@127.0.0.1:1",
		" redis://default:" + secret + "@127.0.0.1:1",
		"redis://default:" + secret + "\x7f@127.0.0.1:1",
		"unix://default:" + secret + "@/tmp/no.sock?db=" + secret,
		"unix://default:" + secret + "@",
	} {
		client, err := redlock.Open([]string{"redis://127.0.0.1:1/0", url}, nil)
		show("bad URL", err)
		if err == nil {
			fmt.Println("accepted: a host of that name") // shown as an address by right
			_ = client.Close()
		}
	}
}

// show prints what there is of v in every way that programs do.
func show(how string, v any) {
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Printf(how+": "+format+"\n", v)
	}
	text, err := json.Marshal(v)
	fmt.Printf("%s %v\n", text, err)
	for _, h := range []slog.Handler{slog.NewTextHandler(os.Stdout, nil), slog.NewJSONHandler(os.Stdout, nil)} {
		slog.New(h).Info(how, "it", v)
	}
	slog.Info(how, "it", v)
}

func TestPasswordIsNeverShown(t *testing.T) {
	t.Parallel()
	process.Need(t)
	secret := "SECRET" + rand.Text()
	right := process.Nodes(t, 1, process.Config{Args: []string{"--requirepass", secret}})[0]
	wrong := process.Nodes(t, 1, process.Config{Args: []string{"--requirepass", "something else"}})[0]
	closed := process.Nodes(t, 1, process.Config{})[0]
	require.NoError(t, closed.Kill())

	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), programEnv+"=secrets", secretEnv+"="+secret,
		rightEnv+"="+right.Addr(), wrongEnv+"="+wrong.Addr(), closedEnv+"="+closed.Addr())
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	text := string(output)
	for _, word := range []string{"lock(", "redlock(", "WRONGPASS", "connection refused", "URL 2 of 2", "no quorum"} {
		require.Contains(t, text, word, "the program saw nothing of it")
	}
	for _, hidden := range []string{secret, strings.ToLower(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret)} {
		at := strings.Index(text, hidden)
		require.Negative(t, at, "%.300s", text[max(0, at-200):])
	}
}
