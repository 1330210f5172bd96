package redlocktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// settle is a job that one server of several runs.
func settle(ctx context.Context, client *redlock.Client) string {
	lock, err := client.TryAcquire(ctx, "settle", 30*time.Second)
	var q *redlock.QuorumError
	switch {
	case errors.Is(err, redlock.ErrHeld) && errors.As(err, &q):
		return "skipped: " + q.Holder() + " does it"
	case err != nil:
		return "failed"
	}
	defer func() { _ = lock.Release(ctx) }() // if not confirmed, its TTL ends it
	return "settled"
}

// In a test, t is the test's own.
var t exampleTB

// An exampleTB is as much of a testing.TB as an example needs.
type exampleTB struct{ testing.TB }

func (exampleTB) Helper()        {}
func (exampleTB) Cleanup(func()) {}
func (exampleTB) Fatal(v ...any) { panic(fmt.Sprint(v...)) }

func ExampleNew() {
	client := redlocktest.New(t, 3)
	fmt.Println(settle(context.Background(), client))
	// Output: settled
}

func ExampleNewHeld() {
	client := redlocktest.NewHeld(t, 3, "worker-7")
	fmt.Println(settle(context.Background(), client))
	// Output: skipped: worker-7 does it
}

func ExampleNewClient() {
	nodes := redlocktest.Nodes(3)
	client := redlocktest.NewClient(t, nodes, nil)

	nodes[0].Down()
	fmt.Println("one of three down:", settle(context.Background(), client))
	nodes[1].Down()
	fmt.Println("two of three down:", settle(context.Background(), client))
	// Output:
	// one of three down: settled
	// two of three down: failed
}
