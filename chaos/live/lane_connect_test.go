package live_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

// An ailment is why a client cannot use a node.
type ailment struct {
	name string
	node func(t *testing.T) *redis.Options // one more node that has it
	says string                            // in its error; "" if its error is that it does not answer
}

// password is what must not be shown. Every ill node has it in its options.
const password = "Zq7-open-sesame"

var ailments = []ailment{
	{"blackholed", func(t *testing.T) *redis.Options {
		return dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
		})
	}, ""},
	{"refused", func(t *testing.T) *redis.Options {
		return &redis.Options{Addr: fmt.Sprint("127.0.0.1:", sparePort(t))}
	}, "refused"},
	{"unresolvable", func(t *testing.T) *redis.Options {
		return resolvedBy(t, func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("no name server")
		})
	}, "lookup"},
	{"slow to resolve", func(t *testing.T) *redis.Options {
		return resolvedBy(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	}, ""},
	{"of another password", func(t *testing.T) *redis.Options {
		return startServers(t, 1, process.Config{Args: []string{"--requirepass", "another"}})[0].Options()
	}, "WRONGPASS"},
	{"without such a user", func(t *testing.T) *redis.Options {
		o := startServers(t, 1, process.Config{})[0].Options()
		o.Username = "nobody"
		return o
	}, "WRONGPASS"},
	{"for users without rights", func(t *testing.T) *redis.Options {
		o := startServers(t, 1, process.Config{Args: []string{"--user", "guest", "on", ">" + password, "~*", "-@all"}})[0].Options()
		o.Username = "guest"
		return o
	}, "NOPERM"},
	{"half-open", func(t *testing.T) *redis.Options {
		return &redis.Options{Addr: accepting(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })}
	}, ""},
	{"hanging up", func(t *testing.T) *redis.Options {
		return &redis.Options{Addr: accepting(t, func(net.Conn) {})}
	}, "connecting"},
	{"no Redis", func(t *testing.T) *redis.Options {
		return &redis.Options{Addr: accepting(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		})}
	}, "connecting"},
	{"TLS addressed in clear", func(t *testing.T) *redis.Options {
		_, o := onTLS(t)
		o.TLSConfig = nil
		return o
	}, "connecting"},
	// Most such servers wait for the end of a line for ever; some see one, and refuse.
	{"clear addressed with TLS", func(t *testing.T) *redis.Options {
		o := startServers(t, 1, process.Config{})[0].Options()
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		return o
	}, ""},
}

// dialing returns options of a node that is reached by dial.
func dialing(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Options {
	t.Helper()
	return &redis.Options{Addr: "node-" + strings.ToLower(rand.Text()[:6]) + ".invalid:6379", Dialer: dial}
}

// resolvedBy returns options of a node whose name is looked up over dial.
func resolvedBy(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Options {
	t.Helper()
	d := &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: dial}}
	return dialing(t, d.DialContext)
}

// accepting listens, and lets handle have every connection before it is closed.
func accepting(t *testing.T, handle func(c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serve(t, l, handle)
	return l.Addr().String()
}

// serve handles connections until the test ends or stop is called.
func serve(t *testing.T, l net.Listener, handle func(c net.Conn)) (stop func()) {
	t.Helper()
	var mu sync.Mutex
	open := map[net.Conn]bool{} // nil: stopped
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			stopped := open == nil
			if !stopped {
				open[c] = true
			}
			mu.Unlock()
			all.Go(func() {
				if !stopped {
					handle(c)
				}
				c.Close()
				mu.Lock()
				delete(open, c)
				mu.Unlock()
			})
		}
	})
	stop = sync.OnceFunc(func() {
		l.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		open = nil
		mu.Unlock()
		all.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// hidden checks that an error shows no password in any way of printing it.
func hidden(t *testing.T, err error) {
	t.Helper()
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	var e *redlock.QuorumError
	if errors.As(err, &e) {
		text += fmt.Sprintf("%v %+v %#v", e.Nodes, e.Nodes, e.Nodes)
	}
	require.NotContains(t, text, password)
	require.NotContains(t, text, fmt.Sprintf("%x", password))
}

// atOnce is the limit of a call that waits for no ill node: with the slack it is
// well below nodeTimeout.
const atOnce = 100 * time.Millisecond

func TestNodeThatCannotBeReachedIsOneFailedVote(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 5, process.Config{})
	for _, a := range ailments {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			ill := a.node(t)
			ill.Password = password
			client := newClient(t, append([]*redis.Options{ill}, options(masters[:4])...), quick())
			within(t, atOnce, "Connect", func() { require.NoError(t, client.Connect(context.Background())) })
			pair := func(client *redlock.Client, what string) (took time.Duration) {
				name := fmt.Sprint(a.name, rand.Text())
				start := time.Now()
				var lock *redlock.Lock
				within(t, atOnce, what+" acquisition", func() { lock = acquire(t, client, name, time.Minute) })
				within(t, atOnce, what+" extension", func() { require.NoError(t, lock.Extend(context.Background(), 2*time.Minute)) })
				within(t, atOnce, what+" release", func() { require.NoError(t, lock.Release(context.Background())) })
				return time.Since(start)
			}
			pair(client, "the first")

			healthy := newClient(t, options(masters), quick())
			require.NoError(t, healthy.Connect(context.Background()))
			var ours, theirs []time.Duration
			for range 30 { // in turns, so that both have the same machine
				ours = append(ours, pair(client, "a later"))
				theirs = append(theirs, pair(healthy, "a healthy"))
			}
			time.Sleep(nodeTimeout) // its first request is over
			for range 30 {
				ours = append(ours, pair(client, "a late"))
				theirs = append(theirs, pair(healthy, "a healthy"))
			}
			assert.LessOrEqual(t, median(ours), 2*median(theirs)+2*time.Millisecond, "of 4 nodes and an ill one, and of 5")
			require.NoError(t, client.Shutdown(context.Background()), "the last deletes are through")
			require.NoError(t, healthy.Shutdown(context.Background()))
		})
	}
	t.Cleanup(func() { eventuallyClean(t, masters, bound) })
}

func TestNodesThatCannotBeReachedAreNamedWithWhy(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 2, process.Config{})
	for _, a := range ailments {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			var nodes []*redis.Options
			for range 3 {
				ill := a.node(t)
				ill.Password = password
				nodes = append(nodes, ill)
			}
			opts := quick()
			client := newClient(t, slices.Concat(nodes, options(masters)), opts)
			named := func(err error) {
				t.Helper()
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
				require.NotErrorIs(t, err, redlock.ErrHeld)
				require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller has no deadline")
				for i, n := range quorumError(t, err).Nodes[:3] {
					require.Equal(t, strings.ToLower(nodes[i].Addr), n.Node)
					require.Error(t, n.Err, "%v", err)
					if a.says != "" {
						require.ErrorContains(t, n.Err, a.says, "%v", err)
					}
					require.Contains(t, err.Error(), n.Node)
				}
				hidden(t, err)
			}
			if a.says == "NOPERM" { // it is connected all right
				require.NoError(t, client.Connect(context.Background()))
			} else {
				within(t, opts.ConnectTimeout, "Connect", func() { named(client.Connect(context.Background())) })
			}
			try := func(what string, limit time.Duration) {
				t.Helper()
				within(t, limit, what, func() {
					lock, err := client.TryAcquire(context.Background(), a.name, time.Minute)
					require.Nil(t, lock)
					named(err)
				})
			}
			try("the first acquisition", opts.ConnectTimeout+nodeTimeout)
			for range 3 {
				try("a later acquisition", nodeTimeout)
			}
			for _, m := range masters {
				eventually(t, bound, "nothing is left", func() bool { return get(m, a.name) == "" })
			}
		})
	}
}

// An absence is how a node goes and comes back.
type absence struct {
	name string
	// A node, and what makes it go and come back.
	node func(t *testing.T) (m master, o *redis.Options, leave, comeBack func())
}

var absences = []absence{
	{"killed and restarted", func(t *testing.T) (master, *redis.Options, func(), func()) {
		m := startServers(t, 1, process.Config{})[0]
		return m, m.Options(), m.Down, m.Up
	}},
	{"stopped and continued", func(t *testing.T) (master, *redis.Options, func(), func()) {
		m := startServers(t, 1, process.Config{})[0]
		return m, m.Options(), m.Hang, m.Resume
	}},
	{"listener closed and opened", func(t *testing.T) (master, *redis.Options, func(), func()) {
		m := startServers(t, 1, process.Config{})[0]
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(sparePort(t)))
		leave := relay(t, addr, m.String())
		return m, &redis.Options{Addr: addr}, leave, func() { relay(t, addr, m.String()) }
	}},
	{"half-open", func(t *testing.T) (master, *redis.Options, func(), func()) {
		m := startServers(t, 1, process.Config{})[0]
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(sparePort(t)))
		stop := relay(t, addr, m.String())
		return m, &redis.Options{Addr: addr}, func() {
			stop()
			l := listen(t, addr)
			stop = serve(t, l, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		}, func() { stop(); relay(t, addr, m.String()) }
	}},
	// As behind a balancer: what was accepted while the node was away stays
	// silent for ever, and new connections are good.
	{"half-open for good", func(t *testing.T) (master, *redis.Options, func(), func()) {
		m := startServers(t, 1, process.Config{})[0]
		var mu sync.Mutex
		away := false
		set := func(to bool) func() {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				away = to
				if away {
					m.Do("CLIENT", "KILL", "TYPE", "normal")
				}
			}
		}
		addr := accepting(t, func(c net.Conn) {
			mu.Lock()
			silent := away
			mu.Unlock()
			if silent {
				_, _ = io.Copy(io.Discard, c)
				return
			}
			lead(c, m.String())
		})
		return m, &redis.Options{Addr: addr}, set(true), set(false)
	}},
	{"password changed and restored", func(t *testing.T) (master, *redis.Options, func(), func()) {
		m := startServers(t, 1, process.Config{Args: []string{"--user", "admin", "on", "nopass", "~*", "+@all"}})[0]
		change := func(to string) func() {
			return func() {
				c := redis.NewClient(&redis.Options{Addr: m.String(), Username: "admin", Password: "any"})
				defer c.Close()
				require.NoError(t, c.Do(context.Background(), "ACL", "SETUSER", "locker", "on", "resetpass", ">"+to, "~*", "+@all").Err())
				_ = c.ClientKillByFilter(context.Background(), "USER", "locker")
			}
		}
		change(password)()
		o := &redis.Options{Addr: m.String(), Username: "locker", Password: password}
		return m, o, change("another"), change(password)
	}},
}

// relay listens at addr and leads to the server at to, until stop is called.
func relay(t *testing.T, addr, to string) (stop func()) {
	t.Helper()
	return serve(t, listen(t, addr), func(c net.Conn) { lead(c, to) })
}

// listen listens at addr once nobody else does. A process that another test is
// starting has a copy of a socket that was closed, until it runs.
func listen(t *testing.T, addr string) (l net.Listener) {
	t.Helper()
	eventually(t, bound, "the address is free", func() bool {
		var err error
		l, err = net.Listen("tcp", addr)
		return err == nil
	})
	return l
}

// lead connects a connection with the server at to, until one of the two ends.
func lead(c net.Conn, to string) {
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, c)
		server.Close()
	}()
	_, _ = io.Copy(c, server)
	c.Close()
	<-done
}

func TestNodeThatComesBackCountsSoon(t *testing.T) {
	t.Parallel()
	process.Need(t)
	masters := startServers(t, 4, process.Config{})
	for _, a := range absences {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m, o, leave, comeBack := a.node(t)
			client := newClient(t, append(options(masters), o), &redlock.Options{NodeTimeout: nodeTimeout})
			untilCounted(t, client, m)
			leave()
			gone := time.Now()
			for time.Since(gone) < 2500*time.Millisecond { // pauses have grown by then
				lock := acquire(t, client, rand.Text(), time.Minute)
				require.NoError(t, lock.Release(context.Background()))
				time.Sleep(time.Millisecond)
			}
			comeBack()
			back := time.Now()
			took := untilCounted(t, client, m)
			t.Logf("counts after %v", took.Round(time.Millisecond))
			assert.LessOrEqual(t, took, 1500*time.Millisecond+machine.since(back))
			require.NoError(t, client.Close())
		})
	}
}

// untilCounted makes acquisitions until m has the key of one, and returns how
// long that took.
func untilCounted(t *testing.T, client *redlock.Client, m master) time.Duration {
	t.Helper()
	start := time.Now()
	eventually(t, bound, "the node counts", func() bool {
		name := rand.Text()
		lock, err := client.TryAcquire(context.Background(), name, time.Minute)
		if err != nil {
			return false
		}
		counted := false
		for try := 0; try < 5 && !counted; try++ { // it may be the last to answer
			counted = strings.HasPrefix(get(m, name), lock.Token())
		}
		return lock.Release(context.Background()) == nil && counted
	})
	return time.Since(start)
}
