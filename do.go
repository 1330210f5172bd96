package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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
