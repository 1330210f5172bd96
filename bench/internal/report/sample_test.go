package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock/bench/internal/report"
)

func TestMedianAndSpread(t *testing.T) {
	for _, c := range []struct {
		rounds            []float64
		median, low, high float64
	}{
		{nil, 0, 0, 0},
		{[]float64{3}, 3, 3, 3},
		{[]float64{5, 1, 9}, 5, 1, 9},
		{[]float64{4, 1, 2, 9}, 3, 1, 9},
	} {
		s := report.Sample{Rounds: c.rounds}
		assert.Equal(t, c.median, s.Median(), c.rounds)
		low, high := s.Spread()
		assert.Equal(t, []float64{c.low, c.high}, []float64{low, high}, c.rounds)
	}
}

func TestPredictionHoldsForEveryRoundAndAnAimForTheMedian(t *testing.T) {
	for _, c := range []struct {
		rounds     []float64
		want       *report.Want
		met, fails bool
	}{
		{[]float64{1, 2}, nil, true, false},
		{[]float64{2, 2}, report.Equals(2), true, false},
		{[]float64{2, 2, 3}, report.Equals(2), false, true},
		{[]float64{2, 1}, report.Max(2), true, false},
		{[]float64{2, 2.5}, report.Max(2), false, true},
		{nil, report.Max(2), false, true}, // nothing was measured
		{[]float64{1, 2, 9}, report.Aim(report.AtMost, 2), true, false},
		{[]float64{1, 3, 9}, report.Aim(report.AtMost, 2), false, false},
		{[]float64{1, 3, 9}, report.Aim(report.AtLeast, 3), true, false},
	} {
		s := report.Sample{Rounds: c.rounds, Want: c.want}
		assert.Equal(t, c.met, s.Met(), "%v %v", c.rounds, c.want)
		assert.Equal(t, c.fails, s.Fails(), "%v %v", c.rounds, c.want)
	}
}

func TestUnitsAreWrittenWithTheDigitsTheyDeserve(t *testing.T) {
	for _, c := range []struct {
		unit report.Unit
		v    float64
		want string
	}{
		{report.Number, 0, "0"},
		{report.Number, 15320, "15,320"},
		{report.Number, -15320, "-15,320"},
		{report.Number, 1.0666, "1.067"},
		{report.Number, 1234567.5, "1,234,568"},
		{report.Rate, 14495.123, "14,495"},
		{report.Rate, 46.95123, "46.95"},
		{report.Time, 0, "0 us"},
		{report.Time, 187.4, "187 us"},
		{report.Time, 999.4, "999 us"},
		{report.Time, 1230, "1.23 ms"},
		{report.Time, 51_400, "51.4 ms"},
		{report.Time, 5_010_000, "5.01 s"},
		{report.Time, 5.2 * 60e6, "5.20 min"},
		{report.Time, 2.61 * 3600e6, "2.61 h"},
		{report.Time, 87.7 * 3600e6, "3.65 days"},
		{report.Ratio, 0.6649, "0.665x"},
		{report.Ratio, 12.34, "12.3x"},
		{report.Percent, 93.91, "93.9 %"},
		{report.Bytes, 253.66, "253.7 B"},
		{report.Nines, 1, "100 %"},
		{report.Nines, 0.99, "99.00 %"},
		{report.Nines, 0.999, "99.900 %"},
		{report.Nines, 0.999702, "99.9702 %"},
		{report.Nines, 0.99999, "99.99900 %"},
		{report.Nines, 0.5, "50.0 %"},
	} {
		assert.Equal(t, c.want, c.unit.Format(c.v), "%v %v", c.unit, c.v)
	}
}
