// Package quorum asks several voters one question and decides by majority as
// soon as the votes allow it.
//
// It has three layers, each usable alone: [Tally] is the arithmetic, pure and
// without a clock; [Round] collects answers that arrive from any goroutine and
// wakes the one who waits at the deciding vote; [Call] is a Round over blocking
// functions. Nothing here knows of locks or of Redis.
package quorum

import "fmt"

// MaxVoters is the largest number of voters in a round.
const MaxVoters = 64

// Majority returns the smallest number of n voters of which any two sets share
// a member: n/2 + 1. It is always a majority of the configured voters, never of
// those that can be reached. It panics if n is not within 1 to [MaxVoters].
func Majority(n int) int {
	if n < 1 || n > MaxVoters {
		panic(fmt.Sprintf("quorum: %d voters, want 1 to %d", n, MaxVoters))
	}
	return n/2 + 1
}

// Vote is what one voter's answer, or silence, counts as.
type Vote uint8

// The votes. Only Yes helps to win; the others differ in what they tell people.
const (
	Yes   Vote = iota + 1 // the voter agrees
	No                    // the voter refuses
	Fault                 // the voter failed, or could not be asked
	Late                  // the voter had not answered when the time was over
)

func (v Vote) String() string {
	switch v {
	case Yes:
		return "yes"
	case No:
		return "no"
	case Fault:
		return "fault"
	case Late:
		return "late"
	default:
		return fmt.Sprintf("Vote(%d)", uint8(v))
	}
}

// Decision is where a round stands.
type Decision uint8

// The decisions. Won and Lost are final: no later vote changes them.
const (
	Open Decision = iota // votes to come can still decide it either way
	Won                  // as many voters as needed said yes
	Lost                 // that has become impossible
)

func (d Decision) String() string {
	switch d {
	case Open:
		return "open"
	case Won:
		return "won"
	case Lost:
		return "lost"
	default:
		return fmt.Sprintf("Decision(%d)", uint8(d))
	}
}
