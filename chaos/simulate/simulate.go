// Package simulate runs plans in simulated time: the real client, in-memory
// nodes, and a network and clocks that do what the seed says. The same plan and
// seed give the same history, event for event.
package simulate

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/traffic"
)

// Run carries out the plan in a bubble of its own. The tokens of clients come
// from crypto/rand, whose source is set by the seed: while Run runs, nothing
// else in the process may run that uses it.
func Run(t *testing.T, p *plan.Plan, seed uint64) *history.History {
	var h *history.History
	defer seedTokens(seed)()
	// What happens at one instant, one processor does in the same order every time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := cluster.Setup{Plan: p, Seed: seed, Simulated: true}
		s.Log = history.NewRecorder(func() time.Duration { return time.Since(start) })
		var err error
		h, err = traffic.Run(context.Background(), s, cluster.NewSim(s))
		if err != nil {
			t.Fatal(err)
		}
	})
	if h != nil {
		h.Backend, h.Exact, h.Watched = "sim", true, true
	}
	return h
}
