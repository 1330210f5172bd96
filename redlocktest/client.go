package redlocktest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/quorumlock/redlock"
)

// New returns a client over count new nodes that all work. It is closed when the
// test ends. Where the test is about more than that a lock is there, make the
// nodes with [Nodes] and the client with [NewClient].
func New(tb testing.TB, count int) *redlock.Client {
	tb.Helper()
	return NewClient(tb, Nodes(count), nil)
}

// NewClient returns a client with connections of its own to the nodes, so that
// several clients can contend for the locks of the same nodes. It is closed when
// the test ends, or before; the nodes are not.
func NewClient(tb testing.TB, nodes []*Node, opts *redlock.Options) *redlock.Client {
	tb.Helper()
	conns := make([]redlock.Node, len(nodes))
	for i, n := range nodes {
		conns[i] = n.Conn()
	}
	return newClient(tb, conns, opts)
}

// NewHeld returns a client that finds every lock held by owner, on all of its
// count nodes: acquiring fails with [redlock.ErrHeld]. It is for tests of what a
// program does when somebody else has the lock. It is closed when the test ends.
func NewHeld(tb testing.TB, count int, owner string) *redlock.Client {
	tb.Helper()
	nodes := make([]redlock.Node, count)
	for i := range nodes {
		nodes[i] = held(fmt.Sprintf("node-%d", i+1), owner)
	}
	return newClient(tb, nodes, nil)
}

func newClient(tb testing.TB, nodes []redlock.Node, opts *redlock.Options) *redlock.Client {
	tb.Helper()
	client, err := redlock.NewFrom(nodes, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := client.Close(); err != nil && !errors.Is(err, redlock.ErrClosed) {
			tb.Errorf("close: %v", err)
		}
	})
	return client
}

// heldNodes numbers the nodes that Held has made: those of a client must have
// different names.
var heldNodes atomic.Int64

// Held returns a node on which owner holds everything, always under the same
// token: it answers every command with VoteForeign.
func Held(owner string) redlock.Node {
	return held(fmt.Sprintf("held-%d", heldNodes.Add(1)), owner)
}

func held(name, owner string) redlock.Node {
	token := sha1.Sum([]byte(owner)) // any 20 bytes, but on all nodes the same
	value := hex.EncodeToString(token[:]) + "/" + owner
	return redlock.NodeFunc(name, func(_ context.Context, c *redlock.Command) redlock.Answer {
		switch c.Op {
		case redlock.OpAcquire, redlock.OpExtend, redlock.OpHeal, redlock.OpRelease:
			return redlock.Answer{Vote: redlock.VoteForeign, Value: value}
		default:
			return redlock.Answer{Vote: redlock.VoteError, Err: redlock.ErrUnsupported}
		}
	})
}
