package clock

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// equal: these tests do without testify, which would be listed in the go.sum of
// whoever imports the package.
func equal[T comparable](t *testing.T, want, got T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// moveWall returns t as a machine would have read it whose wall clock had been
// set d ahead, and whose monotonic clock ran on. No function of package time
// makes one (they move both or drop the second), so it reaches into Time: the
// first word holds nanoseconds in bits 0 to 29 and seconds in bits 30 to 62.
func moveWall(t time.Time, d time.Duration) time.Time {
	word := (*uint64)(unsafe.Pointer(&t))
	*word += uint64(d/time.Second) << 30
	return t
}

// Setting the machine's clock for a test is out of the question; that a start
// and the present disagree about the wall clock is what a setting looks like.
// (No bubble here: its times have no monotonic reading.)
func TestSettingTheWallClockChangesNothing(t *testing.T) {
	for _, moved := range []time.Duration{5 * time.Hour, -5 * time.Hour} {
		s := newSystem(func(time.Time) time.Duration { return suspended() })
		start, before := s.start, s.Now()
		s.start = moveWall(start, moved)
		equal(t, moved, s.start.Round(0).Sub(start.Round(0)))

		now := s.Now()
		if now < before || now-before >= time.Hour {
			t.Errorf("the wall clock moved by %v, and the clock from %v to %v", moved, before, now)
		}
	}
}

func TestASuspendMovesSystemByItsLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slept := time.Minute // before System was made: not its business
		s := newSystem(func(time.Time) time.Duration { return slept })
		time.Sleep(time.Second)
		equal(t, time.Second, s.Now())

		slept += 3 * time.Second
		equal(t, 4*time.Second, s.Now()) // Go's clock stood still for three of them
		equal(t, 4*time.Second, s.Now()) // counted once

		time.Sleep(time.Second)
		slept += time.Hour
		equal(t, time.Hour+5*time.Second, s.Now())
	})
}

func TestSystemDoesNotSeeJitterBelowAMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slept := time.Duration(0)
		s := newSystem(func(time.Time) time.Duration { return slept })
		for _, slept = range []time.Duration{time.Microsecond, -time.Second, time.Millisecond - 1, time.Millisecond} {
			equal(t, 0, s.Now())
		}
		slept = time.Millisecond + 1
		equal(t, slept, s.Now())
		slept += time.Millisecond
		equal(t, time.Millisecond+1, s.Now()) // nor after a suspend
	})
}

func TestSuspendsTooShortToSeeAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slept := time.Duration(0)
		s := newSystem(func(time.Time) time.Duration { return slept })
		for range 1000 {
			slept += 600 * time.Microsecond
			if off := slept - s.Now(); off.Abs() > time.Millisecond {
				t.Fatalf("off by %v after suspends of %v", off, slept)
			}
		}
	})
}

func TestASmallerSuspendReadingDoesNotTakeSystemBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slept := time.Duration(0)
		s := newSystem(func(time.Time) time.Duration { return slept })
		slept = 3 * time.Second
		equal(t, 3*time.Second, s.Now())
		for _, slept = range []time.Duration{3*time.Second - 1, time.Second, 0, -time.Hour} {
			equal(t, 3*time.Second, s.Now())
		}
	})
}

// The process may lose its core between the two readings of the first
// measurement, which makes that one too small by as much.
func TestAPoorFirstReadingDoesNotLookLikeASuspendLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		readings := 0
		s := newSystem(func(time.Time) time.Duration {
			readings++
			if readings == 1 {
				return time.Minute - 20*time.Millisecond
			}
			return time.Minute
		})
		equal(t, 0, s.Now())
	})
}

func TestConcurrentReadersNeverSeeSystemGoBackOverSuspends(t *testing.T) {
	var slept atomic.Int64
	s := newSystem(func(time.Time) time.Duration {
		// The machine is suspended all the time, each reading is too small.
		now := time.Duration(slept.Add(int64(300 * time.Microsecond)))
		return now - now%7*time.Millisecond
	})
	neverGoesBack(t, s)
	if now := s.Now(); now <= 5*time.Second {
		t.Errorf("%v after 20,000 readings with 0.3 ms of suspend each", now)
	}
}

func TestConcurrentReadersNeverSeeSystemGoBack(t *testing.T) {
	neverGoesBack(t, System())
}

// neverGoesBack reads c from several goroutines, also across them: what one
// has read before another begins to read is a lower limit for the other.
func neverGoesBack(t *testing.T, c Clock) {
	var latest atomic.Int64
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 5000 {
				limit := latest.Load()
				now := int64(c.Now())
				if now < limit {
					t.Errorf("read %v after %v", time.Duration(now), time.Duration(limit))
					return
				}
				for now > limit && !latest.CompareAndSwap(limit, now) {
					limit = latest.Load()
				}
			}
		})
	}
	readers.Wait()
}
