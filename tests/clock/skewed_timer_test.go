package clock_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/redlock/clock"
	"github.com/stretchr/testify/require"
)

// A firing is when a timer's function ran, on both clocks.
type firing struct{ base, skewed time.Duration }

// arm sets a timer whose firings come from the channel; base time counts from
// now.
func arm(s *clock.Skewed, d time.Duration) (clock.Timer, chan firing) {
	ran, start := make(chan firing, 10), time.Now()
	return s.AfterFunc(d, func() { ran <- firing{time.Since(start), s.Now()} }), ran
}

func TestATimerRunsAtItsClocksTime(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		d, base time.Duration
	}{
		{1, time.Hour, time.Hour},
		{2, time.Hour, 30 * time.Minute},
		{0.5, time.Hour, 2 * time.Hour},
		{1e-9, time.Microsecond, 1000 * time.Second},
		{0x1p-50, 1, 1 << 50},
		{3, 10, 4}, // after 3 ns the reading is 9, after 4 it is 12
		{0.3, 1, 4},
		{1e12, time.Hour, 4},
		{1, 0, 0},
		{1, -time.Hour, 0},
		{1e-300, 0, 0},
	} {
		skewed(t, func(t *testing.T, s *clock.Skewed) {
			s.SetRate(c.rate)
			_, ran := arm(s, c.d)
			require.Equal(t, c.base, (<-ran).base, "%+v", c)
		})
	}
}

func TestATimerIsNeverEarlyNorLateByMoreThanItsClocksResolution(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			rate := math.Exp(20 * (random.Float64() - 0.5)) // 1/22,000 to 22,000
			d := time.Duration(math.Exp(30 * random.Float64()))
			s.Step(time.Duration(random.Int64N(1000)))
			s.SetRate(rate)
			due := s.Now() + d
			_, ran := arm(s, d)
			got := (<-ran).skewed
			require.GreaterOrEqual(t, got, due, "early: rate %v, d %v", rate, d)
			require.LessOrEqual(t, got, due+time.Duration(rate), "late: rate %v, d %v", rate, d)
		}
	})
}

func TestATimerTooFarAwayToEverRunDoesNotSpin(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		s.SetRate(math.SmallestNonzeroFloat64)
		timer, ran := arm(s, math.MaxInt64)
		time.Sleep(1_000_000 * time.Hour)
		require.Empty(t, ran)
		require.True(t, timer.Stop())
	})
}

func TestAStepOverTheDueTimeRunsTheTimerAtOnce(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		timer, ran := arm(s, time.Hour)
		time.Sleep(time.Minute)
		s.Step(59*time.Minute - 1)
		synctest.Wait()
		require.Empty(t, ran)
		s.Step(1)
		synctest.Wait()
		require.Equal(t, firing{time.Minute, time.Hour}, <-ran)
		require.False(t, timer.Stop())
		time.Sleep(10 * time.Hour)
		require.Empty(t, ran, "once")
	})
}

func TestAStepRunsAllTimersThatItMakesDue(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		_, first := arm(s, time.Hour)
		_, second := arm(s, 4*time.Hour)
		_, third := arm(s, 2*time.Hour)
		s.Step(3 * time.Hour)
		synctest.Wait()
		require.Len(t, first, 1)
		require.Len(t, third, 1)
		require.Equal(t, time.Hour, (<-second).base)
	})
}

func TestAStepForwardBringsTheTimerNearer(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		_, ran := arm(s, time.Hour)
		s.Step(20 * time.Minute)
		require.Equal(t, firing{40 * time.Minute, time.Hour}, <-ran)
	})
}

func TestAStepBackDelaysTheTimer(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		_, ran := arm(s, time.Hour)
		time.Sleep(59 * time.Minute)
		s.Step(-time.Hour)
		require.Equal(t, firing{2 * time.Hour, time.Hour}, <-ran)
	})
}

func TestAChangeOfRateMovesPendingTimers(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		_, faster := arm(s, time.Hour)
		time.Sleep(30 * time.Minute)
		s.SetRate(2)
		require.Equal(t, firing{45 * time.Minute, time.Hour}, <-faster)

		_, slower := arm(s, time.Hour)
		time.Sleep(15 * time.Minute)
		s.SetRate(0.25)
		require.Equal(t, firing{135 * time.Minute, 2 * time.Hour}, <-slower)
	})
}

func TestNoiseDoesNotMoveTimers(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		s.SetNoise(time.Hour, 7)
		_, ran := arm(s, time.Minute)
		require.Equal(t, time.Minute, (<-ran).base)
	})
}

func TestStopPreventsTheCall(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		timer, ran := arm(s, time.Hour)
		require.True(t, timer.Stop())
		require.False(t, timer.Stop())
		s.Step(2 * time.Hour)
		time.Sleep(2 * time.Hour)
		require.Empty(t, ran)
		require.False(t, timer.Stop())
	})
}

func TestResetMovesAPendingCall(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		s.SetRate(2)
		timer, ran := arm(s, time.Hour)
		time.Sleep(15 * time.Minute)
		require.True(t, timer.Reset(2*time.Hour))
		require.Equal(t, 75*time.Minute, (<-ran).base)
		time.Sleep(5 * time.Hour)
		require.Empty(t, ran, "the first call was replaced")
	})
}

func TestResetOfATimerThatRanOrWasStoppedRunsItAgain(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		timer, ran := arm(s, time.Hour)
		<-ran
		require.False(t, timer.Reset(time.Hour))
		require.Equal(t, 2*time.Hour, (<-ran).base)
		require.False(t, timer.Reset(time.Hour))
		require.True(t, timer.Stop())
		require.False(t, timer.Reset(time.Hour))
		require.Equal(t, 3*time.Hour, (<-ran).base)
		require.False(t, timer.Reset(0))
		require.Equal(t, 3*time.Hour, (<-ran).base)
	})
}

func TestATimersFunctionMayUseItsClockAndItself(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		var timer clock.Timer
		ran := make(chan time.Duration, 10)
		timer = s.AfterFunc(time.Hour, func() {
			s.Step(time.Minute)
			s.SetRate(1)
			ran <- s.Now()
			if s.Now() < 3*time.Hour {
				timer.Reset(time.Hour)
			}
		})
		s.Step(time.Hour) // runs it from within Step
		require.Equal(t, 61*time.Minute, <-ran)
		require.Equal(t, 122*time.Minute, <-ran)
		require.Equal(t, 183*time.Minute, <-ran)
		require.Empty(t, ran)
	})
}

// stubborn is a clock whose timers are always about to run when somebody stops
// them, too late to be prevented.
type stubborn struct{ clock.Clock }

func (s stubborn) AfterFunc(d time.Duration, f func()) clock.Timer {
	return stubbornTimer{s.Clock.AfterFunc(d, f)}
}

type stubbornTimer struct{ clock.Timer }

func (stubbornTimer) Stop() bool { return false }

func TestABaseTimerThatRunsAfterItsStopDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, ran := arm(clock.NewSkewed(stubborn{clock.System()}), time.Hour)
		require.True(t, timer.Stop())
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Empty(t, ran)
	})
}

// hasty is a clock whose timers run a nanosecond before their time.
type hasty struct {
	clock.Clock
	wakes int // read after the timers are done
}

func (h *hasty) AfterFunc(d time.Duration, f func()) clock.Timer {
	return hastyTimer{h.Clock.AfterFunc(sooner(d), func() { h.wakes++; f() })}
}

type hastyTimer struct{ clock.Timer }

func (h hastyTimer) Reset(d time.Duration) bool { return h.Timer.Reset(sooner(d)) }

func sooner(d time.Duration) time.Duration { return max(d-1, 1) }

func TestABaseTimerThatWakesEarlyIsSetAgain(t *testing.T) {
	for rate, base := range map[float64]time.Duration{1: 1000, 1e-9: 1e12, 1e6: 1} {
		synctest.Test(t, func(t *testing.T) {
			early := &hasty{Clock: clock.System()}
			s := clock.NewSkewed(early)
			s.SetRate(rate)
			_, ran := arm(s, 1000)
			got := <-ran
			require.Equal(t, base, got.base, "rate %v", rate)
			require.GreaterOrEqual(t, got.skewed, time.Duration(1000))
			synctest.Wait()
			require.LessOrEqual(t, early.wakes, 2)
		})
	}
}
