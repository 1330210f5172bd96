package quorum_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/redlock/quorum"
	"github.com/stretchr/testify/require"
)

// voters answers like people who take their time: voter i says votes[i], i+1
// seconds after he was asked, and ignores that nobody waits for him any more.
func voters(votes ...quorum.Vote) func(context.Context, int) (int, quorum.Vote) {
	return func(_ context.Context, i int) (int, quorum.Vote) {
		time.Sleep(time.Duration(i+1) * time.Second)
		return i + 100, votes[i]
	}
}

// lateAnswers remembers what Call handed to late.
type lateAnswers struct {
	mu  sync.Mutex
	got []quorum.Ballot[int]
}

func (l *lateAnswers) add(i, a int, v quorum.Vote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a != i+100 {
		a = -1 // another voter's answer
	}
	l.got = append(l.got, quorum.Ballot[int]{Vote: v, Answer: a})
}

func (l *lateAnswers) all() []quorum.Ballot[int] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

func TestCallIsWonAtTheDecidingVoteWithoutWaitingForStragglers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, late := time.Now(), lateAnswers{}
		ask := voters(quorum.No, quorum.Yes, quorum.Yes, quorum.Yes, quorum.Fault, quorum.Yes, quorum.No)
		d, got := quorum.Call(t.Context(), 7, 3, ask, late.add)
		require.Equal(t, 4*time.Second, time.Since(start))
		require.Equal(t, quorum.Won, d)
		require.Equal(t, []quorum.Ballot[int]{
			{Vote: quorum.No, Answer: 100}, {Vote: quorum.Yes, Answer: 101}, {Vote: quorum.Yes, Answer: 102}, {Vote: quorum.Yes, Answer: 103}, {}, {}, {},
		}, got)
		require.Empty(t, late.all())

		time.Sleep(time.Minute)
		require.Equal(t, []quorum.Ballot[int]{{Vote: quorum.Fault, Answer: 104}, {Vote: quorum.Yes, Answer: 105}, {Vote: quorum.No, Answer: 106}}, late.all())
	})
}

func TestCallIsLostAtTheVoteThatMakesWinningImpossible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, late := time.Now(), lateAnswers{}
		ask := voters(quorum.No, quorum.Fault, quorum.Late, quorum.Yes, quorum.Yes)
		d, got := quorum.Call(t.Context(), 5, 3, ask, late.add)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, quorum.Lost, d)
		require.Equal(t, []quorum.Ballot[int]{{Vote: quorum.No, Answer: 100}, {Vote: quorum.Fault, Answer: 101}, {Vote: quorum.Late, Answer: 102}, {}, {}}, got)

		time.Sleep(time.Minute)
		require.Equal(t, []quorum.Ballot[int]{{Vote: quorum.Yes, Answer: 103}, {Vote: quorum.Yes, Answer: 104}}, late.all())
	})
}

func TestCallAsksEverybodyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked sync.WaitGroup
		asked.Add(5)
		d, _ := quorum.Call(t.Context(), 5, 5, func(context.Context, int) (struct{}, quorum.Vote) {
			asked.Done()
			asked.Wait() // for the others: asked in turn, they would never come
			return struct{}{}, quorum.Yes
		}, nil)
		require.Equal(t, quorum.Won, d)
	})
}

func TestCallEndsWithItsContextAndHandsTheRestToLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		start, late := time.Now(), lateAnswers{}
		d, got := quorum.Call(ctx, 5, 3, voters(quorum.Yes, quorum.Yes, quorum.Yes, quorum.No, quorum.Yes), late.add)
		require.Equal(t, 2500*time.Millisecond, time.Since(start))
		require.Equal(t, quorum.Lost, d)
		silent := quorum.Ballot[int]{Vote: quorum.Late}
		require.Equal(t, []quorum.Ballot[int]{{Vote: quorum.Yes, Answer: 100}, {Vote: quorum.Yes, Answer: 101}, silent, silent, silent}, got)

		time.Sleep(time.Minute)
		require.Equal(t, []quorum.Ballot[int]{{Vote: quorum.Yes, Answer: 102}, {Vote: quorum.No, Answer: 103}, {Vote: quorum.Yes, Answer: 104}}, late.all())
	})
}

func TestCallWithAnEndedContextStillHandsOnEveryAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		late := lateAnswers{}
		d, _ := quorum.Call(ctx, 3, 2, voters(quorum.Yes, quorum.Yes, quorum.Yes), late.add)
		require.Equal(t, quorum.Lost, d)
		time.Sleep(time.Minute)
		require.Len(t, late.all(), 3)
	})
}

func TestCallGivesTheVotersItsContext(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")
	d, got := quorum.Call(ctx, 1, 1, func(ctx context.Context, _ int) (any, quorum.Vote) {
		return ctx.Value(key{}), quorum.Yes
	}, nil)
	require.Equal(t, quorum.Won, d)
	require.Equal(t, "value", got[0].Answer)
}

func TestCallWithoutLateIgnoresStragglers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := quorum.Call(t.Context(), 3, 1, voters(quorum.Yes, quorum.Yes, quorum.Yes), nil)
		require.Equal(t, quorum.Won, d)
		time.Sleep(time.Minute) // a call of nil would panic
	})
}

func TestCallRefusesAnImpossibleNeedBeforeItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := false
		ask := func(context.Context, int) (int, quorum.Vote) { asked = true; return 0, quorum.Yes }
		require.PanicsWithValue(t, "quorum: need 4 of 3 voters, want 1 <= need <= voters <= 64", func() {
			quorum.Call(t.Context(), 3, 4, ask, nil)
		})
		synctest.Wait()
		require.False(t, asked)
	})
}

// Answers, stragglers and the end of the context meet at the same instants of
// the bubble's time, where they run in parallel.
func TestCallNeverLosesOrDoublesAnAnswer(t *testing.T) {
	decisions, ended := map[quorum.Decision]int{}, 0
	for seed := range uint64(1000) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			n := 1 + random.IntN(9)
			need := 1 + random.IntN(n)
			votes, pauses := make([]quorum.Vote, n), make([]time.Duration, n)
			for i := range n {
				votes[i] = everyVote[max(0, random.IntN(6)-2)]
				pauses[i] = time.Duration(random.IntN(3)) * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(3))*time.Millisecond)
			defer cancel()

			late := lateAnswers{}
			d, got := quorum.Call(ctx, n, need, func(_ context.Context, i int) (int, quorum.Vote) {
				time.Sleep(pauses[i])
				return i + 100, votes[i]
			}, late.add)
			decisions[d]++

			yes, answers := 0, []int{}
			for i, ballot := range got {
				if ballot.Vote == quorum.Yes {
					yes++
				}
				if ballot.Answer != 0 {
					require.Equal(t, quorum.Ballot[int]{Vote: votes[i], Answer: i + 100}, ballot, "seed %d", seed)
					answers = append(answers, i+100)
				}
			}
			require.Equal(t, d == quorum.Won, yes >= need, "seed %d: %v with %d of %d", seed, d, yes, need)
			if ctx.Err() != nil {
				ended++
			}

			time.Sleep(time.Second)
			want := make([]int, n)
			for i := range n {
				want[i] = i + 100
			}
			for _, ballot := range late.all() {
				answers = append(answers, ballot.Answer)
			}
			slices.Sort(answers)
			require.Equal(t, want, answers, "seed %d", seed)
		})
	}
	require.Greater(t, decisions[quorum.Won], 100)
	require.Greater(t, decisions[quorum.Lost], 100)
	require.Greater(t, ended, 100)
}
