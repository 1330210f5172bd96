package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

const secret = "s3cret"

// ownMasters returns URLs of five servers of somebody else's, in database 2, for a
// user with the rights that the run says are enough. The last one is reached by
// TLS.
func ownMasters(t *testing.T) (servers []*process.Server, urls []string) {
	t.Helper()
	servers = process.Nodes(t, 5, process.Config{})
	for i, s := range servers {
		_, err := s.Do(strings.Fields("ACL SETUSER chaos on >" + secret +
			" ~redlock-chaos:* resetchannels -@all +hello +select +set +get +del +pttl +pexpire +evalsha +eval +script|load")...)
		require.NoError(t, err)
		if i < len(servers)-1 {
			urls = append(urls, fmt.Sprintf("redis://chaos:%s@%s/2", secret, s.Addr()))
		} else {
			urls = append(urls, fmt.Sprintf("rediss://chaos:%s@%s/2?skip_verify=true", secret, behindTLS(t, s.Addr())))
		}
		_, err = master(t, s).Set(context.Background(), "job-1", "somebody's", 0).Result()
		require.NoError(t, err)
	}
	return servers, urls
}

func master(t *testing.T, s *process.Server) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), DB: 2, DisableIdentity: true})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// behindTLS forwards from a TLS listener to addr.
func behindTLS(t *testing.T, addr string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	require.NoError(t, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}})
	require.NoError(t, err)
	var work sync.WaitGroup
	t.Cleanup(func() { l.Close(); work.Wait() })
	work.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addr)
			if err != nil {
				near.Close()
				continue
			}
			work.Go(func() { _, _ = io.Copy(far, near); far.Close() })
			work.Go(func() { _, _ = io.Copy(near, far); near.Close() })
		}
	})
	return l.Addr().String()
}

// What a user wants to know before he lets this near his masters: by their own
// record only keys with the run's prefix are touched, and nothing is left.
func TestOnSomebodysMastersOnlyKeysWithThePrefixAreTouched(t *testing.T) {
	process.Need(t)
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	servers, urls := ownMasters(t)
	var monitors []*process.Monitor
	for _, s := range servers {
		m, err := s.Monitor()
		require.NoError(t, err)
		t.Cleanup(func() { m.Close() })
		monitors = append(monitors, m)
	}

	t.Setenv("REDLOCK_CHAOS_URLS", strings.Join(urls, ","))
	status, out := chaos(t, "-backend", "urls", "-yes", "-duration", "8s")
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "AS PROMISED: plan attack")
	require.Contains(t, out, "UNSAFE BY DESIGN, DETECTED: plan client-slow")
	require.NotContains(t, out, secret)
	prefix := regexp.MustCompile(`begin with (redlock-chaos:[a-z0-9]+:);`).FindStringSubmatch(out)[1]
	t.Log(out)

	for i, m := range monitors {
		commands, err := m.Commands()
		require.NoError(t, err)
		touched := 0
		for _, c := range commands {
			if key, ok := keyOf(c.Args); ok {
				require.True(t, strings.HasPrefix(key, prefix), "%q", c.Args)
				require.Equal(t, 2, c.DB, "%q", c.Args)
				touched++
				continue
			}
			require.Contains(t, []string{"hello", "auth", "select", "script"}, strings.ToLower(c.Args[0]), "%q", c.Args)
		}
		require.Greater(t, touched, 100, "%v was used", servers[i])

		keys, err := master(t, servers[i]).Keys(context.Background(), "*").Result()
		require.NoError(t, err)
		require.Equal(t, []string{"job-1"}, keys, "what was there before")
		value, err := master(t, servers[i]).Get(context.Background(), "job-1").Result()
		require.NoError(t, err)
		require.Equal(t, "somebody's", value)
	}
}

// keyOf returns the key of a command that the lock may send.
func keyOf(args []string) (string, bool) {
	switch strings.ToLower(args[0]) {
	case "set", "get", "del", "pexpire", "pttl":
		return args[1], true
	case "eval", "evalsha":
		return args[3], args[2] == "1"
	default:
		return "", false
	}
}

func TestSomebodysMastersAreLeftAloneWithoutAYes(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			conn.Close()
			t.Error("a connection")
		}
	}()
	url := "redis://chaos:" + secret + "@" + l.Addr().String()
	status, out := chaos(t, "-backend", "urls", "-urls", url+","+"redis://192.0.2.1/1,redis://192.0.2.2")
	require.Equal(t, exitCannotRun, status)
	require.Contains(t, out, l.Addr().String()+", database 0, user chaos")
	require.Contains(t, out, "Nothing has been done")
	require.NotContains(t, out, secret)
}

func TestMastersThatCannotBeUsedAreNamed(t *testing.T) {
	process.Need(t)
	t.Parallel()
	servers, urls := ownMasters(t)
	run := func(urls ...string) string {
		status, out := chaos(t, "-backend", "urls", "-urls", strings.Join(urls, ","), "-yes", "-plan", "calm")
		require.Equal(t, exitCannotRun, status, out)
		require.NotContains(t, out, secret)
		return out
	}
	again := strings.Replace(urls[1], "127.0.0.1", "localhost", 1)
	require.Contains(t, run(urls[0], urls[1], again), "master 3 (localhost:"+again[strings.LastIndex(again, ":")+1:len(again)-2]+", database 2, user chaos) has the key of one before it")
	require.Contains(t, run(urls[0], urls[1], urls[1]), "nodes 2 and 3 are both")
	require.Contains(t, run(urls[0], urls[1], "redis://"+secret+"@[:1"), "not shown, it may hold a password")
	require.Contains(t, run(urls[0], urls[1], strings.Replace(urls[2], secret, "wrong"+secret[:1], 1)), "WRONGPASS")

	_, err := servers[2].Do("ACL", "SETUSER", "chaos", "-pttl")
	require.NoError(t, err)
	require.Contains(t, run(urls[:3]...), "can't run this command")
	require.NoError(t, servers[1].Kill())
	require.Contains(t, run(slices.Concat(urls[:2], urls[3:4])...), "master 2 ("+servers[1].Addr())
}

func TestTheMatrixNamesWhatABackendCannotDo(t *testing.T) {
	process.Need(t)
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	all := trials
	t.Cleanup(func() { trials = all })
	trials = []trial{{"A2 broken: a majority is flushed", "flush-majority"}, {"A0 kept: the same nodes for every client", "calm"}}
	_, urls := ownMasters(t)
	status, out := chaos(t, "-backend", "urls", "-urls", strings.Join(urls[:3], ","), "-yes", "-matrix")
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "flush: not possible on this backend: it would be done to a master that is not ours")
	require.Contains(t, out, "every line that urls can do is as promised, which is not flush-majority (urls, 3 nodes")
}
