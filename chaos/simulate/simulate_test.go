package simulate_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/simulate"
)

var repeat = flag.Int("simulate.repeat", 3, "how often TestTheSameSeedMakesTheSameHistory runs each seed")

func TestTheSameSeedMakesTheSameHistory(t *testing.T) {
	for seed := range uint64(20) {
		p := plan.Random(seed, 5)
		var first *history.History
		for i := range *repeat {
			var h *history.History
			t.Run(fmt.Sprintf("seed=%d/%d", seed, i), func(t *testing.T) { h = simulate.Run(t, &p, seed) })
			if first == nil {
				first = h
			}
			require.Equal(t, first.Events, h.Events)
			require.Equal(t, first.Hash(), h.Hash())
		}
	}
}

func TestAnotherSeedMakesAnotherHistory(t *testing.T) {
	p := plan.Random(1, 5)
	var one, two *history.History
	t.Run("one", func(t *testing.T) { one = simulate.Run(t, &p, 1) })
	t.Run("two", func(t *testing.T) { two = simulate.Run(t, &p, 2) })
	require.NotEqual(t, one.Hash(), two.Hash())
}
