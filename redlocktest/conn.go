package redlocktest

import (
	"context"

	"github.com/quorumlock/redlock"
)

// A conn is one client's connection to a node.
type conn struct {
	node   *Node
	closed bool // guarded by node.mu
}

// Conn returns a further connection to the node, for a further client: its name,
// keys and faults are the node's, and closing it closes nothing else.
func (n *Node) Conn() redlock.Node { return &conn{node: n} }

func (c *conn) String() string { return c.node.name }

func (c *conn) Connect(ctx context.Context) error {
	n := c.node
	for {
		n.mu.Lock()
		refusal, hung, changed := c.refusalLocked(), n.mode == hung, n.changed
		n.mu.Unlock()
		if refusal != nil || !hung {
			return refusal
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refusalLocked returns why the connection takes nothing, or nil.
func (c *conn) refusalLocked() error {
	switch {
	case c.closed:
		return redlock.ErrClosed
	case c.node.mode == down:
		return errRefused
	default:
		return nil
	}
}

func (c *conn) Close() error {
	n := c.node
	n.mu.Lock()
	c.closed = true
	replies := n.breakLocked(c, redlock.ErrClosed)
	n.wakeLocked()
	n.mu.Unlock()
	give(replies)
	return nil
}

// Send gives no answer while it holds the lock: an answer may lead to the next
// Send.
func (c *conn) Send(r *redlock.Request) {
	n := c.node
	n.mu.Lock()
	if err := c.refusalLocked(); err != nil {
		n.mu.Unlock()
		r.Answer(redlock.Answer{Vote: redlock.VoteNotSent, Err: err})
		return
	}
	if !r.Begin() {
		n.mu.Unlock()
		return
	}
	answer, now := n.arriveLocked(c, r)
	n.mu.Unlock()
	if now {
		r.Answer(answer)
	}
}

// wakeLocked makes those who wait in Connect look again.
func (n *Node) wakeLocked() {
	close(n.changed)
	n.changed = make(chan struct{})
}
