// Command wallclock holds a lock of the servers that its arguments name, and says
// what is wrong. It is built with a time package whose wall clock jumps.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock"
)

const ttl = 3 * time.Second

func main() {
	if err := hold(os.Args[1:]); err != nil {
		fmt.Println("WRONG:", err)
		os.Exit(1)
	}
	fmt.Println("held, extended, released and lost in time")
}

func hold(addrs []string) error {
	if jump := time.Now().Round(0).Sub(time.Now().Round(0)).Abs(); jump < time.Hour {
		return fmt.Errorf("the wall clock moved by %v: nothing is shown", jump)
	}
	opts := make([]*redis.Options, len(addrs))
	for i, addr := range addrs {
		opts[i] = &redis.Options{Addr: addr}
	}
	client, err := redlock.New(opts, &redlock.Options{NodeTimeout: ttl / 2})
	if err != nil {
		return err
	}
	defer client.Close()

	// Kept alive for longer than its TTL.
	ctx := context.Background()
	lock, err := client.TryAcquire(ctx, "wall", ttl)
	if err != nil {
		return err
	}
	if err := lock.KeepAlive(redlock.KeepAlive{}); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < 6*ttl/5; time.Sleep(time.Millisecond) {
		if left := lock.Remaining(); lock.Err() != nil || left <= 0 || left > ttl {
			return fmt.Errorf("after %v: %v remaining of %v, %v", time.Since(start), left, ttl, lock.Err())
		}
	}
	if err := lock.Release(ctx); err != nil {
		return err
	}

	// Left to run out.
	start := time.Now() // before T1
	if lock, err = client.Acquire(ctx, "wall", ttl); err != nil {
		return err
	}
	for lock.Remaining() > 0 {
		if held := time.Since(start); held > 2*ttl {
			return fmt.Errorf("still held after %v of %v", held, ttl)
		}
		time.Sleep(time.Millisecond)
	}
	<-lock.Done()
	if err := lock.Release(ctx); !errors.Is(err, redlock.ErrLost) {
		return fmt.Errorf("release after the end: %w", err)
	}
	return nil
}
