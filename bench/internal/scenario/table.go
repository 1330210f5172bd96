package scenario

import (
	"fmt"
	"slices"

	"github.com/quorumlock/redlock/bench/internal/report"
)

// A table collects samples a round at a time.
type table struct {
	samples     []report.Sample
	comparisons []Comparison
}

// A Comparison asks how one client's quantity compares with another's.
type Comparison struct {
	Of, To   string // clients
	Quantity string
	Relation report.Relation    // of what is aimed at
	Aims     map[string]float64 // by value of the first circumstance; none: nothing is aimed at
}

func newTable(comparisons []Comparison) *table { return &table{comparisons: comparisons} }

// add adds a round of one quantity.
func (t *table) add(subject string, params []report.Param, quantity string, unit report.Unit, v float64, want *report.Want) {
	if s := t.find(subject, params, quantity); s != nil {
		s.Rounds = append(s.Rounds, v)
		return
	}
	t.samples = append(t.samples, report.Sample{
		Subject: subject, Case: params, Quantity: quantity, Unit: unit, Rounds: []float64{v}, Want: want,
	})
}

func (t *table) find(subject string, params []report.Param, quantity string) *report.Sample {
	for i := range t.samples {
		s := &t.samples[i]
		if s.Subject == subject && s.Quantity == quantity && slices.Equal(s.Case, params) {
			return s
		}
	}
	return nil
}

// ratios returns the comparisons, each round by itself.
func (t *table) ratios() []report.Sample {
	var ratios []report.Sample
	for _, c := range t.comparisons {
		for i := range t.samples {
			of := &t.samples[i]
			if of.Subject != c.Of || of.Quantity != c.Quantity {
				continue
			}
			to := t.find(c.To, of.Case, c.Quantity)
			if to == nil {
				continue
			}
			r := ratio(of, to)
			r.Quantity = fmt.Sprintf("%s / %s", c.Quantity, c.To)
			if aim, ok := c.Aims[of.Case[0].Value]; ok {
				r.Want = report.Aim(c.Relation, aim)
			}
			ratios = append(ratios, r)
		}
	}
	return ratios
}

// ratio returns of / to, each round by itself.
func ratio(of, to *report.Sample) report.Sample {
	r := report.Sample{Subject: of.Subject, Case: of.Case, Unit: report.Ratio}
	for i, v := range of.Rounds {
		if i < len(to.Rounds) && to.Rounds[i] != 0 {
			r.Rounds = append(r.Rounds, v/to.Rounds[i])
		}
	}
	return r
}
