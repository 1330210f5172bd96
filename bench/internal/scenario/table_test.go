package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/bench/internal/report"
)

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	table := newTable([]Comparison{{Of: "a", To: "b", Quantity: "pairs/s", Relation: report.AtLeast, Aims: map[string]float64{"16": 2}}})
	for _, g := range []int{1, 16} {
		params := []report.Param{report.P("goroutines", g)}
		for round := range 3 {
			table.add("a", params, "pairs/s", report.Rate, float64(100*(round+1)), nil)
			table.add("b", params, "pairs/s", report.Rate, 50, nil)
			table.add("a", params, "p50", report.Time, 1, nil)
		}
	}
	assert.Len(t, table.samples, 6)
	ratios := table.ratios()
	require.Len(t, ratios, 2)
	assert.Equal(t, []float64{2, 4, 6}, ratios[1].Rounds)
	assert.Equal(t, "pairs/s / b", ratios[1].Quantity)
	assert.Nil(t, ratios[0].Want)
	assert.Equal(t, report.Aim(report.AtLeast, 2), ratios[1].Want)
}

func TestFaultsAreComparedWithHealthyNodesOfTheSameClientAndStep(t *testing.T) {
	table := newTable(nil)
	for _, c := range []struct {
		client, fault, step string
		p99                 float64
	}{
		{"redlock", healthy, "acquire", 100}, {"redlock", healthy, "release", 50}, {"other", healthy, "acquire", 10},
		{"redlock", hung, "acquire", 120}, {"redlock", hung, "release", 100}, {"other", slow, "acquire", 30},
	} {
		params := []report.Param{report.P("fault", c.fault), report.P("goroutines", 16), report.P("step", c.step)}
		table.add(c.client, params, "p99", report.Time, c.p99, nil)
	}
	ratios := table.againstHealthy()
	require.Len(t, ratios, 3)
	for i, want := range []float64{1.2, 2, 3} {
		assert.InDelta(t, want, ratios[i].Median(), 1e-9)
	}
	assert.Equal(t, report.Aim(report.AtMost, 1.3), ratios[0].Want)
	assert.Nil(t, ratios[2].Want)
}
