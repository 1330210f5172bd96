package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// The job that several servers start at the same time: one does it.
func Example() {
	client, err := redlock.Open([]string{
		"redis://127.0.0.1:7101", "redis://127.0.0.1:7102", "redis://127.0.0.1:7103",
		"redis://127.0.0.1:7104", "redis://127.0.0.1:7105",
	}, nil)
	if err != nil {
		log.Fatal(err)
	}

	err = client.TryDo(context.Background(), "settle:2026-06-30", 30*time.Second,
		func(ctx context.Context, lock *redlock.Lock) error {
			return settle(ctx) // ctx ends when the lock is lost
		})
	switch {
	case err == nil:
		log.Print("done")
	case errors.Is(err, redlock.ErrHeld):
		log.Print("skipped: ", err) // another server is at it
	default:
		log.Print("alert: ", err)
	}
	_ = client.Close()
}

// settle is the job.
func settle(ctx context.Context) error { return ctx.Err() }

// exampleClient returns a client of nodes in memory; a program would use Open or New.
// Every client has connections of its own to the nodes.
func exampleClient(nodes []*redlocktest.Node, opts *redlock.Options) *redlock.Client {
	var conns []redlock.Node
	for _, n := range nodes {
		conns = append(conns, n.Conn())
	}
	client, err := redlock.NewFrom(conns, opts)
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func ExampleNew() {
	client, err := redlock.New([]*redis.Options{
		{Addr: "redis-a:6379", Username: "locks", Password: os.Getenv("REDIS_PASSWORD")},
		{Addr: "redis-b:6379", Username: "locks", Password: os.Getenv("REDIS_PASSWORD")},
		{Addr: "redis-c:6379", Username: "locks", Password: os.Getenv("REDIS_PASSWORD")},
	}, &redlock.Options{KeyPrefix: "locks:", Owner: "billing-7"})
	if err != nil {
		fmt.Println(err) // a mistake in the arguments: New does no I/O
		return
	}
	defer client.Close()
	fmt.Println(client.Quorum(), "of", client.Nodes())
	// Output: 2 of 3
}

// Two servers have the same timer.
func ExampleClient_TryDo() {
	nodes := redlocktest.Nodes(3)
	one := exampleClient(nodes, &redlock.Options{Owner: "server-1"})
	two := exampleClient(nodes, &redlock.Options{Owner: "server-2"})
	defer one.Close()
	defer two.Close()
	ctx := context.Background()

	err := one.TryDo(ctx, "settle:2026-06-30", 30*time.Second, func(context.Context, *redlock.Lock) error {
		fmt.Println("server-1 works")
		err := two.TryDo(ctx, "settle:2026-06-30", 30*time.Second, func(context.Context, *redlock.Lock) error {
			fmt.Println("never printed")
			return nil
		})
		fmt.Println("server-2 skips:", errors.Is(err, redlock.ErrHeld))
		return nil
	})
	fmt.Println("server-1:", err)
	// Output:
	// server-1 works
	// server-2 skips: true
	// server-1: <nil>
}

// A QuorumError tells who holds the lock, and what each node said.
func ExampleClient_TryAcquire() {
	nodes := redlocktest.Nodes(3)
	one := exampleClient(nodes, &redlock.Options{Owner: "server-1"})
	two := exampleClient(nodes, &redlock.Options{Owner: "server-2"})
	defer one.Close()
	defer two.Close()
	ctx := context.Background()

	lock, err := one.TryAcquire(ctx, "settle:2026-06-30", 30*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = two.TryAcquire(ctx, "settle:2026-06-30", 30*time.Second)
	var q *redlock.QuorumError
	if errors.Is(err, redlock.ErrHeld) && errors.As(err, &q) {
		fmt.Println("held by", q.Holder())
	}
	fmt.Println("released:", lock.Release(ctx) == nil)
	// Output:
	// held by server-1
	// released: true
}

// Acquire waits for the lock as long as its context lasts.
func ExampleClient_Acquire() {
	nodes := redlocktest.Nodes(3)
	one := exampleClient(nodes, &redlock.Options{Owner: "server-1"})
	two := exampleClient(nodes, &redlock.Options{Owner: "server-2"})
	defer one.Close()
	defer two.Close()
	held, err := one.TryAcquire(context.Background(), "report", 30*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = two.Acquire(ctx, "report", 30*time.Second)
	fmt.Println("my time was over:", errors.Is(err, context.DeadlineExceeded))
	fmt.Println("because somebody held it:", errors.Is(err, redlock.ErrHeld))

	time.AfterFunc(20*time.Millisecond, func() { _ = held.Release(context.Background()) })
	lock, err := two.Acquire(context.Background(), "report", 30*time.Second)
	fmt.Println("after the release:", err)
	fmt.Println("released:", lock.Release(context.Background()))
	// Output:
	// my time was over: true
	// because somebody held it: true
	// after the release: <nil>
	// released: <nil>
}

// Work under the lock's context ends when the lock does.
func ExampleLock_Context() {
	client := exampleClient(redlocktest.Nodes(3), nil)
	defer client.Close()

	lock, err := client.TryAcquire(context.Background(), "report", 100*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := lock.Context(context.Background())
	defer cancel()

	<-ctx.Done() // nobody extends the lock: it runs out
	fmt.Println("lost:", errors.Is(context.Cause(ctx), redlock.ErrLost))
	// Output: lost: true
}

// A job that may take longer than the TTL keeps its lock alive. Do and TryDo do
// that by themselves.
func ExampleLock_KeepAlive() {
	client := exampleClient(redlocktest.Nodes(3), nil)
	defer client.Close()
	ctx := context.Background()

	lock, err := client.TryAcquire(ctx, "report", time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := lock.KeepAlive(redlock.KeepAlive{MaxHold: time.Hour}); err != nil {
		fmt.Println(err)
		return
	}
	time.Sleep(1200 * time.Millisecond)
	fmt.Println("held after more than the TTL:", lock.Err() == nil)
	fmt.Println("released:", lock.Release(ctx) == nil)
	// Output:
	// held after more than the TTL: true
	// released: true
}

// A failed extension leaves the lock as it was.
func ExampleLock_Extend() {
	nodes := redlocktest.Nodes(3)
	client := exampleClient(nodes, nil)
	defer client.Close()
	ctx := context.Background()

	lock, err := client.TryAcquire(ctx, "report", 10*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = lock.Extend(ctx, 30*time.Second)
	fmt.Println("extended:", err == nil, lock.Remaining() > 25*time.Second)

	nodes[0].Down()
	nodes[1].Down()
	err = lock.Extend(ctx, 60*time.Second)
	fmt.Println("no quorum:", errors.Is(err, redlock.ErrNoQuorum))
	fmt.Println("still held:", lock.Err() == nil, lock.Remaining() > 25*time.Second)
	// Output:
	// extended: true true
	// no quorum: true
	// still held: true true
}

// Shutdown lets the work that is under way stop and release.
func ExampleClient_Shutdown() {
	client := exampleClient(redlocktest.Nodes(3), nil)
	working, done := make(chan struct{}), make(chan error)
	go func() {
		done <- client.Do(context.Background(), "report", 30*time.Second,
			func(ctx context.Context, _ *redlock.Lock) error {
				close(working)
				<-ctx.Done()
				fmt.Println("told to stop:", errors.Is(context.Cause(ctx), redlock.ErrClosed))
				return context.Cause(ctx)
			})
	}()
	<-working

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println("shut down:", client.Shutdown(ctx))
	fmt.Println("the lock was held until the end:", !errors.Is(<-done, redlock.ErrLost))
	// Output:
	// told to stop: true
	// shut down: <nil>
	// the lock was held until the end: true
}

// Trace tells a program's log, and its metrics, what happens to locks and nodes.
func ExampleTrace() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // the example's output must not change
			}
			return a
		},
	}))
	nodes := redlocktest.Nodes(3)
	client := exampleClient(nodes, &redlock.Options{Trace: &redlock.Trace{
		Attempt: func(ctx context.Context, name string, try int, _ time.Duration, err error) {
			log.InfoContext(ctx, "attempt", "lock", name, "try", try, "won", err == nil)
		},
		Lost: func(name string, err error) {
			log.Warn("lost", "lock", name, "err", err)
		},
		Released: func(ctx context.Context, name string, err error) {
			log.InfoContext(ctx, "released", "lock", name, "err", err)
		},
		Suspect: func(node string, suspect bool) {
			log.Warn("suspect", "node", node, "suspect", suspect)
		},
	}})
	ctx := context.Background()

	if lock, err := client.TryAcquire(ctx, "report", 30*time.Second); err == nil {
		_ = lock.Release(ctx) // Trace has it
	}
	_, _ = client.TryAcquire(ctx, "bill", 30*time.Second)
	_ = client.Close() // while "bill" is held
	// Output:
	// level=INFO msg=attempt lock=report try=1 won=true
	// level=INFO msg=released lock=report err=<nil>
	// level=INFO msg=attempt lock=bill try=1 won=true
	// level=WARN msg=lost lock=bill err="redlock: \"bill\": lock lost: client closed"
}

// A voteTable is anything that can compare and set a row: here a map, elsewhere a
// table of a database.
type voteTable struct {
	mu   sync.Mutex
	rows map[string]voteRow // guarded by mu
}

type voteRow struct {
	value   string
	expires time.Time
}

// do carries out a command of the lock on the table. A do that can block must
// heed its context.
func (t *voteTable) do(_ context.Context, c *redlock.Command) redlock.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.rows[c.Key]
	ok = ok && time.Now().Before(found.expires)
	until := time.Now().Add(c.TTL)

	creates := c.Op == redlock.OpAcquire || c.Op == redlock.OpHeal
	switch {
	case creates && !ok:
		t.rows[c.Key] = voteRow{c.Value, until}
	case creates || ok && found.value != c.Value:
		return redlock.Answer{Vote: redlock.VoteForeign, Value: found.value}
	case !ok:
		return redlock.Answer{Vote: redlock.VoteAbsent}
	case c.Op == redlock.OpExtend:
		if until.After(found.expires) { // an extension never shortens
			t.rows[c.Key] = voteRow{c.Value, until}
		}
	case c.Op == redlock.OpRelease:
		delete(t.rows, c.Key)
	default:
		return redlock.Answer{Vote: redlock.VoteError, Err: redlock.ErrUnsupported}
	}
	return redlock.Answer{Vote: redlock.VoteYes}
}

// Anything that can keep a value under a key for a time can vote.
// redlocktest.Conform tests whether it does so properly.
func ExampleNodeFunc() {
	var nodes []redlock.Node
	for _, name := range []string{"table-a", "table-b", "table-c"} {
		t := &voteTable{rows: make(map[string]voteRow)}
		nodes = append(nodes, redlock.NodeFunc(name, t.do))
	}
	client, err := redlock.NewFrom(nodes, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	lock, err := client.TryAcquire(context.Background(), "report", 30*time.Second)
	fmt.Println("acquired:", err)
	_, err = client.TryAcquire(context.Background(), "report", 30*time.Second)
	fmt.Println("free:", !errors.Is(err, redlock.ErrHeld))
	fmt.Println("released:", lock.Release(context.Background()))
	// Output:
	// acquired: <nil>
	// free: false
	// released: <nil>
}
