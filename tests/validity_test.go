package tests

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

const ms = time.Millisecond

func TestValidityIsTTLLessElapsedLessDrift(t *testing.T) {
	fixed := redlock.Drift{Fixed: 2 * ms}
	for _, c := range []struct {
		ttl, elapsed time.Duration
		drift        redlock.Drift
		want         time.Duration
	}{
		{10 * time.Second, 4 * ms, fixed, 9994 * ms},
		{10 * time.Second, 50 * ms, fixed, 9948 * ms},
		{10 * time.Second, 10_100 * ms, fixed, -102 * ms},
		{10 * time.Second, 4 * ms, redlock.DefaultDrift, 9894 * ms},
		{10 * time.Second, 50 * ms, redlock.DefaultDrift, 9848 * ms},
		{10 * time.Second, 10_100 * ms, redlock.DefaultDrift, -202 * ms},
		{0, 0, redlock.Drift{}, 0},
		{ms, 0, redlock.Drift{}, ms},
		{2 * ms, 0, fixed, 0},
		{1, 0, redlock.Drift{Factor: 0.01}, 0}, // the drift is rounded up, for safety
		{math.MaxInt64, 0, redlock.Drift{}, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64, redlock.Drift{}, 0},
		{0, math.MaxInt64, redlock.Drift{}, -math.MaxInt64},
	} {
		got, err := redlock.Validity(c.ttl, c.elapsed, c.drift)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c.want, got, "%+v", c)
	}
}

func TestValidityRefusesWhatItCannotCompute(t *testing.T) {
	for _, c := range []struct {
		ttl, elapsed time.Duration
		drift        redlock.Drift
		says         string
	}{
		{-1, 0, redlock.Drift{}, "TTL -1ns"},
		{time.Second, -1, redlock.Drift{}, "elapsed time -1ns"},
		{time.Second, 0, redlock.Drift{Factor: -0.1}, "Drift.Factor -0.1"},
		{time.Second, 0, redlock.Drift{Factor: 1}, "Drift.Factor 1"},
		{time.Second, 0, redlock.Drift{Factor: math.NaN()}, "Drift.Factor NaN"},
		{time.Second, 0, redlock.Drift{Factor: math.Inf(1)}, "Drift.Factor +Inf"},
		{time.Second, 0, redlock.Drift{Factor: math.Inf(-1)}, "Drift.Factor -Inf"},
		{time.Second, 0, redlock.Drift{Fixed: -1}, "Drift.Fixed -1ns"},
		{math.MaxInt64, 0, redlock.Drift{Factor: 0.5, Fixed: math.MaxInt64}, "overflows"},
		{0, math.MaxInt64, redlock.Drift{Fixed: 2}, "overflows"},
	} {
		got, err := redlock.Validity(c.ttl, c.elapsed, c.drift)
		require.ErrorIs(t, err, redlock.ErrInvalid, "%+v", c)
		require.ErrorContains(t, err, c.says)
		require.Zero(t, got)
	}
}

// The table of the Redlock page's arithmetic, played on nodes.
func TestAttemptHasTheValidityOfTheTable(t *testing.T) {
	const ttl = 10 * time.Second
	for _, c := range []struct {
		elapsed time.Duration
		drift   redlock.Drift
		want    time.Duration // 0: the attempt fails
	}{
		{4 * ms, redlock.Drift{Fixed: 2 * ms}, 9994 * ms},
		{50 * ms, redlock.Drift{Fixed: 2 * ms}, 9948 * ms},
		{10_100 * ms, redlock.Drift{Fixed: 2 * ms}, 0},
		{4 * ms, redlock.DefaultDrift, 9894 * ms},
		{50 * ms, redlock.DefaultDrift, 9848 * ms},
		{10_100 * ms, redlock.DefaultDrift, 0},
	} {
		t.Run(fmt.Sprint(c.elapsed, c.drift), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes := redlocktest.Nodes(5)
				client := redlocktest.NewClient(t, nodes, &redlock.Options{
					NodeTimeout: 11 * time.Second, Drift: &c.drift, StopMargin: 1,
				})
				for _, n := range nodes {
					n.Slow(c.elapsed)
				}
				lock, err := client.TryAcquire(ctx, "table", ttl)
				if c.want > 0 {
					require.NoError(t, err)
					require.Equal(t, c.want, lock.Remaining())
					require.NoError(t, lock.Release(ctx))
					return
				}
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
				require.True(t, quorumError(t, err).Late, "%v", err)
				requireUndone(t, nodes)
			})
		})
	}
	t.Run("three nodes time out", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			nodes := redlocktest.Nodes(5)
			client := redlocktest.NewClient(t, nodes, nil)
			require.NoError(t, client.Connect(ctx))
			for _, n := range nodes[:3] {
				n.DropReplies(1)
			}
			start := time.Now()
			_, err := client.TryAcquire(ctx, "table", ttl)
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.Equal(t, 50*ms, time.Since(start))
			for i, n := range quorumError(t, err).Nodes {
				require.Equal(t, i < 3, n.Err != nil, "%v", n)
			}
			requireUndone(t, nodes)
		})
	})
}

// requireUndone: each node has been asked once to undo, and holds nothing.
func requireUndone(t *testing.T, nodes []*redlocktest.Node) {
	t.Helper()
	time.Sleep(30 * time.Second) // of the bubble: whatever is still to come comes
	for _, n := range nodes {
		require.Equal(t, 1, n.Count(redlock.OpAcquire), "%v", n)
		require.GreaterOrEqual(t, n.Count(redlock.OpRelease), 1, "%v", n)
	}
	require.Zero(t, keys(nodes))
}
