package redlocktest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestNodeConforms(t *testing.T) {
	t.Parallel()
	redlocktest.Conform(t, func(t *testing.T) redlock.Node {
		n := redlocktest.NewNode("node-1", nil)
		t.Cleanup(func() { n.Close() })
		return n
	})
}

// All subtests are connections to one node, whose answers are late.
func TestConnectionsToASlowNodeConform(t *testing.T) {
	t.Parallel()
	server := redlocktest.NewNode("node-1", nil)
	server.Slow(time.Millisecond)
	redlocktest.Conform(t, func(t *testing.T) redlock.Node {
		conn := server.Conn()
		t.Cleanup(func() { conn.Close() })
		return connection{conn, server}
	})
}

// A connection can make its server silent.
type connection struct {
	redlock.Node
	server *redlocktest.Node
}

func (c connection) Hang()   { c.server.Hang() }
func (c connection) Resume() { c.server.Resume() }

func TestNodeFuncConforms(t *testing.T) {
	t.Parallel()
	redlocktest.Conform(t, func(t *testing.T) redlock.Node {
		n := newStoreNode(new(store))
		t.Cleanup(func() { n.Close() })
		return n
	})
}

// A storeNode can be made silent, so that Conform tests that too.
type storeNode struct {
	redlock.Node

	mu     sync.Mutex
	silent chan struct{} // closed when the silence ends; guarded by mu
}

func newStoreNode(s *store) *storeNode {
	n := &storeNode{silent: make(chan struct{})}
	close(n.silent)
	n.Node = redlock.NodeFunc("store", func(ctx context.Context, c *redlock.Command) redlock.Answer {
		n.mu.Lock()
		silent := n.silent
		n.mu.Unlock()
		select {
		case <-silent:
			return s.do(ctx, c)
		case <-ctx.Done():
			return redlock.Answer{Vote: redlock.VoteUnknown, Err: context.Cause(ctx)}
		}
	})
	return n
}

func (n *storeNode) Hang() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = make(chan struct{})
}

func (n *storeNode) Resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.silent)
}
