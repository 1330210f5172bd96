package load_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/bench/internal/load"
)

func TestStepsAndTurnsAreTimedWithoutTheWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := load.Run(t.Context(), load.Load{
			Goroutines: 2, WarmUp: 100 * time.Millisecond, For: 95 * time.Millisecond, Steps: 2,
			Work: func(_ context.Context, w *load.Worker) error {
				time.Sleep(4 * time.Millisecond)
				w.Lap()
				time.Sleep(6 * time.Millisecond)
				w.Lap()
				return nil
			},
		})
		require.NoError(t, err)
		assert.InDelta(t, 20, r.Turns, 2)
		assert.EqualValues(t, r.Turns, r.Whole.TotalCount())
		assert.InEpsilon(t, 4*time.Millisecond, time.Duration(r.Steps[0].ValueAtQuantile(50)), 0.01)
		assert.InEpsilon(t, 6*time.Millisecond, time.Duration(r.Steps[1].ValueAtQuantile(50)), 0.01)
		assert.InEpsilon(t, 10*time.Millisecond, time.Duration(r.Whole.ValueAtQuantile(99)), 0.01)
	})
}

func TestTurnThatOutlastsTheLoadCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := load.Run(t.Context(), load.Load{
			Goroutines: 3, WarmUp: 100 * time.Millisecond, For: time.Second,
			Work: func(context.Context, *load.Worker) error {
				time.Sleep(5 * time.Second)
				return nil
			},
		})
		require.NoError(t, err)
		assert.Equal(t, 3, r.Turns, "one of every worker")
		assert.Equal(t, 9900*time.Millisecond, r.Took, "with the rest of the turn of the warm-up")
	})
}

func TestFailuresAreCountedAndNamesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names sync.Map
		var turns, twice atomic.Int64
		broken := errors.New("broken")
		r, err := load.Run(t.Context(), load.Load{
			Goroutines: 4, For: 100 * time.Millisecond, Steps: 2, Names: "n-",
			Work: func(_ context.Context, w *load.Worker) error {
				time.Sleep(10 * time.Millisecond)
				if _, seen := names.LoadOrStore(w.Name, true); seen {
					twice.Add(1)
				}
				w.Lap()
				if turns.Add(1)%2 == 0 {
					return broken
				}
				w.Skip()
				return nil
			},
		})
		require.NoError(t, err)
		assert.Zero(t, twice.Load())
		assert.InDelta(t, r.Turns/2, r.Failed, 2)
		assert.ErrorIs(t, r.Error, broken)
		assert.EqualValues(t, r.Turns, r.Steps[0].TotalCount())
		assert.Zero(t, r.Steps[1].TotalCount())
	})
}

func TestLoadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := load.Run(ctx, load.Load{
			Goroutines: 1, For: time.Hour,
			Work: func(context.Context, *load.Worker) error {
				time.Sleep(time.Millisecond)
				return nil
			},
		})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
