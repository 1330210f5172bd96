package redlock

import (
	"context"
	"sync"
	"time"
)

// NodeFunc makes a [Node] of a blocking function that carries out one command.
// Every request runs in a goroutine of its own, under a context that ends after
// the request's timeout; a function that does not return then is answered for
// with VoteUnknown, and what it returns later is dropped. name is the node's.
//
// Requests with one key are carried out one after the other, as long as each is
// answered in time; those with different keys at the same time.
func NodeFunc(name string, do func(ctx context.Context, c *Command) Answer) Node {
	n := &funcNode{name: name, do: do, last: make(map[string]chan struct{})}
	n.life, n.end = context.WithCancelCause(context.Background())
	return n
}

type funcNode struct {
	name string
	do   func(context.Context, *Command) Answer
	life context.Context // ends with Close
	end  context.CancelCauseFunc

	mu   sync.Mutex
	last map[string]chan struct{} // by key: closed when the request sent last is over; guarded by mu
}

func (n *funcNode) String() string { return n.name }

func (n *funcNode) Connect(context.Context) error { return n.lifeErr() }

func (n *funcNode) Close() error {
	n.end(ErrClosed)
	return nil
}

func (n *funcNode) lifeErr() error {
	if n.life.Err() != nil {
		return context.Cause(n.life)
	}
	return nil
}

func (n *funcNode) Send(r *Request) {
	if err := n.lifeErr(); err != nil {
		r.Answer(Answer{Vote: VoteNotSent, Err: err})
		return
	}
	before, over := n.enqueue(r.Key)
	go func() {
		defer over()
		if err := n.await(before, r.Timeout); err != nil {
			r.Answer(Answer{Vote: VoteNotSent, Err: err})
			return
		}
		if !r.Begin() {
			return
		}
		ctx, cancel := context.WithTimeoutCause(n.life, r.Timeout, ErrNodeTimeout)
		defer cancel()
		stop := context.AfterFunc(ctx, func() {
			r.Answer(Answer{Vote: VoteUnknown, Err: context.Cause(ctx)})
			over()
		})
		defer stop()
		r.Answer(n.do(ctx, r.Command))
	}()
}

// enqueue returns what a request with this key has to wait for, nil if for
// nothing, and what to call when it is over: answered, or given up.
func (n *funcNode) enqueue(key string) (before <-chan struct{}, over func()) {
	done := make(chan struct{})
	n.mu.Lock()
	defer n.mu.Unlock()
	before, n.last[key] = n.last[key], done
	return before, sync.OnceFunc(func() {
		n.mu.Lock()
		if n.last[key] == done {
			delete(n.last, key)
		}
		n.mu.Unlock()
		close(done)
	})
}

// await waits for an earlier request, and returns why it cannot go on.
func (n *funcNode) await(before <-chan struct{}, timeout time.Duration) error {
	if before == nil {
		return nil
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-before:
		return nil
	case <-timer.C:
		return ErrNodeTimeout
	case <-n.life.Done():
		return n.lifeErr()
	}
}
