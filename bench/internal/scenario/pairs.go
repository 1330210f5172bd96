package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/load"
)

// ttl is of locks that are released long before.
const ttl = 30 * time.Second

// runPairs acquires and releases so many locks, each with a name of its own, in
// so many goroutines. It fails if all do: some may on a machine that has much
// else to do.
func runPairs(ctx context.Context, client contender.Client, names string, goroutines, pairs int) error {
	var next, failed atomic.Int64
	var first atomic.Pointer[error]
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := next.Add(1); i <= int64(pairs); i = next.Add(1) {
				l, err := client.Acquire(ctx, fmt.Sprintf("%s-%05d", names, i), ttl)
				if err == nil {
					err = l.Release(ctx)
				}
				if err != nil {
					failed.Add(1)
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	all.Wait()
	if err := first.Load(); err != nil && failed.Load() == int64(pairs) {
		return *err
	}
	return ctx.Err()
}

// pairOf acquires and releases a lock.
func pairOf(client contender.Client) func(context.Context, *load.Worker) error {
	return func(ctx context.Context, w *load.Worker) error {
		l, err := client.Acquire(ctx, w.Name, ttl)
		w.Lap()
		if err != nil {
			return err
		}
		err = l.Release(ctx)
		w.Lap()
		return err
	}
}

// tripleOf acquires, extends, if that can be, and releases a lock.
func tripleOf(client contender.Client) func(context.Context, *load.Worker) error {
	return func(ctx context.Context, w *load.Worker) error {
		l, err := client.Acquire(ctx, w.Name, ttl)
		w.Lap()
		if err != nil {
			return err
		}
		var failed error
		if x, ok := l.(contender.Extender); ok {
			failed = x.Extend(ctx, ttl)
			w.Lap()
		} else {
			w.Skip()
		}
		err = l.Release(ctx)
		w.Lap()
		return errors.Join(failed, err)
	}
}
