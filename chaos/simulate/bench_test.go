package simulate_test

import (
	"fmt"
	"testing"

	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/simulate"
)

// A test and not a benchmark, because a bubble needs a *testing.T.
func TestThroughput(t *testing.T) {
	for seed := range uint64(*many) {
		p := plan.Random(seed, 5)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { simulate.Run(t, &p, seed) })
	}
}
