package main

import (
	"fmt"
	"strings"
	"time"
)

const line = "%-34s  %-18s  %-18s  %6s  %6s\n"

func (s *settings) printHead() {
	fmt.Fprintf(s.out, line, "MUTANT", "KILLED BY", "PLAN", "SEED", "TIME")
}

// print prints what became of a mutant.
func (s *settings) print(o *outcome) {
	by, plan, seed := "SURVIVED", "", ""
	switch {
	case !o.reached:
		by = "NOT REACHED"
	case o.found != nil:
		by, plan = o.found.check, o.trial.String()
		if o.found.seed > 0 {
			seed = fmt.Sprint(o.found.seed)
		}
	}
	fmt.Fprintf(s.out, line, o.mutant.Name, by, plan, seed, fmt.Sprintf("%.1fs", o.took.Seconds()))
	if !o.killed() && o.other != nil {
		why, _, _ := strings.Cut(o.other.why, "\n")
		fmt.Fprintf(s.out, "    but %q found something with seed %d: %s\n", o.other.check, o.other.seed, why)
	}
}

// conclude prints the sum, and returns the exit status.
func (s *settings) conclude(outcomes []outcome, took time.Duration) int {
	killed, missed := 0, 0
	for i := range outcomes {
		switch o := &outcomes[i]; {
		case o.killed():
			killed++
		case !o.reached:
			missed++
		}
	}
	survived := len(outcomes) - killed - missed
	fmt.Fprintf(s.out, "\n%d mutants: %d killed, %d survived, %d not reached (%v)\n", len(outcomes), killed, survived, missed, took.Round(time.Second))
	if killed < len(outcomes) {
		return exitSurvived
	}
	return exitAllKilled
}
