package quorum

import (
	"slices"
	"sync"
)

// A Ballot is what a round knows of one voter. The zero Ballot is a voter that
// has not answered.
type Ballot[A any] struct {
	Vote   Vote // zero: no answer counted
	Answer A    // what came with the vote
}

// A Round collects the answers of voters to one question. Answers may come
// from any goroutine and in any order; each is either counted or handed back
// as late, never dropped. Use [NewRound].
type Round[A any] struct {
	mu      sync.Mutex
	tally   Tally       // guarded by mu
	ballots []Ballot[A] // guarded by mu until the decision; nobody writes them afterwards
	decided chan struct{}
}

// NewRound returns an open round of voters 0 to voters-1 of which need must say
// yes. It panics as [NewTally] does.
func NewRound[A any](voters, need int) *Round[A] {
	return &Round[A]{
		tally:   NewTally(voters, need),
		ballots: make([]Ballot[A], voters),
		decided: make(chan struct{}),
	}
}

// Answer counts voter i's answer as v. It returns false, and leaves the round
// unchanged, if the round was decided or closed before, or i has voted: the
// answer is late and the caller's to deal with. It panics as [Tally.Add] does.
func (r *Round[A]) Answer(i int, v Vote, a A) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tally.Voted(i) || r.tally.Decision() != Open {
		return false
	}
	d := r.tally.Add(i, v)
	r.ballots[i] = Ballot[A]{Vote: v, Answer: a}
	r.announceLocked(d)
	return true
}

// Doubt marks voter i as one that is not waited for, which may lose the round;
// see [Tally.Doubt].
func (r *Round[A]) Doubt(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tally.Decision() == Open {
		r.announceLocked(r.tally.Doubt(i))
	}
}

// Close ends an open round: whoever has not voted is [Late], and the round is
// lost. A decided round stays as it is.
func (r *Round[A]) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tally.Decision() != Open {
		return
	}
	for i := range r.ballots {
		if !r.tally.Voted(i) {
			r.ballots[i].Vote = Late
		}
	}
	r.announceLocked(r.tally.Close())
}

// announceLocked wakes the waiter at the decision. The round was open before,
// so this happens once.
func (r *Round[A]) announceLocked(d Decision) {
	if d != Open {
		close(r.decided)
	}
}

// Decided is closed at the decision.
func (r *Round[A]) Decided() <-chan struct{} { return r.decided }

// Result returns the decision, the number of yes votes and the ballots, by
// voter, as they are now; a voter without a vote had not answered. The ballots
// of a decided round are final and the same slice for every caller: read them
// only. Before that they are a copy.
func (r *Round[A]) Result() (Decision, int, []Ballot[A]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ballots := r.tally.Decision(), r.ballots
	if d == Open {
		ballots = slices.Clone(ballots)
	}
	return d, r.tally.Yes(), ballots
}
