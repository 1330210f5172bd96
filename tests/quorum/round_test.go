package quorum_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/quorumlock/redlock/quorum"
	"github.com/stretchr/testify/require"
)

type ballots = []quorum.Ballot[string]

func isDecided(round *quorum.Round[string]) bool {
	select {
	case <-round.Decided():
		return true
	default:
		return false
	}
}

func TestARoundIsDecidedAtTheDecidingAnswer(t *testing.T) {
	round := quorum.NewRound[string](5, 3)
	require.True(t, round.Answer(4, quorum.Yes, "e"))
	require.True(t, round.Answer(0, quorum.No, "a"))
	require.True(t, round.Answer(2, quorum.Yes, "c"))
	require.False(t, isDecided(round))
	require.True(t, round.Answer(1, quorum.Yes, "b"))
	require.True(t, isDecided(round))

	d, yes, got := round.Result()
	require.Equal(t, quorum.Won, d)
	require.Equal(t, 3, yes)
	require.Equal(t, ballots{{Vote: quorum.No, Answer: "a"}, {Vote: quorum.Yes, Answer: "b"}, {Vote: quorum.Yes, Answer: "c"}, {}, {Vote: quorum.Yes, Answer: "e"}}, got)
}

func TestAnAnswerAfterTheDecisionIsHandedBack(t *testing.T) {
	round := quorum.NewRound[string](3, 2)
	require.True(t, round.Answer(0, quorum.No, "a"))
	require.True(t, round.Answer(1, quorum.Fault, "b"))
	require.False(t, round.Answer(2, quorum.Yes, "c"))

	d, yes, got := round.Result()
	require.Equal(t, quorum.Lost, d)
	require.Zero(t, yes)
	require.Equal(t, ballots{{Vote: quorum.No, Answer: "a"}, {Vote: quorum.Fault, Answer: "b"}, {}}, got)
}

func TestASecondAnswerOfAVoterIsHandedBack(t *testing.T) {
	round := quorum.NewRound[string](3, 2)
	require.True(t, round.Answer(0, quorum.Yes, "first"))
	require.False(t, round.Answer(0, quorum.Yes, "second"))

	d, yes, got := round.Result()
	require.Equal(t, quorum.Open, d)
	require.Equal(t, 1, yes)
	require.Equal(t, "first", got[0].Answer)
}

func TestCloseMakesTheSilentVotersLate(t *testing.T) {
	round := quorum.NewRound[string](3, 2)
	require.True(t, round.Answer(1, quorum.Yes, "b"))
	round.Close()
	require.True(t, isDecided(round))
	require.False(t, round.Answer(0, quorum.Yes, "a"))

	d, yes, got := round.Result()
	require.Equal(t, quorum.Lost, d)
	require.Equal(t, 1, yes)
	require.Equal(t, ballots{{Vote: quorum.Late}, {Vote: quorum.Yes, Answer: "b"}, {Vote: quorum.Late}}, got)
}

func TestCloseLeavesADecidedRoundAsItIs(t *testing.T) {
	round := quorum.NewRound[string](3, 1)
	require.True(t, round.Answer(1, quorum.Yes, "b"))
	round.Close()
	round.Close()

	d, _, got := round.Result()
	require.Equal(t, quorum.Won, d)
	require.Equal(t, ballots{{}, {Vote: quorum.Yes, Answer: "b"}, {}}, got)
}

func TestDoubtWakesTheWaiterOfARoundThatTheOthersCannotWin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		round := quorum.NewRound[string](3, 2)
		woken := false
		go func() {
			<-round.Decided()
			woken = true
		}()
		round.Doubt(0)
		require.True(t, round.Answer(1, quorum.No, "b"), "voters 0 and 2 could win, but nobody waits for 0")
		synctest.Wait()
		require.True(t, woken)
		round.Doubt(2) // after the decision: nothing to wake

		d, _, got := round.Result()
		require.Equal(t, quorum.Lost, d)
		require.Equal(t, ballots{{}, {Vote: quorum.No, Answer: "b"}, {}}, got)
	})
}

func TestDoubtAfterTheOthersVotedWakesTheWaiter(t *testing.T) {
	round := quorum.NewRound[string](3, 2)
	require.True(t, round.Answer(0, quorum.Yes, "a"))
	require.True(t, round.Answer(1, quorum.No, "b"))
	require.False(t, isDecided(round))
	round.Doubt(2)
	require.True(t, isDecided(round))
}

func TestTheBallotsOfAnOpenRoundAreACopy(t *testing.T) {
	round := quorum.NewRound[string](3, 2)
	require.True(t, round.Answer(0, quorum.Yes, "a"))
	_, _, got := round.Result()
	got[0].Answer = "changed"
	_, _, got = round.Result()
	require.Equal(t, "a", got[0].Answer)
}

func TestARoundRefusesMisuseAndStaysUsable(t *testing.T) {
	round := quorum.NewRound[string](2, 2)
	require.Panics(t, func() { round.Answer(2, quorum.Yes, "") })
	require.Panics(t, func() { round.Answer(0, 0, "no vote") })
	_, _, got := round.Result()
	require.Equal(t, ballots{{}, {}}, got)
	require.True(t, round.Answer(0, quorum.Yes, "a"))
	require.True(t, round.Answer(1, quorum.Yes, "b"))
	require.Panics(t, func() { round.Answer(2, quorum.Yes, "") }, "also once it is decided")
}

// Every voter answers twice while others doubt and close: each answer must be
// either in the ballots or handed back, and the decision must be announced once
// (a second time would panic).
func TestConcurrentAnswersAreCountedOrHandedBackExactlyOnce(t *testing.T) {
	decisions := map[quorum.Decision]int{}
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		n := 1 + random.IntN(9)
		need := 1 + random.IntN(n)
		round := quorum.NewRound[int](n, need)
		counted := make([]atomic.Int32, 2*n) // by answer: 2*voter and 2*voter+1

		var all sync.WaitGroup
		start := make(chan struct{})
		run := func(f func()) {
			all.Go(func() { <-start; f() })
		}
		votes := make([]quorum.Vote, 2*n)
		for answer := range votes {
			votes[answer] = quorum.Yes
			if random.IntN(3) == 0 {
				votes[answer] = everyVote[1+random.IntN(3)]
			}
			run(func() {
				if round.Answer(answer/2, votes[answer], answer) {
					counted[answer].Add(1)
				}
			})
		}
		if random.IntN(2) == 0 {
			doubted := random.IntN(n)
			run(func() { round.Doubt(doubted) })
		}
		if random.IntN(4) == 0 {
			run(round.Close)
			run(round.Close)
		}
		run(func() { // a reader sees a decision that stays
			for range 3 {
				before, _, _ := round.Result()
				runtime.Gosched()
				after, _, _ := round.Result()
				if before != quorum.Open && before != after {
					t.Errorf("seed %d: %v became %v", seed, before, after)
				}
			}
		})
		close(start)
		all.Wait()
		round.Close() // a doubt may leave it open: no voter is left to decide it
		<-round.Decided()

		d, yes, got := round.Result()
		decisions[d]++
		tally := 0
		for i, ballot := range got {
			if ballot.Vote == quorum.Yes {
				tally++
			}
			answered := counted[2*i].Load() + counted[2*i+1].Load()
			if answered == 0 {
				require.Contains(t, []quorum.Vote{0, quorum.Late}, ballot.Vote, "seed %d", seed)
				require.Zero(t, ballot.Answer, "seed %d", seed)
				continue
			}
			require.EqualValues(t, 1, answered, "seed %d: voter %d counted twice", seed, i)
			require.EqualValues(t, 1, counted[ballot.Answer].Load(), "seed %d: a ballot that was handed back", seed)
			require.Equal(t, i, ballot.Answer/2, "seed %d: another voter's answer", seed)
			require.Equal(t, votes[ballot.Answer], ballot.Vote, "seed %d", seed)
		}
		require.Equal(t, tally, yes, "seed %d", seed)
		require.Equal(t, d == quorum.Won, yes >= need, "seed %d: %v with %d of %d", seed, d, yes, need)
	}
	require.Greater(t, decisions[quorum.Won], 300)
	require.Greater(t, decisions[quorum.Lost], 300)
}

func playRound() quorum.Decision {
	round := quorum.NewRound[error](5, 3)
	for i := range 5 {
		round.Answer(i, quorum.Yes, nil)
	}
	<-round.Decided()
	d, _, _ := round.Result()
	return d
}

// A lock's acquisition and its release are a round each, and both are on the
// caller's path.
func TestARoundOfFiveAllocatesThreeTimes(t *testing.T) {
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { playRound() }), 3.0)
}

func BenchmarkRoundOfFive(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		playRound()
	}
}
