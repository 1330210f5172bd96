package check

import (
	"fmt"

	"github.com/quorumlock/redlock/chaos/history"
)

// A Verdict is what a run comes to.
type Verdict string

const (
	// AsPromised is a plan in model, or of A2's slack, and nothing was wrong.
	AsPromised Verdict = "as promised"
	// Violation is something wrong that no broken assumption excuses.
	Violation Verdict = "violation"
	// UnsafeDetected is a plan that breaks an assumption, and the damage was seen.
	UnsafeDetected Verdict = "unsafe by design, detected"
	// Unexpected is a plan that breaks an assumption, and no damage was seen.
	Unexpected Verdict = "UNEXPECTED: nothing was detected"
	// ProvedNothing is nothing wrong in a run in which too little happened for that
	// to mean anything.
	ProvedNothing Verdict = "proved nothing"
)

// OK reports whether the run showed what it was to show.
func (v Verdict) OK() bool { return v == AsPromised || v == UnsafeDetected }

// Stats are a run in numbers.
type Stats struct {
	Events, Names int
	Attempts      int            // calls
	Contended     int            // calls during which another client held the lock or asked for it
	Grants        int            // locks acquired
	GrantsHealed  int            // of these after Healed
	Failed        map[string]int // calls, by class
	Faults        map[string]FaultCount

	Overlaps int // pairs of beliefs
	Revivals int // locks held again after their end
	Damage   Damage
	Progress Progress
	Skips    Skips
	Dirt     Dirt
	Opinion  Opinion // porcupine's
}

// A Report is what Judge finds.
type Report struct {
	Verdict  Verdict
	Why      string    // in a line
	Findings []Finding // what must not be: with UnsafeDetected the damage, by time within each check
	Notes    []Finding // what the broken assumption excuses
	Missing  []string  // why the run would prove nothing
	Stats    Stats
}

// Judge runs all checkers and comes to a verdict.
//
// In model, and with A2's slack, nothing may be found. A plan out of model must
// do damage: beliefs that overlap, or updates that are lost; that locks are late
// to come back, or keys to go, is its fault and not the library's. What no
// assumption excuses is a violation always: to delete what belongs to another
// token, to set a key without a TTL, to leave goroutines behind. A plan of a
// class that is not known is judged as one in model.
func Judge(h *history.History, floors Floors) Report {
	x := newIndex(h)
	var r Report
	s := &r.Stats
	x.count(s)
	overlaps := x.overlaps()
	s.Overlaps, s.Revivals = overlaps.Count, x.oddities.Count
	s.Damage, s.Progress, s.Skips, s.Dirt, s.Opinion = x.store(), x.liveness(), x.skip(), x.hygiene(), x.opinion()
	r.Missing = x.honesty(floors, s)

	dirt := s.Dirt.Foreign
	dirt.merge(s.Dirt.WithoutTTL)
	dirt.merge(goroutines(x, s.Dirt.Goroutines))
	never := []Findings{dirt, s.Opinion.dissent(overlaps)}
	harm := []Findings{overlaps, s.Damage.Violations}
	late := []Findings{x.oddities, s.Opinion.Findings, s.Progress.Stuck, s.Skips.Wrong, s.Dirt.Orphans, x.undone(), x.losses(), x.prolonged()}
	if h.Class == history.OutOfModel {
		r.outOfModel(never, harm, late)
	} else {
		r.inModel(append(append(never, harm...), late...))
	}
	return r
}

func (r *Report) inModel(all []Findings) {
	if r.Stats.Opinion.Result == Unknown {
		r.Missing = append(r.Missing, "the lock model came to no result within its limit")
	}
	r.Findings = list(all)
	switch n := count(all); {
	case n > 0:
		r.Verdict, r.Why = Violation, fmt.Sprintf("%d findings, the first: %s", n, r.Findings[0].Text)
	case len(r.Missing) > 0:
		r.Verdict, r.Why = ProvedNothing, r.Missing[0]
	default:
		r.Verdict, r.Why = AsPromised, fmt.Sprintf("%d grants, %d contended attempts, no overlap, no lost update", r.Stats.Grants, r.Stats.Contended)
	}
}

func (r *Report) outOfModel(never, harm, late []Findings) {
	r.Notes = list(late)
	lost := r.Stats.Damage.Lost
	switch {
	case count(never) > 0:
		r.Findings = list(append(never, harm...))
		r.Verdict, r.Why = Violation, "no assumption excuses this: "+r.Findings[0].Text
	case count(harm) > 0 || lost > 0:
		r.Findings = list(harm)
		r.Verdict, r.Why = UnsafeDetected, fmt.Sprintf("%d overlaps, %d lost updates, %d stale writes", r.Stats.Overlaps, lost, r.Stats.Damage.Stale)
	case len(r.Missing) > 0:
		r.Verdict, r.Why = ProvedNothing, r.Missing[0]
	default:
		r.Verdict, r.Why = Unexpected, "no overlap and no lost update, though an assumption was broken"
	}
}

func goroutines(x *index, n int) (f Findings) {
	if n > 0 {
		f.add(func() Finding {
			return Finding{Check: CheckHygiene, From: x.last, To: x.last, Text: fmt.Sprintf("%d goroutines were left running", n)}
		})
	}
	return f
}

func list(all []Findings) (l []Finding) {
	for _, f := range all {
		l = append(l, f.List...)
	}
	return l
}

func count(all []Findings) (n int) {
	for _, f := range all {
		n += f.Count
	}
	return n
}
