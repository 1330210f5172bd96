package live_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/clock"
)

// A lateClock keeps its timers from firing, as a busy machine or a suspended
// process does, until it catches up: then they fire in any order.
type lateClock struct {
	clock.Clock

	mu   sync.Mutex
	late bool         // guarded by mu
	held []*heldTimer // set while it was late, in the order of setting; guarded by mu
}

type heldTimer struct {
	clock *lateClock
	f     func()
	real  clock.Timer // nil while it is held; guarded by clock.mu
}

func (c *lateClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &heldTimer{clock: c, f: f}
	t.Reset(d)
	return t
}

func (t *heldTimer) Reset(d time.Duration) bool {
	was := t.Stop()
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.clock.late {
		t.clock.held = append(t.clock.held, t)
	} else {
		t.real = t.clock.Clock.AfterFunc(d, t.f)
	}
	return was
}

func (t *heldTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	for i, h := range t.clock.held {
		if h == t {
			t.clock.held = append(t.clock.held[:i], t.clock.held[i+1:]...)
			return true
		}
	}
	if t.real == nil {
		return false
	}
	was := t.real.Stop()
	t.real = nil
	return was
}

func (c *lateClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = true
}

// pending returns how many timers are held.
func (c *lateClock) pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.held)
}

// catchUp fires the timers held, the one set last first. Those that are set while
// it does so wait their time, unless first is positive: so many come first.
func (c *lateClock) catchUp(first int) {
	for n := 1; ; n++ {
		c.mu.Lock()
		c.late = n <= first
		last := len(c.held) - 1
		if last < 0 {
			c.mu.Unlock()
			return
		}
		t := c.held[last]
		c.held = c.held[:last]
		c.mu.Unlock()
		t.f()
	}
}

// The time of an attempt and of its undo is over, both while the process was not
// running. Whichever it hears of first, the key is looked for.
func TestUndoWhoseTimeIsOverBeforeItsAttemptsIsNotForgotten(t *testing.T) {
	t.Parallel()
	process.Need(t)
	for _, name := range []string{"in order", "in reverse"} {
		t.Run(name, func(t *testing.T) {
			masters := startServers(t, 1, process.Config{})
			c := &lateClock{Clock: clock.System()}
			client := connected(t, masters, &redlock.Options{NodeTimeout: 5 * time.Second, ConnectTimeout: 5 * time.Second, Clock: c})
			log := monitor(t, masters)[0]
			c.stop()
			masters[0].Hang()
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() {
				_, err := client.TryAcquire(ctx, "job", time.Minute)
				ended <- err
			}()
			eventually(t, bound, "the attempt's timer is set", func() bool { return c.pending() == 1 })
			time.Sleep(50 * time.Millisecond) // it is under way
			cancel()
			require.ErrorIs(t, <-ended, context.Canceled)
			eventually(t, bound, "the undo's timer is set", func() bool { return c.pending() == 2 })
			if name == "in reverse" {
				// The undo's timer gives its waiter up, and then the undo; the
				// attempt's is last.
				c.catchUp(2)
			} else {
				c.mu.Lock()
				c.held[0], c.held[1] = c.held[1], c.held[0]
				c.mu.Unlock()
				c.catchUp(0)
			}
			masters[0].Resume()
			sets := func() int {
				n := 0
				for _, c := range log.read() {
					if c.Args[0] == "set" && c.Args[1] == "job" {
						n++
					}
				}
				return n
			}
			eventually(t, bound, "the SET arrives", func() bool { return sets() == 1 })
			eventually(t, 2*time.Second, "and is undone", func() bool { return get(masters[0], "job") == "" })
		})
	}
}
