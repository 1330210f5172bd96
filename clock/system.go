package clock

import (
	"sync/atomic"
	"time"
)

// suspendStep is the shortest suspend that System counts. It keeps the gap
// between two readings of the kernel's clocks from showing up as time.
const suspendStep = time.Millisecond

// System returns a clock that starts at zero now. It follows Go's monotonic
// clock, which no setting of the wall clock moves, plus the time that the
// machine was suspended (Linux: CLOCK_BOOTTIME less CLOCK_MONOTONIC; a suspend
// shorter than a millisecond is not seen; other systems: as Go's monotonic
// clock does). A stop of the virtual machine together with its clocks cannot
// be seen from inside.
//
// Its timers are Go's. They do not run while the machine is suspended, so they
// are late by that much afterwards, while Now is right at once.
//
// In a testing/synctest bubble a System made inside it follows the bubble's
// time, exactly.
func System() Clock {
	start := time.Now()
	ask := func() time.Duration { return suspendedSince(start) }
	if start == start.Round(0) { //nolint:staticcheck // Equal would not see what == sees: no monotonic reading, so a bubble's time
		ask = suspended
	}
	w := watch{start: start, ask: ask}
	return newSystem(w.suspended)
}

type system struct {
	start     time.Time
	suspended func(now time.Time) time.Duration
	slept     time.Duration // what suspended said at the start
	extra     atomic.Int64  // suspended since then; only ever grows
}

func newSystem(suspended func(now time.Time) time.Duration) *system {
	start := time.Now()
	s := &system{start: start, suspended: suspended, slept: suspended(start)}
	// A reading is too small by the pause in its middle. Too small a start
	// would make every later, better reading look like a suspend, so take the
	// best of a few.
	for range 3 {
		s.slept = max(s.slept, suspended(time.Now()))
	}
	return s
}

func (s *system) Now() time.Duration {
	now := time.Now()
	extra := time.Duration(s.extra.Load())
	if slept := s.suspended(now) - s.slept; slept-extra > suspendStep {
		extra = s.advance(slept)
	}
	return now.Sub(s.start) + extra
}

// advance raises extra to slept, and returns what it is afterwards: another
// goroutine may have raised it further.
func (s *system) advance(slept time.Duration) time.Duration {
	for {
		old := s.extra.Load()
		if old >= int64(slept) {
			return time.Duration(old)
		}
		if s.extra.CompareAndSwap(old, int64(slept)) {
			return slept
		}
	}
}

func (s *system) AfterFunc(d time.Duration, f func()) Timer {
	return time.AfterFunc(d, f)
}
