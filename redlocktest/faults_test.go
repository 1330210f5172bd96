package redlocktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestDownRefusesAtOnceAndKeepsTheKeys(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		ask(n, redlock.OpAcquire, "k", "a").vote(t, redlock.VoteYes, 0)
		n.Down()
		refused := ask(n, redlock.OpRelease, "k", "a").vote(t, redlock.VoteNotSent, 0)
		assert.EqualError(t, refused.Err, "connection refused")
		assert.Error(t, n.Connect(t.Context()))
		n.Resume() // is not Up
		ask(n, redlock.OpRelease, "k", "a").vote(t, redlock.VoteNotSent, 0)

		n.Up()
		assert.NoError(t, n.Connect(t.Context()))
		assert.Equal(t, "a", get(t, n, "k"))
		ask(n, redlock.OpRelease, "k", "a").vote(t, redlock.VoteYes, 0)
		assert.Equal(t, 1, n.Count(redlock.OpRelease), "what was refused never arrived")
	})
}

func TestDownResetsConnectionsAndLosesWhatAHungNodeHad(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.Slow(20 * time.Millisecond)
		applied := ask(n, redlock.OpAcquire, "applied", "a")
		n.Hang()
		lost := ask(n, redlock.OpAcquire, "lost", "a")
		time.Sleep(time.Millisecond)
		n.Down()
		assert.EqualError(t, applied.vote(t, redlock.VoteUnknown, time.Millisecond).Err, "connection reset by peer")
		assert.EqualError(t, lost.vote(t, redlock.VoteUnknown, time.Millisecond).Err, "connection reset by peer")
		n.Up()
		time.Sleep(time.Second)
		assert.Equal(t, "a", get(t, n, "applied"))
		assert.Equal(t, 1, n.Len())
	})
}

func TestAHungNodeCarriesOutOnResumeWhatWasGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.Hang()
		ask(n, redlock.OpAcquire, "k", "a").timesOut(t)
		ask(n, redlock.OpRelease, "k", "a").timesOut(t)
		ask(n, redlock.OpAcquire, "k", "orphan").timesOut(t)
		time.Sleep(time.Hour)
		require.Equal(t, 0, n.Len())
		assert.Zero(t, n.Commands()[0].Answer, "not carried out yet")

		n.Resume()
		value, left, ok := n.Get("k")
		assert.True(t, ok)
		assert.Equal(t, "orphan", value, "in the order of arrival")
		assert.Equal(t, ttl, left, "a TTL begins when the command is carried out")
		for _, c := range n.Commands() {
			assert.Equal(t, redlock.VoteYes, c.Answer.Vote, "%v", c.Op)
			assert.Equal(t, time.Now(), c.Done)
		}

		n.Forget()
		n.Hang()
		n.Resume()
		assert.Equal(t, 0, n.Len(), "carried out a second time")
	})
}

func TestABrokenConnectionIsToldInTheOrderOfTheRequests(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.Hang()
		var told, want []int
		for i := range 50 {
			want = append(want, i)
			c := &redlock.Command{Op: redlock.OpRelease, Key: "k", Value: "a"}
			n.Send(redlock.NewRequest(c, timeout, func(redlock.Answer) { told = append(told, i) }))
		}
		n.Down()
		assert.Equal(t, want, told)
	})
}

func TestAShortHangIsASlowAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.Hang()
		n.Hang() // changes nothing
		first := ask(n, redlock.OpAcquire, "k", "a")
		second := ask(n, redlock.OpAcquire, "k", "b")
		time.Sleep(30 * time.Millisecond)
		n.Up()
		first.vote(t, redlock.VoteYes, 30*time.Millisecond)
		assert.Equal(t, "a", second.vote(t, redlock.VoteForeign, 30*time.Millisecond).Value)
		time.Sleep(time.Second)
		assert.Empty(t, first.answers, "a second answer")
	})
}

func TestASlowNodeThatHungAnswersInTheTimeLeft(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.Hang()
		n.Slow(20 * time.Millisecond)
		early := ask(n, redlock.OpAcquire, "late", "a")
		time.Sleep(20 * time.Millisecond)
		late := ask(n, redlock.OpAcquire, "in time", "a")
		time.Sleep(20 * time.Millisecond)
		n.Resume()
		early.timesOut(t)
		late.vote(t, redlock.VoteYes, 40*time.Millisecond)
		assert.Equal(t, 2, n.Len())
	})
}

func TestSlowDelaysTheAnswerAndNotTheCommand(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.Slow(timeout)
		inTime := ask(n, redlock.OpAcquire, "k", "a")
		assert.Equal(t, "a", get(t, n, "k"), "carried out on arrival")
		inTime.vote(t, redlock.VoteYes, timeout)

		n.Slow(timeout + 1)
		tooLate := ask(n, redlock.OpRelease, "k", "a")
		assert.Equal(t, 0, n.Len(), "carried out on arrival")
		n.Slow(0)
		ask(n, redlock.OpAcquire, "k", "b").vote(t, redlock.VoteYes, 0) // overtakes the answer
		tooLate.timesOut(t)
	})
}

func TestDroppedRepliesWereCarriedOut(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.DropReplies(2)
		set := ask(n, redlock.OpAcquire, "k", "a")
		assert.Equal(t, "a", get(t, n, "k"))
		foreign := ask(n, redlock.OpAcquire, "k", "b")
		ask(n, redlock.OpAcquire, "k", "b").vote(t, redlock.VoteForeign, 0)
		set.timesOut(t)
		foreign.timesOut(t)
		assert.Equal(t, redlock.VoteYes, n.Commands()[0].Answer.Vote, "the record says what was done")
		assert.Equal(t, redlock.VoteForeign, n.Commands()[1].Answer.Vote)

		n.DropReplies(1)
		n.DropReplies(0)
		ask(n, redlock.OpRelease, "k", "a").vote(t, redlock.VoteYes, 0)
	})
}

func TestALateRequestIsOvertaken(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.DeliverLate(1, time.Second)
		late := ask(n, redlock.OpAcquire, "k", "orphan")
		ask(n, redlock.OpRelease, "k", "orphan").vote(t, redlock.VoteAbsent, 0)
		late.timesOut(t)
		time.Sleep(time.Second - timeout - 1)
		assert.Equal(t, 0, n.Len())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		_, left, ok := n.Get("k")
		assert.True(t, ok)
		assert.Equal(t, ttl, left)
		assert.Equal(t, redlock.VoteYes, n.Commands()[0].Answer.Vote)
		assert.Equal(t, time.Second, n.Commands()[0].Done.Sub(n.Commands()[0].Arrived))
	})
}

func TestALateRequestTimesOutAlthoughItArrivesBefore(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.DeliverLate(1, timeout/2)
		late := ask(n, redlock.OpAcquire, "k", "a")
		time.Sleep(timeout / 2)
		synctest.Wait()
		assert.Equal(t, "a", get(t, n, "k"))
		late.timesOut(t)
	})
}

func TestWhatALateRequestFindsOnArrival(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(n *redlocktest.Node)
		afterUp   int // keys
	}{
		"a hung node keeps it":          {(*redlocktest.Node).Hang, 1},
		"a node that is down loses it":  {(*redlocktest.Node).Down, 0},
		"a closed connection loses it":  {func(n *redlocktest.Node) { n.Close() }, 0},
		"a node that was down takes it": {func(n *redlocktest.Node) { n.Down(); n.Up() }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *redlocktest.Node) {
				n.DeliverLate(1, time.Second)
				ask(n, redlock.OpAcquire, "k", "a").timesOut(t)
				c.meanwhile(n)
				time.Sleep(time.Second)
				synctest.Wait()
				n.Up()
				assert.Equal(t, c.afterUp, n.Len())
			})
		})
	}
}

func TestForgetLosesAllKeys(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		ask(n, redlock.OpAcquire, "k", "a").vote(t, redlock.VoteYes, 0)
		n.Forget()
		assert.Equal(t, 0, n.Len())
		ask(n, redlock.OpExtend, "k", "a").vote(t, redlock.VoteAbsent, 0)
		ask(n, redlock.OpHeal, "k", "a").vote(t, redlock.VoteYes, 0)
	})
}

func TestAnswerIsGivenToEveryCommandAndChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		full := errors.New("OOM command not allowed when used memory > 'maxmemory'")
		n.Set("k", "a", time.Minute)
		n.Answer(full)
		assert.NoError(t, n.Connect(t.Context()))
		for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpExtend, redlock.OpHeal, redlock.OpRelease} {
			assert.Equal(t, full, ask(n, op, "k", "a").vote(t, redlock.VoteError, 0).Err)
		}
		_, left, _ := n.Get("k")
		assert.Equal(t, time.Minute, left)
		n.Answer(nil)
		ask(n, redlock.OpRelease, "k", "a").vote(t, redlock.VoteYes, 0)
	})
}

func TestConnectWaitsForAHungNode(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		n.Hang()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		assert.ErrorIs(t, n.Connect(ctx), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))

		for _, end := range []struct {
			by   func(*redlocktest.Node)
			want require.ErrorAssertionFunc
		}{
			{(*redlocktest.Node).Resume, require.NoError},
			{(*redlocktest.Node).Down, require.Error},
			{func(n *redlocktest.Node) { n.Close() }, require.Error},
		} {
			n.Hang()
			time.AfterFunc(time.Minute, func() { end.by(n) })
			end.want(t, n.Connect(t.Context()))
		}
	})
}

func TestCloseAnswersWhatWaitsAndLeavesNoTimer(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		other := n.Conn()
		defer other.Close()
		n.Slow(20 * time.Millisecond)
		slow, another := ask(n, redlock.OpAcquire, "slow", "a"), ask(other, redlock.OpAcquire, "other", "a")
		n.DeliverLate(1, time.Minute)
		late := ask(n, redlock.OpAcquire, "late", "a")
		n.Hang()
		silent := ask(n, redlock.OpAcquire, "silent", "a")

		require.NoError(t, n.Close())
		require.NoError(t, n.Close())
		for _, a := range []*asked{slow, late, silent} {
			assert.ErrorIs(t, a.vote(t, redlock.VoteUnknown, 0).Err, redlock.ErrClosed)
		}
		assert.ErrorIs(t, ask(n, redlock.OpRelease, "slow", "a").vote(t, redlock.VoteNotSent, 0).Err, redlock.ErrClosed)
		another.vote(t, redlock.VoteYes, 20*time.Millisecond)
		time.Sleep(time.Hour)
		n.Resume()
		assert.Equal(t, "a", get(t, n, "silent"), "what had arrived is carried out")
		assert.Equal(t, 1, n.Len(), "what was late is lost, the rest has expired")
		ask(other, redlock.OpRelease, "silent", "a").vote(t, redlock.VoteYes, 20*time.Millisecond)
	})
}

// Faults are switched while requests are under way: nothing deadlocks, and each
// request is answered once, within its time-out.
func TestFaultsMayChangeUnderLoad(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		stop := time.Now().Add(10 * time.Second)
		go func() {
			faults := []func(){
				n.Hang, n.Resume, n.Down, n.Up, n.Forget,
				func() { n.Slow(10 * time.Millisecond) }, func() { n.DropReplies(3) },
				func() { n.DeliverLate(3, 70*time.Millisecond) }, func() { n.Slow(0) },
			}
			for i := 0; time.Now().Before(stop); i++ {
				faults[i%len(faults)]()
				time.Sleep(7 * time.Millisecond)
			}
			n.Up()
		}()
		var all []*asked
		for time.Now().Before(stop) {
			for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpExtend, redlock.OpRelease, redlock.OpRelease} {
				all = append(all, ask(n, op, "k", "a"))
			}
			time.Sleep(3 * time.Millisecond)
		}
		time.Sleep(time.Second)
		assert.Zero(t, redlocktest.Open(n))
		votes := make(map[redlock.Vote]int)
		for _, a := range all {
			require.Len(t, a.answers, 1)
			got := <-a.answers
			assert.LessOrEqual(t, got.after, timeout)
			votes[got.Vote]++
		}
		for _, v := range []redlock.Vote{redlock.VoteYes, redlock.VoteAbsent, redlock.VoteUnknown, redlock.VoteNotSent} {
			assert.Greater(t, votes[v], 100, "%v: too few to prove anything", v)
		}
	})
}
