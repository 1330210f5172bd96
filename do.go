package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Do acquires the lock as Acquire does, keeps it alive as Options.KeepAlive
// says, runs fn and releases the lock, also if fn panics. fn's context ends,
// with the reason as its cause, when the lock is lost, ctx ends, or the client
// shuts down. fn never runs without the lock.
//
// If fn did not run, the error is the acquisition's. If it ran, it is fn's
// error, joined with ErrLost if the lock ended before fn returned, and with
// ErrClosed if that was why. A release that no quorum confirmed is told to Trace
// alone: fn's work was done under the lock, and the keys run out.
//
// A lock stops overlap, not repetition: whoever waited for the lock runs fn
// after the other has finished. See TryDo.
func (c *Client) Do(ctx context.Context, name string, ttl time.Duration, fn func(ctx context.Context, lock *Lock) error) error {
	return c.do(ctx, name, ttl, fn, (*Client).Acquire)
}

// TryDo is Do with TryAcquire: it does not wait for a holder. This is what a job
// wants that several servers start at the same time: one runs it, the others
// have ErrHeld.
func (c *Client) TryDo(ctx context.Context, name string, ttl time.Duration, fn func(ctx context.Context, lock *Lock) error) error {
	return c.do(ctx, name, ttl, fn, (*Client).TryAcquire)
}

type acquireFunc func(c *Client, ctx context.Context, name string, ttl time.Duration) (*Lock, error)

func (c *Client) do(
	ctx context.Context, name string, ttl time.Duration,
	fn func(context.Context, *Lock) error, acquire acquireFunc,
) error {
	if fn == nil {
		return fmt.Errorf("redlock: %w: nil function", ErrInvalid)
	}
	if c == nil || len(c.voters) == 0 {
		return invalidClient()
	}
	if l, err := c.opts.lease(ttl); err == nil { // if not, acquire says so
		if err := c.opts.KeepAlive.fits(l); err != nil {
			return err
		}
	}
	c.enter()
	defer c.leave()
	lock, err := acquire(c, ctx, name, ttl)
	if err != nil {
		return err
	}
	// Deferred, so that a panic or runtime.Goexit in fn releases as well.
	defer lock.Release(ctx) //nolint:errcheck // Trace has it
	if err := lock.KeepAlive(KeepAlive{}); err != nil {
		return err
	}
	if err := c.refused(); err != nil {
		return err
	}

	work, cancel := lock.Context(ctx)
	defer cancel()
	work, stop := context.WithCancelCause(work)
	defer stop(nil)
	defer context.AfterFunc(c.draining, func() { stop(ErrClosed) })()

	err = fn(work, lock)
	if lost := lock.Err(); errors.Is(lost, ErrLost) {
		err = errors.Join(err, lost)
	}
	return err
}
