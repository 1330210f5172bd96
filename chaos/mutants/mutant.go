package main

import (
	"fmt"
	"slices"
)

// A Mutant is a bug, as data.
type Mutant struct {
	Name    string
	Breaks  string   // in a line
	Edits   []Edit   // what makes the bug
	Trials  []Trial  // one after the other, until it is dead
	Killers []string // the checks that may kill it: names of package check, or those below
}

// An Edit changes one place of a file: Old occurs in it exactly once. New may
// call reached(), or hit(v), which is v, where it does something else than
// before: a mutant that is never reached was not tested.
type Edit struct{ File, Old, New string }

// A Trial is a plan that a mutant has to survive, with many seeds.
type Trial struct {
	Plan     string
	Embedded bool // on miniredis nodes in real time, with one seed; else in simulated time
	Seeds    int  // so many at most; 0: as many as the flag says
}

func (t Trial) String() string {
	if t.Embedded {
		return t.Plan + " (embedded)"
	}
	return t.Plan
}

// nodes is how many nodes every trial has.
const nodes = 5

// What kills a mutant beside the checks of package check.
const (
	killPanic   = "panic"
	killLeak    = "leaked goroutine" // package synctest found goroutines that wait for ever
	killTimeout = "time-out"         // far beyond what the same seeds take otherwise
)

// sim returns trials of plans in simulated time.
func sim(plans ...string) (trials []Trial) {
	for _, p := range plans {
		trials = append(trials, Trial{Plan: p})
	}
	return trials
}

// Catalog returns all mutants.
func Catalog() []Mutant {
	return slices.Concat(quorumMutants, validityMutants, undoMutants, extensionMutants, lossMutants, contentionMutants, scriptMutants)
}

// may reports whether a check may kill the mutant.
func (m *Mutant) may(check string) bool { return slices.Contains(m.Killers, check) }

// A staleError says that an edit does not fit the source any more.
type staleError struct {
	mutant, file string
	count        int
}

func (e *staleError) Error() string {
	return fmt.Sprintf("mutant %s is stale: its old text occurs %d times in %s, want once", e.mutant, e.count, e.file)
}
