package skew_test

import (
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/skew"
)

func TestClockIsRightUntilItIsMoved(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	require.Zero(t, c.Offset())
	ahead(t, server, c)
	require.Equal(t, "0s", c.String())
}

func TestJumpMovesTimeAndWhatIsLeftOfKeysAtOnce(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{20 * time.Second, -20 * time.Second, time.Millisecond, -24 * time.Hour} {
		server, c := start(t)
		began := time.Now()
		set(t, server, time.Minute)
		c.Jump(jump)
		require.Equal(t, jump, c.Offset())
		ahead(t, server, c)
		left := pttl(t, server)
		require.LessOrEqual(t, left, time.Minute-jump+time.Millisecond)
		require.GreaterOrEqual(t, left, time.Minute-jump-time.Since(began)-2*time.Millisecond)
		c.Jump(-jump)
		require.Zero(t, c.Offset())
		ahead(t, server, c)
	}
}

func TestRateChangesTheSpeedWithoutAJump(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{2, 0.1, 0, 1.01} {
		server, c := start(t)
		c.Jump(time.Hour)
		var times [5]time.Time
		times[0] = time.Now()
		set(t, server, time.Minute)
		times[1] = time.Now()
		c.Rate(rate)
		times[2] = time.Now()
		time.Sleep(200 * time.Millisecond)
		times[3] = time.Now()
		gone := time.Minute - pttl(t, server)
		times[4] = time.Now()
		ahead(t, server, c)

		least := rate * float64(times[3].Sub(times[2]))
		most := float64(times[2].Sub(times[0])) + rate*float64(times[4].Sub(times[1]))
		require.GreaterOrEqual(t, gone, time.Duration(least)-2*time.Millisecond, rate)
		require.LessOrEqual(t, gone, time.Duration(most)+2*time.Millisecond, rate)
		c.Rate(1)
		drift := c.Offset()
		require.GreaterOrEqual(t, (drift - time.Hour).Abs(), time.Duration(math.Abs(rate-1)*float64(200*time.Millisecond)))
		ahead(t, server, c)
		require.Equal(t, drift, c.Offset())
	}
}

func TestForwardJumpExpiresKeysEarly(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	set(t, server, time.Hour)
	c.Jump(time.Hour - 10*time.Second)
	_, ok, err := server.Get("k")
	require.NoError(t, err)
	require.True(t, ok)
	c.Jump(11 * time.Second)
	_, ok, err = server.Get("k")
	require.NoError(t, err)
	require.False(t, ok)
	// Gone is gone, also when the clock goes back.
	c.Reset()
	require.Equal(t, process.NoKey, pttl(t, server))
}

func TestBackwardJumpKeepsKeysLonger(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	set(t, server, 500*time.Millisecond)
	c.Jump(-10 * time.Second)
	time.Sleep(700 * time.Millisecond) // also past the server's own search for keys that expired
	left := pttl(t, server)
	require.Greater(t, left, 5*time.Second)
	require.Less(t, left, 10*time.Second)
	n, err := server.Dbsize()
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestStoppedClockExpiresNothing(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	set(t, server, 100*time.Millisecond)
	c.Set(-50*time.Millisecond, 0)
	time.Sleep(300 * time.Millisecond)
	require.Positive(t, pttl(t, server))
	c.Reset()
	require.Equal(t, process.NoKey, pttl(t, server))
	ahead(t, server, c)
}

// The server's event loop runs on CLOCK_MONOTONIC.
func TestServerStaysResponsiveWhateverItsClockDoes(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	for _, move := range []func(){
		func() { c.Jump(24 * time.Hour) },
		func() { c.Jump(-48 * time.Hour) },
		func() { c.Rate(100) },
		func() { c.Rate(0) },
	} {
		move()
		began := time.Now()
		for range 20 {
			_, err := server.Do("PING")
			require.NoError(t, err)
		}
		require.Less(t, time.Since(began), soon)
	}
}

func TestStrobeGoesToAndFroAndEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	c.Jump(time.Minute)
	stop := c.Strobe(time.Hour, 5*time.Millisecond)
	seen := map[bool]int{}
	require.Eventually(t, func() bool {
		offset, _, err := skew.Offset(server.Addr())
		require.NoError(t, err)
		away := offset > 30*time.Minute
		if away {
			offset -= time.Hour
		}
		require.InDelta(t, time.Minute, offset, float64(time.Second))
		seen[away]++
		return seen[true] > 3 && seen[false] > 3
	}, soon, time.Millisecond)
	c.Jump(time.Minute)
	stop()
	stop()
	require.Equal(t, 2*time.Minute, c.Offset())
	ahead(t, server, c)

	c.Strobe(time.Hour, time.Millisecond)
	stop() // of one that has ended: does nothing to this one
	require.Eventually(t, func() bool { return c.Offset() > time.Hour }, soon, 100*time.Microsecond)
	c.Strobe(-time.Hour, time.Millisecond)
	require.Eventually(t, func() bool { return c.Offset() < 0 }, soon, 100*time.Microsecond)
	c.Reset()
	require.Zero(t, c.Offset())
	ahead(t, server, c)
}

func TestClocksOfSeveralServersAreApart(t *testing.T) {
	t.Parallel()
	var servers []*process.Server
	var controls []*skew.Control
	for range 3 {
		server, c := start(t)
		servers, controls = append(servers, server), append(controls, c)
	}
	controls[1].Jump(20 * time.Second)
	controls[2].Set(-20*time.Second, 2)
	for i := range servers {
		ahead(t, servers[i], controls[i])
	}
	// A restarted server has the clock of its control, from its first command.
	require.NoError(t, servers[1].Restart(false))
	ahead(t, servers[1], controls[1])
}

func TestMisuseIsNamed(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	for _, rate := range []float64{-1, math.NaN(), math.Inf(1)} {
		require.Panics(t, func() { c.Rate(rate) })
	}
	require.PanicsWithValue(t, "skew: offset 183960h0m0s, want 175200h0m0s at most", func() { c.Jump(21 * 365 * 24 * time.Hour) })
	require.PanicsWithValue(t, "skew: strobe with period 0s", func() { c.Strobe(1, 0) })
	require.Zero(t, c.Offset())
	c.Set(-time.Minute, 0)
	require.Contains(t, c.String(), "-1m0.")
	require.Contains(t, c.String(), " at 0x")
}

func TestClosedControlLeavesTheClockAndNoFile(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	c.Jump(time.Minute)
	c.Strobe(time.Hour, time.Millisecond)
	_, file := c.Files()
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.NoFileExists(t, file)
	c.Jump(time.Minute)
	offset, _, err := skew.Offset(server.Addr())
	require.NoError(t, err)
	require.InDelta(t, time.Minute, offset, float64(time.Second))
}

// For the race detector, and for the promise that any method may be called at
// any time.
func TestMethodsAreSafeTogether(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() { c.Jump(time.Second); c.Rate(2) })
		calls.Go(func() { c.Strobe(time.Hour, time.Microsecond)() })
		calls.Go(func() { c.Strobe(time.Hour, time.Microsecond) })
		calls.Go(func() { c.Reset() })
		calls.Go(func() { _, _ = c.Offset(), c.String() })
	}
	calls.Wait()
	calls.Go(func() { _ = c.Close() })
	calls.Go(func() { c.Strobe(time.Hour, time.Microsecond) })
	calls.Wait()
	c.Reset()
	require.Zero(t, c.Offset())
}

func TestOtherPreloadedLibrariesStay(t *testing.T) {
	c := newControl(t)
	library, file := c.Files()
	t.Setenv("LD_PRELOAD", "")
	require.Equal(t, []string{"LD_PRELOAD=" + library, "REDLOCK_SKEW=" + file}, c.Env())
	t.Setenv("LD_PRELOAD", "libother.so")
	require.Equal(t, "LD_PRELOAD="+library+":libother.so", c.Env()[0])
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode())
}
