package tests

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// Whatever keeps a waiter from the lock, it tries as often as its waits allow. What
// that costs its process is measured in chaos/live.
func TestB39AWaiterIsNoBusyLoop(t *testing.T) {
	const wait = 10 * time.Second
	readOnly := errors.New("READONLY You can't write against a read only replica")
	for name, c := range map[string]struct {
		block func(c *fieldCase)
		tries int // of one turn of Acquire, at most
	}{
		"held":      {func(c *fieldCase) { occupy("holder", time.Hour, c.nodes...) }, 1},
		"read only": {func(c *fieldCase) { c.each(func(n *redlocktest.Node) { n.Answer(readOnly) }) }, 1},
		"down":      {func(c *fieldCase) { c.each((*redlocktest.Node).Down) }, 1},
		"hung":      {func(c *fieldCase) { c.each((*redlocktest.Node).Hang) }, 1},
		"split": {func(c *fieldCase) {
			for i, n := range c.nodes {
				occupy(fmt.Sprint("contender-", i), time.Hour, n)
			}
		}, 8},
	} {
		for _, opts := range []struct {
			redlock.Options
			turns int // at most
		}{
			// A wait is 505 ms in the mean, once the window is open.
			{redlock.Options{}, 60},
			{redlock.Options{RetryMin: 100 * time.Millisecond, RetryMax: 100 * time.Millisecond}, 101},
		} {
			t.Run(fmt.Sprint(name, opts.RetryMax), func(t *testing.T) {
				var trace caseTrace
				opts.Trace = trace.hooks()
				inFieldCase(t, 3, &opts.Options, func(t *testing.T, f *fieldCase) {
					require.NoError(t, f.held(time.Minute).Release(t.Context())) // it has connected
					trace.attempts = nil
					c.block(f)
					before := f.nodes[0].Count(redlock.OpAcquire)
					ctx, cancel := context.WithTimeout(t.Context(), wait)
					defer cancel()
					_, err := f.client.Acquire(ctx, caseKey, time.Minute)
					require.ErrorIs(t, err, context.DeadlineExceeded)

					most := opts.turns * c.tries
					assert.LessOrEqual(t, len(trace.attempts), most)
					assert.Greater(t, len(trace.attempts), 10, "it does try")
					for _, n := range f.nodes {
						assert.LessOrEqual(t, n.Count(redlock.OpAcquire)-before, most, "one a try")
						assert.LessOrEqual(t, n.Count(redlock.OpRelease), most+1, "and its undo")
					}
				})
			})
		}
	}
}
