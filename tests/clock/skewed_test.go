package clock_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/redlock/clock"
	"github.com/stretchr/testify/require"
)

// skewed runs test in a bubble, with a Skewed over the bubble's time.
func skewed(t *testing.T, test func(t *testing.T, s *clock.Skewed)) {
	synctest.Test(t, func(t *testing.T) { test(t, clock.NewSkewed(clock.System())) })
}

func TestSkewedAgreesWithItsBaseUntilToldOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := clock.System()
		time.Sleep(time.Hour)
		s := clock.NewSkewed(base)
		require.Equal(t, time.Hour, s.Now())
		time.Sleep(2_000_000*time.Hour + 1) // beyond the whole numbers of a float64
		require.Equal(t, base.Now(), s.Now())
		require.Zero(t, s.Offset())
	})
}

func TestSkewedWithoutABaseRunsOnASystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clock.NewSkewed(nil)
		time.Sleep(time.Hour)
		require.Equal(t, time.Hour, s.Now())
	})
}

func TestStepMovesTheReadingAtOnce(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		time.Sleep(time.Minute)
		s.Step(time.Hour)
		require.Equal(t, time.Hour+time.Minute, s.Now())
		require.Equal(t, time.Hour, s.Offset())
		s.Step(-3 * time.Hour)
		require.Equal(t, time.Minute-2*time.Hour, s.Now())
		require.Equal(t, -2*time.Hour, s.Offset())
		time.Sleep(time.Minute)
		require.Equal(t, 2*time.Minute-2*time.Hour, s.Now())
	})
}

func TestSetRateChangesTheSpeedWithoutAJump(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		time.Sleep(time.Minute)
		s.SetRate(1.25)
		require.Equal(t, time.Minute, s.Now())
		time.Sleep(time.Minute)
		require.Equal(t, 135*time.Second, s.Now())
		s.SetRate(0.5)
		require.Equal(t, 135*time.Second, s.Now())
		time.Sleep(time.Minute)
		require.Equal(t, 165*time.Second, s.Now())
		require.Equal(t, -15*time.Second, s.Offset())
		s.Step(time.Second) // is not scaled
		require.Equal(t, 166*time.Second, s.Now())
		time.Sleep(time.Minute)
		require.Equal(t, 196*time.Second, s.Now())
	})
}

func TestSkewedStopsAtTheEndsOfDuration(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		s.SetRate(math.MaxFloat64)
		time.Sleep(time.Second)
		require.Equal(t, time.Duration(math.MaxInt64), s.Now())
		s.Step(time.Hour)
		require.Equal(t, time.Duration(math.MaxInt64), s.Now())

		back := clock.NewSkewed(clock.System())
		back.Step(-math.MaxInt64)
		back.Step(-time.Hour)
		require.Equal(t, time.Duration(math.MinInt64), back.Now())
	})
}

func TestNoiseIsBoundedRepeatableAndLeavesTheOffsetAlone(t *testing.T) {
	const amplitude, readings = 5 * time.Millisecond, 2000
	read := func(seed uint64, before int) (got [readings]time.Duration) {
		skewed(t, func(t *testing.T, s *clock.Skewed) {
			s.SetNoise(time.Hour, 9)
			for range before {
				s.Now()
			}
			s.SetNoise(amplitude, seed)
			for i := range got {
				time.Sleep(time.Second)
				require.Zero(t, s.Offset())
				got[i] = s.Now() - time.Duration(i+1)*time.Second
			}
			s.SetNoise(0, seed)
			require.Equal(t, readings*time.Second, s.Now())
		})
		return got
	}

	one := read(1, 0)
	require.Equal(t, one, read(1, 3), "whatever was read before SetNoise")
	require.NotEqual(t, one, read(2, 0))
	least, most, sum := one[0], one[0], time.Duration(0)
	for _, off := range one {
		least, most, sum = min(least, off), max(most, off), sum+off
	}
	require.GreaterOrEqual(t, least, -amplitude)
	require.LessOrEqual(t, most, amplitude)
	require.Less(t, least, -amplitude*98/100, "it uses its whole range")
	require.Greater(t, most, amplitude*98/100)
	require.Less(t, (sum / readings).Abs(), amplitude/10, "around the true reading")
}

func TestNoiseOfOneNanosecondTakesAllItsThreeValues(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		s.SetNoise(1, 0)
		seen := map[time.Duration]bool{}
		for range 100 {
			seen[s.Now()] = true
		}
		require.Equal(t, map[time.Duration]bool{-1: true, 0: true, 1: true}, seen)
		s.SetNoise(math.MaxInt64, 0)
		s.Now() // the widest range does not overflow into a panic
	})
}

func TestSkewedRefusesMisuseAndNamesTheValue(t *testing.T) {
	s := clock.NewSkewed(nil)
	for _, r := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.PanicsWithValue(t, fmt.Sprintf("clock: rate %v, want finite and above 0", r), func() { s.SetRate(r) })
	}
	require.PanicsWithValue(t, "clock: noise amplitude -1ns, want at least 0", func() { s.SetNoise(-1, 0) })
	s.SetRate(math.SmallestNonzeroFloat64)
	s.SetRate(math.MaxFloat64)
}

func TestASkewedOverASkewedIsWrongTwice(t *testing.T) {
	skewed(t, func(t *testing.T, inner *clock.Skewed) {
		outer := clock.NewSkewed(inner)
		inner.SetRate(2)
		outer.SetRate(2)
		ran := make(chan time.Duration, 1)
		outer.AfterFunc(time.Hour, func() { ran <- outer.Now() })
		time.Sleep(10 * time.Minute)
		require.Equal(t, 40*time.Minute, outer.Now())
		inner.Step(10*time.Minute - 1)
		synctest.Wait()
		require.Empty(t, ran)
		inner.Step(1)
		synctest.Wait()
		require.Equal(t, time.Hour, <-ran)
	})
}

func TestConcurrentUseOfSkewedRunsEveryTimerOnce(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		var armed, ran atomic.Int64
		var users, meddlers sync.WaitGroup
		done := make(chan struct{})
		for user := range uint64(8) {
			users.Go(func() {
				random := rand.New(rand.NewPCG(user, 1))
				pause := func() time.Duration { return time.Duration(random.Int64N(int64(5*time.Millisecond))) - 1 }
				for range 300 {
					armed.Add(1)
					timer := s.AfterFunc(pause(), func() { ran.Add(1) })
					for range random.IntN(3) {
						if random.IntN(2) == 0 {
							time.Sleep(pause())
						}
						if !timer.Reset(pause()) {
							armed.Add(1)
						}
					}
					if random.IntN(3) == 0 && timer.Stop() {
						armed.Add(-1)
					}
				}
			})
		}
		for meddler := range uint64(2) {
			meddlers.Go(func() {
				random := rand.New(rand.NewPCG(meddler, 2))
				for {
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
					}
					s.Step(time.Duration(random.Int64N(int64(2*time.Millisecond))) - time.Millisecond)
					s.SetRate(0.1 + 2*random.Float64())
					s.SetNoise(time.Microsecond, random.Uint64())
					s.Now()
					s.Offset()
				}
			})
		}
		users.Wait()
		close(done)
		meddlers.Wait()
		s.Step(time.Hour)
		synctest.Wait()
		require.Equal(t, armed.Load(), ran.Load())
		require.Greater(t, ran.Load(), int64(1000))
	})
}

func TestPendingTimersOfSkewedNeedNoGoroutine(t *testing.T) {
	skewed(t, func(t *testing.T, s *clock.Skewed) {
		before := runtime.NumGoroutine()
		for i := range 1000 {
			timer := s.AfterFunc(time.Duration(i+1)*time.Hour, func() {})
			defer timer.Stop()
		}
		s.SetRate(2)
		synctest.Wait()
		require.Less(t, runtime.NumGoroutine(), before+100)
	})
}
