package clock

import (
	"sync/atomic"
	"time"
)

// A watch says for how long the machine has been suspended, and asks the kernel,
// which costs a system call, only when that may have changed: a suspend moves the
// wall clock against the monotonic one, which Go reads without. Since somebody
// could set the wall clock back by just as much afterwards, it also asks when it
// has not for askEvery.
type watch struct {
	start time.Time
	ask   func() time.Duration
	last  atomic.Pointer[look]
}

// A look is what the kernel said, and when.
type look struct {
	slept time.Duration
	at    time.Duration // on the monotonic clock, since the start
	ahead time.Duration // by how much the wall clock had moved against it since then
}

const (
	askEvery = 10 * time.Millisecond
	wallStep = suspendStep / 10
)

// suspended returns what the kernel says, or said lately, at the reading now.
func (w *watch) suspended(now time.Time) time.Duration {
	at := now.Sub(w.start)
	ahead := time.Duration(now.UnixNano()-w.start.UnixNano()) - at
	if last := w.last.Load(); last != nil && (at-last.at).Abs() < askEvery && (ahead-last.ahead).Abs() < wallStep {
		return last.slept
	}
	slept := w.ask()
	// What comes after a pause may be too little: it counts for this once.
	if time.Since(w.start)-at < wallStep {
		w.last.Store(&look{slept, at, ahead})
	}
	return slept
}
