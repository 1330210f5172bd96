package scenario

import (
	"fmt"
	"math/bits"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/bench/internal/report"
	"github.com/quorumlock/redlock/quorum"
)

func TestBillOfTheJobOfAMinute(t *testing.T) {
	for n, want := range map[int]Bill{1: {1, 5, 1}, 3: {3, 15, 3}, 5: {5, 25, 5}, 7: {7, 35, 7}} {
		assert.Equal(t, want, JobBill(n, Extensions(jobHolds, jobExtends)), "%d nodes", n)
		assert.Equal(t, 7*n, want.Total())
		assert.Equal(t, 2*n, PairBill(n).Total())
		assert.Equal(t, 2*n, FailedBill(n).Total())
		assert.Equal(t, 2*n*9, AttemptsBill(n, 9).Total())
	}
}

func TestExtensionsLeaveOutBothEnds(t *testing.T) {
	for _, c := range [][3]int{{60, 10, 5}, {61, 10, 6}, {59, 10, 5}, {10, 10, 0}, {5, 10, 0}, {0, 10, 0}, {11, 10, 1}} {
		assert.Equal(t, c[2], Extensions(c[0], c[1]), "%d every %d", c[0], c[1])
	}
}

func TestClosedFormIsTheSumOverAllSetsOfNodes(t *testing.T) {
	for n := 1; n <= 9; n++ {
		had := make([]bool, 1<<n)
		for set := range had {
			had[set] = n-bits.OnesCount(uint(set)) >= quorum.Majority(n)
		}
		for _, down := range []float64{0, 0.001, 0.01, 0.3, 1} {
			assert.InDelta(t, weigh(had, n, down), Available(n, down), 1e-14, "%d nodes, down %v", n, down)
		}
	}
	assert.InDelta(t, 0.99, Available(1, 0.01), 1e-15)
	assert.InDelta(t, 0.999702, Available(3, 0.01), 1e-12)
	assert.InDelta(t, 0.9999901494, Available(5, 0.01), 1e-10)
}

// The page that helps to choose says what the formulas say.
func TestPageOnChoosingHasTheFormulasFigures(t *testing.T) {
	page, err := os.ReadFile("../../../docs/choosing.md")
	require.NoError(t, err)
	for _, n := range NodeCounts {
		need := quorum.Majority(n)
		job := JobBill(n, Extensions(jobHolds, jobExtends))
		row := fmt.Sprintf("| %d | %d | %d | %s | %s | %d | %d |", n, need, n-need,
			report.Nines.Format(Available(n, 0.001)), report.Nines.Format(Available(n, 0.01)),
			PairBill(n).Total(), job.Total())
		assert.Contains(t, string(page), row)
	}
}
