package quorum_test

import (
	"fmt"
	"testing"

	"github.com/quorumlock/redlock/quorum"
	"github.com/stretchr/testify/require"
)

var everyVote = []quorum.Vote{quorum.Yes, quorum.No, quorum.Fault, quorum.Late}

// A history is what has happened to a tally before its decision.
type history struct {
	votes   [7]quorum.Vote // zero: has not voted
	doubted [7]bool
}

// The two tests below walk every order of every assignment of votes, by walking
// the histories that they pass through. A Tally is a plain value: what it does
// next depends on that value alone. So once the tally is known to be the same
// whichever order led to a history, which visit checks, it is enough to try
// every event once after every history, instead of 7! x 4^7 orders one by one.

func TestEveryOrderOfEveryVoteUpToSevenVotersDecidesAtTheRightVote(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for need := 1; need <= n; need++ {
			t.Run(fmt.Sprintf("%d of %d", need, n), func(t *testing.T) {
				t.Parallel()
				newWalk(t, n, need, everyVote, false).visit(quorum.NewTally(n, need), history{})
			})
		}
	}
}

func TestDoubtsAtAnyPointOnlyStopTheWaiting(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for need := 1; need <= n; need++ {
			t.Run(fmt.Sprintf("%d of %d", need, n), func(t *testing.T) {
				t.Parallel()
				votes := []quorum.Vote{quorum.Yes, quorum.No} // the test above tries the others
				newWalk(t, n, need, votes, true).visit(quorum.NewTally(n, need), history{})
			})
		}
	}
}

type walk struct {
	t       *testing.T
	n, need int
	votes   []quorum.Vote
	doubts  bool
	seen    map[history]quorum.Tally
}

func newWalk(t *testing.T, n, need int, votes []quorum.Vote, doubts bool) *walk {
	return &walk{t: t, n: n, need: need, votes: votes, doubts: doubts, seen: map[history]quorum.Tally{}}
}

// visit checks the tally that past has led to, and every event that can follow.
func (w *walk) visit(tally quorum.Tally, past history) {
	if seen, ok := w.seen[past]; ok {
		equal(w, tally, seen, "tallies after the same votes in another order", &past)
		return
	}
	w.seen[past] = tally
	w.check(tally, past)

	for i := range w.n {
		for _, v := range w.votes {
			next := tally
			returned := next.Add(i, v)
			equal(w, returned, next.Decision(), "Add's result and the decision", &past)
			if tally.Decision() != quorum.Open || past.votes[i] != 0 {
				equal(w, next, tally, "a tally after and before a vote that must not count", &past)
				continue
			}
			then := past
			then.votes[i] = v
			w.visit(next, then)
		}
		if w.doubts {
			w.doubt(tally, past, i)
		}
	}
	w.close(tally, past)
}

func (w *walk) doubt(tally quorum.Tally, past history, i int) {
	next := tally
	returned := next.Doubt(i)
	equal(w, returned, next.Decision(), "Doubt's result and the decision", &past)
	if tally.Decision() != quorum.Open {
		equal(w, next, tally, "a decided tally after and before a doubt", &past)
		return
	}
	past.doubted[i] = true
	w.visit(next, past)
}

func (w *walk) close(tally quorum.Tally, past history) {
	next := tally
	next.Close()
	if tally.Decision() != quorum.Open {
		equal(w, next, tally, "a decided tally after and before Close", &past)
		return
	}
	equal(w, next.Decision(), quorum.Lost, "a closed open tally and lost", &past)
	equal(w, next.Yes(), tally.Yes(), "yes votes after and before Close", &past)
	for i := range w.n {
		equal(w, next.Voted(i), true, "voted after Close and true", &past)
	}
}

// check compares a tally with the obvious: try all that the voters we still
// wait for may say. If every ending wins the round is won, if none does it is
// lost, else it is open.
func (w *walk) check(tally quorum.Tally, past history) {
	yes := 0
	for i := range w.n {
		equal(w, tally.Voted(i), past.votes[i] != 0, "voted and whether he has", &past)
		if past.votes[i] == quorum.Yes {
			yes++
		}
	}
	want := quorum.Open
	switch wins, losses := w.endings(&past, 0, yes); {
	case losses == 0:
		want = quorum.Won
	case wins == 0:
		want = quorum.Lost
	}
	equal(w, tally.Decision(), want, "the decision and the oracle's", &past)
	equal(w, tally.Yes(), yes, "yes votes and their count", &past)
	equal(w, tally.Need(), w.need, "need and what was asked for", &past)
}

// endings counts the ways in which voters i and up can vote that win and lose.
func (w *walk) endings(past *history, i, yes int) (wins, losses int) {
	switch {
	case i == w.n && yes >= w.need:
		return 1, 0
	case i == w.n:
		return 0, 1
	case past.votes[i] != 0 || past.doubted[i]:
		return w.endings(past, i+1, yes)
	}
	wins, losses = w.endings(past, i+1, yes)
	w2, l2 := w.endings(past, i+1, yes+1)
	return wins + w2, losses + l2
}

// equal is require.Equal for millions of calls.
func equal[T comparable](w *walk, got, want T, what string, past *history) {
	if got != want {
		w.t.Helper()
		w.t.Fatalf("%s differ after %+v: %+v, %+v", what, *past, got, want)
	}
}

func TestAnEarlyYesOfADoubtedVoterCounts(t *testing.T) {
	tally := quorum.NewTally(3, 2)
	require.Equal(t, quorum.Open, tally.Doubt(0))
	require.Equal(t, quorum.Open, tally.Add(0, quorum.Yes))
	require.Equal(t, quorum.Open, tally.Add(1, quorum.No))
	require.Equal(t, quorum.Won, tally.Add(2, quorum.Yes))
}

func TestADoubtedVoterIsNotWaitedFor(t *testing.T) {
	tally := quorum.NewTally(3, 2)
	require.Equal(t, quorum.Open, tally.Add(1, quorum.No))
	require.Equal(t, quorum.Lost, tally.Doubt(0))
	require.Equal(t, quorum.Lost, tally.Add(0, quorum.Yes))
}

func TestTheLargestTallyCountsItsLastVoter(t *testing.T) {
	const n = quorum.MaxVoters
	won, lost, closed := quorum.NewTally(n, n), quorum.NewTally(n, n), quorum.NewTally(n, n)
	for i := range n - 1 {
		require.Equal(t, quorum.Open, won.Add(i, quorum.Yes))
	}
	require.False(t, won.Voted(n-1))
	require.Equal(t, quorum.Won, won.Add(n-1, quorum.Yes))
	require.Equal(t, quorum.Lost, lost.Doubt(n-1))
	require.Equal(t, quorum.Lost, closed.Close())
	require.True(t, closed.Voted(n-1))
}

func TestTheZeroTallyIsLost(t *testing.T) {
	var tally quorum.Tally
	require.Equal(t, quorum.Lost, tally.Decision())
	require.Equal(t, quorum.Lost, tally.Close())
	require.Panics(t, func() { tally.Add(0, quorum.Yes) })
}

func TestTallyRefusesMisuseAndNamesTheValue(t *testing.T) {
	for _, c := range []struct{ voters, need int }{{0, 1}, {-1, 1}, {65, 33}, {3, 0}, {3, -1}, {3, 4}} {
		want := fmt.Sprintf("quorum: need %d of %d voters, want 1 <= need <= voters <= 64", c.need, c.voters)
		require.PanicsWithValue(t, want, func() { quorum.NewTally(c.voters, c.need) })
		require.PanicsWithValue(t, want, func() { quorum.NewRound[int](c.voters, c.need) })
	}
	tally := quorum.NewTally(3, 2)
	for _, i := range []int{-1, 3} {
		want := fmt.Sprintf("quorum: voter %d of 3, the first is 0", i)
		require.PanicsWithValue(t, want, func() { tally.Add(i, quorum.Yes) })
		require.PanicsWithValue(t, want, func() { tally.Doubt(i) })
		require.PanicsWithValue(t, want, func() { tally.Voted(i) })
	}
	for _, v := range []quorum.Vote{0, 5} {
		want := fmt.Sprintf("quorum: Vote(%d) of voter 1, want yes, no, fault or late", v)
		require.PanicsWithValue(t, want, func() { tally.Add(1, v) })
	}
	require.Equal(t, quorum.NewTally(3, 2), tally, "misuse leaves the tally as it was")
}
