package redlock

import (
	"context"

	"github.com/quorumlock/redlock/quorum"
)

// Connect waits until a quorum of nodes is ready, which makes the first
// acquisition as fast as later ones. It is never necessary. The error wraps
// ErrNoQuorum if so many nodes failed that none is possible, the context's
// error if ctx ended first, or ErrClosed. What was begun goes on: later
// acquisitions profit.
func (c *Client) Connect(ctx context.Context) error {
	if c == nil || len(c.voters) == 0 {
		return invalidClient()
	}
	if err := c.refused(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.draining, func() { cancel(ErrClosed) })()

	decision, ballots := quorum.Call(ctx, len(c.voters), c.need, c.connectNode, nil)
	if decision == quorum.Won {
		c.connectOnce.Do(func() { close(c.connected) })
		return nil
	}
	if err := c.refused(); err != nil {
		return err
	}
	e := &QuorumError{Op: "connect", Need: c.need, class: ErrNoQuorum}
	for i, b := range ballots {
		b.Answer.Node = c.voters[i].name // also of one that has not answered
		e.Nodes = append(e.Nodes, b.Answer)
	}
	if ctx.Err() != nil {
		e.class = nil
		return e.withContext(ctx)
	}
	return e
}

func (c *Client) connectNode(ctx context.Context, i int) (NodeResult, quorum.Vote) {
	if err := c.voters[i].node.Connect(ctx); err != nil {
		return NodeResult{Vote: VoteNotSent, Err: err}, quorum.Fault
	}
	return NodeResult{Vote: VoteYes}, quorum.Yes
}

// awaitConnected makes the first acquisitions wait until a quorum is connected,
// or known to be out of reach, at most ConnectTimeout.
func (c *Client) awaitConnected(ctx context.Context, name string) error {
	select {
	case <-c.connected:
		return nil
	default:
	}
	c.connectOnce.Do(func() {
		go func() {
			defer close(c.connected)
			ctx, cancel := context.WithTimeout(c.draining, c.opts.ConnectTimeout)
			defer cancel()
			quorum.Call(ctx, len(c.voters), c.need, c.connectNode, nil)
		}()
	})
	select {
	case <-c.connected:
		return nil
	case <-ctx.Done():
		return c.endedBy(ctx, name, nil)
	case <-c.draining.Done():
		return c.refused()
	}
}
