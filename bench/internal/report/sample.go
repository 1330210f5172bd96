// Package report holds what a benchmark has measured and writes it: for people,
// for programs, and as pictures.
package report

import (
	"fmt"
	"slices"
	"strings"
)

// A Sample is one quantity, measured once a round.
type Sample struct {
	Subject  string    `json:"subject,omitempty"` // the client; "" where there is only one
	Case     []Param   `json:"case,omitempty"`    // under which circumstances
	Quantity string    `json:"quantity"`          // "p50", "commands a pair"
	Unit     Unit      `json:"unit"`
	Rounds   []float64 `json:"rounds"`
	Want     *Want     `json:"want,omitempty"` // what it has to be; nil: anything
}

// A Param is a circumstance: "N" is "5".
type Param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// P makes a Param.
func P(name string, value any) Param { return Param{name, fmt.Sprint(value)} }

// A Want is a prediction.
type Want struct {
	Relation Relation `json:"relation"`
	Value    float64  `json:"value"`

	// Aim says that it is a goal for a quiet machine: to miss it is worth a
	// line, and does not make the run fail.
	Aim bool `json:"aim,omitempty"`
}

// A Relation is how a measured value compares with a prediction.
type Relation string

// The relations.
const (
	Exactly Relation = "="
	AtMost  Relation = "<="
	AtLeast Relation = ">="
)

// Equals predicts a value.
func Equals(v float64) *Want { return &Want{Relation: Exactly, Value: v} }

// Max predicts that a value is not exceeded.
func Max(v float64) *Want { return &Want{Relation: AtMost, Value: v} }

// Aim is what is to be reached on a quiet machine.
func Aim(r Relation, v float64) *Want { return &Want{Relation: r, Value: v, Aim: true} }

// met reports whether v is as predicted.
func (w *Want) met(v float64) bool {
	switch w.Relation {
	case Exactly:
		return v == w.Value
	case AtMost:
		return v <= w.Value
	default:
		return v >= w.Value
	}
}

// Median returns the middle of the rounds, the mean of the middle two where
// their number is even, and 0 where there are none.
func (s *Sample) Median() float64 {
	sorted := slices.Sorted(slices.Values(s.Rounds))
	n := len(sorted)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return sorted[n/2]
	default:
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
}

// Spread returns the least and the greatest of the rounds.
func (s *Sample) Spread() (low, high float64) {
	if len(s.Rounds) == 0 {
		return 0, 0
	}
	return slices.Min(s.Rounds), slices.Max(s.Rounds)
}

// Met reports whether the sample is as predicted: every round, or for an aim the
// median.
func (s *Sample) Met() bool {
	switch {
	case s.Want == nil:
		return true
	case s.Want.Aim:
		return s.Want.met(s.Median())
	}
	for _, v := range s.Rounds {
		if !s.Want.met(v) {
			return false
		}
	}
	return len(s.Rounds) > 0
}

// Fails reports whether the run fails because of the sample.
func (s *Sample) Fails() bool { return !s.Met() && !s.Want.Aim }

// Param returns the value of a circumstance, or "".
func (s *Sample) Param(name string) string {
	for _, p := range s.Case {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// String is the sample on one line.
func (s *Sample) String() string {
	var b strings.Builder
	for _, p := range s.Case {
		fmt.Fprintf(&b, "%s %s, ", p.Name, p.Value)
	}
	if s.Subject != "" {
		fmt.Fprintf(&b, "%s, ", s.Subject)
	}
	fmt.Fprintf(&b, "%s: %s", s.Quantity, s.Unit.Format(s.Median()))
	if low, high := s.Spread(); low != high {
		fmt.Fprintf(&b, " (%s to %s)", s.Unit.Format(low), s.Unit.Format(high))
	}
	if s.Want != nil {
		fmt.Fprintf(&b, ", want %s %s", s.Want.Relation, s.Unit.Format(s.Want.Value))
	}
	return b.String()
}
