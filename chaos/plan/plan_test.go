package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/plan"
)

func TestEveryPlanIsValidForEveryClusterSize(t *testing.T) {
	for _, m := range plan.Catalog {
		for _, nodes := range []int{3, 5, 7} {
			for seed := range uint64(50) {
				p := m.Make(seed, nodes)
				require.NoError(t, p.Validate())
				require.Equal(t, m.Name, p.Name)
				require.NotEmpty(t, p.About)
				require.NotEmpty(t, p.Expect)
				require.Equal(t, nodes, p.Nodes)
				require.Equal(t, p, m.Make(seed, nodes), "the same seed")
			}
		}
	}
}
