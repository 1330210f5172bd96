package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/redlock/clock"
	"github.com/stretchr/testify/require"
)

func TestSystemAdvancesWhileTheProcessSleeps(t *testing.T) {
	system := clock.System()
	before := system.Now()
	time.Sleep(20 * time.Millisecond)
	require.GreaterOrEqual(t, system.Now()-before, 20*time.Millisecond)
}

func TestSystemFollowsTheTimeOfItsBubbleExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := clock.System()
		require.Zero(t, first.Now())
		time.Sleep(time.Hour)
		require.Equal(t, time.Hour, first.Now())

		second := clock.System()
		require.Zero(t, second.Now())
		time.Sleep(time.Nanosecond)
		require.Equal(t, time.Nanosecond, second.Now())
		time.Sleep(1000 * time.Hour)
		require.Equal(t, 1000*time.Hour+time.Nanosecond, second.Now())
		require.Equal(t, 1001*time.Hour+time.Nanosecond, first.Now())
	})
}

// The kernel's clocks go on outside while the time of a bubble stands still.
func TestSystemStandsStillWithItsBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := clock.System()
		for range 20000 {
			require.Zero(t, system.Now())
		}
	})
}

func TestSystemRunsAFunctionWhenItsTimeHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := clock.System()
		ran := make(chan time.Duration, 10)
		timer := system.AfterFunc(time.Minute, func() { ran <- system.Now() })
		time.Sleep(time.Hour)
		require.False(t, timer.Stop())
		require.False(t, timer.Reset(time.Second))
		require.True(t, timer.Reset(time.Minute))
		time.Sleep(time.Hour)
		require.False(t, timer.Reset(time.Second))
		require.True(t, timer.Stop())
		time.Sleep(time.Hour)
		require.Equal(t, time.Minute, <-ran)
		require.Equal(t, time.Hour+time.Minute, <-ran)
		require.Empty(t, ran)
	})
}

func BenchmarkSystemNow(b *testing.B) {
	system := clock.System()
	b.ReportAllocs()
	for b.Loop() {
		system.Now()
	}
}

// BenchmarkTimeSince is what System costs more than.
func BenchmarkTimeSince(b *testing.B) {
	start := time.Now()
	for b.Loop() {
		_ = time.Since(start)
	}
}
