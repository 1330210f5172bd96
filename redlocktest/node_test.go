package redlocktest_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/clock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestAKeyExpiresExactlyAfterItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		ask(n, redlock.OpAcquire, "k", "a").vote(t, redlock.VoteYes, 0)
		time.Sleep(ttl - 1)
		_, left, ok := n.Get("k")
		assert.True(t, ok)
		assert.Equal(t, time.Duration(1), left)
		ask(n, redlock.OpAcquire, "k", "b").vote(t, redlock.VoteForeign, 0)

		time.Sleep(time.Nanosecond)
		_, _, ok = n.Get("k")
		assert.False(t, ok)
		assert.Equal(t, 0, n.Len())
		ask(n, redlock.OpExtend, "k", "a").vote(t, redlock.VoteAbsent, 0)
		ask(n, redlock.OpAcquire, "k", "b").vote(t, redlock.VoteYes, 0)
	})
}

func TestExtendNeverShortens(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		for _, c := range []struct{ before, after time.Duration }{
			{ttl - 1, ttl},
			{ttl, ttl},
			{ttl + 1, ttl + 1},
			{0, -1}, // without expiry, as some other program may have set it
		} {
			n.Set("k", "a", c.before)
			ask(n, redlock.OpExtend, "k", "a").vote(t, redlock.VoteYes, 0)
			_, left, _ := n.Get("k")
			assert.Equal(t, c.after, left, "extended from %v", c.before)
		}
	})
}

func TestACommandWithoutTTLCreatesNoKey(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpHeal} {
			var got redlock.Answer
			c := &redlock.Command{Op: op, Key: "k", Value: "a", TTL: time.Millisecond - 1}
			n.Send(redlock.NewRequest(c, timeout, func(a redlock.Answer) { got = a }))
			assert.Equal(t, redlock.VoteError, got.Vote)
			assert.Equal(t, 0, n.Len())
		}
	})
}

// skewed makes a node whose clock the test can set.
func skewed(t *testing.T, test func(t *testing.T, n *redlocktest.Node, c *clock.Skewed)) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewSkewed(nil)
		n := redlocktest.NewNode("node-1", c)
		defer n.Close()
		ask(n, redlock.OpAcquire, "k", "a").vote(t, redlock.VoteYes, 0)
		test(t, n, c)
	})
}

func TestAStepForwardExpiresKeys(t *testing.T) {
	skewed(t, func(t *testing.T, n *redlocktest.Node, c *clock.Skewed) {
		c.Step(ttl - 1)
		assert.Equal(t, "a", get(t, n, "k"))
		c.Step(1)
		ask(n, redlock.OpAcquire, "k", "b").vote(t, redlock.VoteYes, 0)
	})
}

func TestAStepBackKeepsKeysLonger(t *testing.T) {
	skewed(t, func(t *testing.T, n *redlocktest.Node, c *clock.Skewed) {
		c.Step(-time.Hour)
		time.Sleep(time.Hour)
		_, left, ok := n.Get("k")
		assert.True(t, ok)
		assert.Equal(t, ttl, left)
		time.Sleep(ttl)
		assert.Equal(t, 0, n.Len())
	})
}

func TestAStepForwardAndBackBringsBackOnlyWhatNoCommandAskedFor(t *testing.T) {
	skewed(t, func(t *testing.T, n *redlocktest.Node, c *clock.Skewed) {
		ask(n, redlock.OpAcquire, "asked", "a").vote(t, redlock.VoteYes, 0)
		c.Step(ttl)
		ask(n, redlock.OpExtend, "asked", "a").vote(t, redlock.VoteAbsent, 0)
		assert.Equal(t, 0, n.Len())
		c.Step(-ttl)
		assert.Equal(t, "a", get(t, n, "k"))
		assert.Equal(t, 1, n.Len())
	})
}

func TestAFastClockExpiresKeysEarlyAndASlowOneLate(t *testing.T) {
	for rate, lives := range map[float64]time.Duration{2: ttl / 2, 1: ttl, 0.5: 2 * ttl} {
		skewed(t, func(t *testing.T, n *redlocktest.Node, c *clock.Skewed) {
			c.SetRate(rate) // nothing has passed since the key was set
			time.Sleep(lives - 1)
			assert.Equal(t, 1, n.Len(), "rate %v", rate)
			time.Sleep(time.Nanosecond)
			assert.Equal(t, 0, n.Len(), "rate %v", rate)
		})
	}
}

// Delays and time-outs are the network's.
func TestASkewedClockMovesNoTimeouts(t *testing.T) {
	skewed(t, func(t *testing.T, n *redlocktest.Node, c *clock.Skewed) {
		c.SetRate(100)
		n.Slow(20 * time.Millisecond)
		ask(n, redlock.OpAcquire, "slow", "a").vote(t, redlock.VoteYes, 20*time.Millisecond)
		n.Hang()
		ask(n, redlock.OpAcquire, "silent", "a").timesOut(t)
	})
}

func TestSetAndDeleteDoNotAskWhoseKeyItIs(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		ask(n, redlock.OpAcquire, "k", "a").vote(t, redlock.VoteYes, 0)
		n.Set("k", "b", time.Second)
		assert.Equal(t, "b", ask(n, redlock.OpRelease, "k", "a").vote(t, redlock.VoteForeign, 0).Value)
		n.Delete("k")
		ask(n, redlock.OpRelease, "k", "a").vote(t, redlock.VoteAbsent, 0)
		n.Set("k", "a", 1<<63-1) // as good as never
		_, left, _ := n.Get("k")
		assert.Equal(t, time.Duration(-1), left)
	})
}

func TestExpiredKeysDoNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		for i := range 20_000 {
			n.Set(fmt.Sprint("k", i), "a", time.Millisecond)
			time.Sleep(time.Millisecond)
		}
		assert.Less(t, redlocktest.Keys(n), 2_500)
	})
}

// A stopped clock is cheap to read.
type stopped struct{ clock.Clock }

func (stopped) Now() time.Duration { return 0 }

func TestCommandsAreTheLastHundredThousand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := redlocktest.NewNode("node-1", stopped{})
		defer n.Close()
		const all, kept = 120_345, 100_000
		n.DeliverLate(2, time.Second)
		for _, key := range []string{"first", "second"} {
			ask(n, redlock.OpAcquire, key, "late").timesOut(t)
		}
		for i := range all {
			c := &redlock.Command{Op: redlock.OpRelease, Key: strconv.Itoa(i)}
			n.Send(redlock.NewRequest(c, timeout, func(redlock.Answer) {}))
		}
		time.Sleep(time.Second)
		synctest.Wait() // the late ones find their records gone

		commands := n.Commands()
		require.Len(t, commands, kept)
		for i, c := range commands {
			if want := strconv.Itoa(all - kept + i); c.Key != want || c.Answer.Vote != redlock.VoteAbsent {
				t.Fatalf("record %d is %+v, want key %s and absent", i, c, want)
			}
		}
		assert.Equal(t, all, n.Count(redlock.OpRelease))
		assert.Equal(t, 2, n.Count(redlock.OpAcquire))
		assert.Equal(t, 0, n.Count(redlock.OpExtend))
	})
}

func TestARecordSaysWhatArrivedAndWhatCameOfIt(t *testing.T) {
	bubble(t, func(t *testing.T, n *redlocktest.Node) {
		assert.Empty(t, n.Commands())
		ask(n, redlock.OpAcquire, "k", "a").vote(t, redlock.VoteYes, 0)
		ask(n, redlock.OpAcquire, "k", "b").vote(t, redlock.VoteForeign, 0)
		now := time.Now()
		assert.Equal(t, []redlocktest.Record{
			{Op: redlock.OpAcquire, Key: "k", Value: "a", TTL: ttl, Arrived: now, Done: now,
				Answer: redlock.Answer{Vote: redlock.VoteYes}},
			{Op: redlock.OpAcquire, Key: "k", Value: "b", TTL: ttl, Arrived: now, Done: now,
				Answer: redlock.Answer{Vote: redlock.VoteForeign, Value: "a"}},
		}, n.Commands())
	})
}

func TestNodesHaveNamesInOrder(t *testing.T) {
	nodes := redlocktest.Nodes(2)
	assert.Equal(t, "node-1", nodes[0].String())
	assert.Equal(t, "node-2", nodes[1].String())
	assert.Equal(t, "node-2", nodes[1].Conn().String())
	assert.Empty(t, redlocktest.Nodes(0))
}
