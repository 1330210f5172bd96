package quorum

import (
	"fmt"
	"math/bits"
)

// A Tally counts the votes of one round. It is plain arithmetic: no clock, no
// locking, no I/O, and a copy is independent of the original. The zero Tally
// has no voters and is Lost; use [NewTally].
type Tally struct {
	voters   int
	need     int
	voted    uint64 // who has voted
	doubted  uint64 // whom nobody waits for
	yes      int
	decision Decision
}

// NewTally returns an open tally of voters 0 to voters-1 of which need must
// say yes. It panics unless 1 <= need <= voters <= [MaxVoters].
func NewTally(voters, need int) Tally {
	if voters < 1 || voters > MaxVoters || need < 1 || need > voters {
		panic(fmt.Sprintf("quorum: need %d of %d voters, want 1 <= need <= voters <= %d", need, voters, MaxVoters))
	}
	return Tally{voters: voters, need: need}
}

// Doubt says that voter i may not answer soon and is not to be waited for: the
// round is lost as soon as the others cannot win it, but a yes that i casts
// before that counts like any other. It returns the decision afterwards, and
// changes nothing once that is made. It panics if there is no voter i.
func (t *Tally) Doubt(i int) Decision {
	bit := t.bit(i)
	if t.Decision() == Open {
		t.doubted |= bit
		t.decide()
	}
	return t.Decision()
}

// Add counts the vote of voter i and returns the decision afterwards. Only a
// voter's first vote counts, and none after the decision. It panics if there is
// no voter i or v is none of the votes.
func (t *Tally) Add(i int, v Vote) Decision {
	bit := t.bit(i)
	if v < Yes || v > Late {
		panic(fmt.Sprintf("quorum: %v of voter %d, want yes, no, fault or late", v, i))
	}
	if t.Decision() == Open && t.voted&bit == 0 {
		t.voted |= bit
		if v == Yes {
			t.yes++
		}
		t.decide()
	}
	return t.Decision()
}

// Close makes everybody who has not voted [Late], which loses an open round,
// and returns the decision. A decided round stays as it is.
func (t *Tally) Close() Decision {
	if t.Decision() == Open {
		t.voted = 1<<t.voters - 1
		t.decide()
	}
	return t.Decision()
}

// Voted reports whether a vote of voter i was counted, or Close made it one. It
// panics if there is no voter i.
func (t *Tally) Voted(i int) bool { return t.voted&t.bit(i) != 0 }

// Yes returns the number of yes votes counted.
func (t *Tally) Yes() int { return t.yes }

// Need returns the number of yes votes that win.
func (t *Tally) Need() int { return t.need }

// Decision returns where the round stands.
func (t *Tally) Decision() Decision {
	if t.voters == 0 {
		return Lost
	}
	return t.decision
}

// decide makes the decision of an open tally, if the votes allow one.
func (t *Tally) decide() {
	// Whoever voted, or is in doubt, adds no further yes.
	open := t.voters - bits.OnesCount64(t.voted|t.doubted)
	switch {
	case t.yes >= t.need:
		t.decision = Won
	case t.yes+open < t.need:
		t.decision = Lost
	}
}

func (t *Tally) bit(i int) uint64 {
	if i < 0 || i >= t.voters {
		panic(fmt.Sprintf("quorum: voter %d of %d, the first is 0", i, t.voters))
	}
	return 1 << i
}
