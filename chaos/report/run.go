// Package report shows what a run was and what was found in it: a picture of
// who believed what when, tables for people, a folder of files, and progress
// while it lasts. It judges nothing: what is a violation, the checkers say.
package report

import (
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A Run is a finished run with what was found in it.
type Run struct {
	History *history.History

	// Marks are findings, in any order. Stale writes and lost updates need not be
	// among them: the history itself says what they are.
	Marks []Mark
	// Found says how many findings there were of a kind, if Marks has only some.
	Found map[MarkKind]int

	Verdict string // a few words: "safe", "unsafe by design, detected", ...
	Exit    int    // the exit status that goes with it
	Commit  string // of the code that ran; "": unknown
	Replay  string // the command that runs it again

	// Contended is how many acquisitions met another client; the checkers
	// count them.
	Contended int

	// Pace says what faults of a minority cost in grants. "": nothing is known.
	Pace string

	// Seen is the picture's one sentence. "": made of the marks and faults.
	Seen string
}

// A MarkKind says what sort of finding a Mark is.
type MarkKind string

const (
	// Overlap means: Clients believed from From to To that each of them held Name.
	Overlap MarkKind = "overlap"
	// StaleWrite means: the first of Clients wrote at From, past its lock's end.
	StaleWrite MarkKind = "stale write"
	// LostUpdate means: the first of Clients wrote at From over an update of Name
	// that it had not read.
	LostUpdate MarkKind = "lost update"
	// Note is anything else; Text says it.
	Note MarkKind = "note"
)

// A Mark is one finding, to be shown where it happened.
type Mark struct {
	Kind    MarkKind
	Name    string // of the lock; "": of all
	From    time.Duration
	To      time.Duration // From, or later
	Clients []int         // from 1; both owners of an overlap
	Text    string        // for people
}

// count returns how many findings are of kind.
func (run *Run) count(kind MarkKind) int {
	n := 0
	for i := range run.Marks {
		if run.Marks[i].Kind == kind {
			n++
		}
	}
	return max(n, run.Found[kind])
}

// first returns the earliest mark of kind about name, or nil; "" stands for any kind,
// and for any name.
func first(marks []Mark, kind MarkKind, name string) *Mark {
	var found *Mark
	for i := range marks {
		m := &marks[i]
		if kind != "" && m.Kind != kind || name != "" && m.Name != name {
			continue
		}
		if found == nil || m.From < found.From {
			found = m
		}
	}
	return found
}
