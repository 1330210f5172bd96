package scenario_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
	"github.com/quorumlock/redlock/bench/internal/scenario"
)

// quick runs a scenario on nodes in this process.
func quick(t *testing.T, s scenario.Scenario) *report.Run {
	t.Helper()
	sections, err := scenario.NewEnv(fleet.Embedded, true, 1, io.Discard).Run(t.Context(), s)
	require.NoError(t, err)
	run := &report.Run{Sections: sections}
	assert.Empty(t, run.Failures())
	return run
}

func TestCommandsAreThoseOfTheFormula(t *testing.T) {
	run := quick(t, scenario.Commands)
	assert.Equal(t, len(scenario.NodeCounts)*3*6, run.Checked())
}

func TestAvailabilityIsThatOfTheClosedForm(t *testing.T) {
	figures := map[string]map[string]float64{}
	for _, sample := range quick(t, scenario.Availability).Sections[0].Samples {
		of := sample.Param("N") + ", " + sample.Param("each node down")
		if figures[of] == nil {
			figures[of] = map[string]float64{}
		}
		figures[of][sample.Quantity] = sample.Median()
	}
	assert.Len(t, figures, len(scenario.NodeCounts)*len(scenario.Down))
	for of, f := range figures {
		assert.InDelta(t, f["closed form"], f["every set down"], 1e-14, of)
		assert.InDelta(t, f["closed form"], f["every set hung"], 1e-14, of)
		assert.InDelta(t, f["closed form"], f["at random"], 0.01, of)
	}
}

func TestPriceOfALock(t *testing.T) {
	s := quick(t, scenario.Price([]contender.Contender{scenario.PatientOurs})).Sections[0].Samples
	for _, sample := range s {
		if sample.Quantity == "sent for a lock" && sample.Param("N") == "1" {
			assert.InDelta(t, 2, sample.Median(), 1e-9)
		}
	}
}
