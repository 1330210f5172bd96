package tests

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// orphanLog records what Trace tells of hunts.
type orphanLog struct {
	mu     sync.Mutex
	states map[redlock.OrphanState]int
}

func (o *orphanLog) trace() *redlock.Trace {
	o.states = make(map[redlock.OrphanState]int)
	return &redlock.Trace{Orphan: func(_, _ string, s redlock.OrphanState) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.states[s]++
	}}
}

func (o *orphanLog) count(s redlock.OrphanState) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.states[s]
}

// "Absent" from a node that has not answered the SET proves nothing: the SET may
// come later.
func TestSetThatIsDeliveredAfterItsUndoIsFoundAndDeleted(t *testing.T) {
	for _, late := range []time.Duration{60 * ms, 500 * ms, 3 * time.Second, 9 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes := redlocktest.Nodes(3)
				var log orphanLog
				client := redlocktest.NewClient(t, nodes, &redlock.Options{Trace: log.trace()})
				require.NoError(t, client.Connect(ctx))
				nodes[0].Down()
				nodes[1].Down()
				nodes[2].DeliverLate(1, late)
				_, err := client.TryAcquire(ctx, "late", 10*time.Second)
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
				time.Sleep(late + time.Second)
				require.Zero(t, keys(nodes))
				require.Equal(t, 1, log.count(redlock.OrphanDeleted))
				require.Less(t, nodes[2].Count(redlock.OpRelease), 25, "an undo a second, and some to begin with")
			})
		})
	}
}

// onHeal has something done to a node just before it is healed.
type onHeal struct {
	*redlocktest.Node
	do func(n *redlocktest.Node)
}

func (o onHeal) Send(r *redlock.Request) {
	if r.Op == redlock.OpHeal {
		o.do(o.Node)
	}
	o.Node.Send(r)
}

// A node that is healed has two SETs of one lock, and the first may arrive last:
// that the release has deleted one key does not mean that none will follow.
func TestSetThatIsDeliveredAfterTheReleaseOfAHealedLockIsHunted(t *testing.T) {
	const late = 500 * ms
	for what, c := range map[string]struct {
		heal, release func(n *redlocktest.Node) // what happens to each
	}{
		"the SET is late":             {},
		"the heal is late, too":       {heal: func(n *redlocktest.Node) { n.DeliverLate(1, 3*late) }},
		"the release is lost":         {release: func(n *redlocktest.Node) { n.DeliverLate(1, time.Hour) }},
		"its answer is lost":          {release: func(n *redlocktest.Node) { n.DropReplies(1) }},
		"both SETs, and it, are late": {heal: func(n *redlocktest.Node) { n.DeliverLate(1, 3*late) }, release: func(n *redlocktest.Node) { n.DeliverLate(1, time.Hour) }},
		"the heal's answer is lost":   {heal: func(n *redlocktest.Node) { n.DropReplies(1) }},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes := redlocktest.Nodes(3)
				voters := []redlock.Node{nodes[0], nodes[1], nodes[2]}
				if c.heal != nil {
					voters[2] = onHeal{nodes[2], c.heal}
				}
				var log orphanLog
				client, err := redlock.NewFrom(voters, &redlock.Options{Trace: log.trace()})
				require.NoError(t, err)
				t.Cleanup(func() { client.Close() })
				require.NoError(t, client.Connect(ctx))
				nodes[2].DeliverLate(1, late)
				lock, err := client.TryAcquire(ctx, "late", 10*time.Second)
				require.NoError(t, err)
				time.Sleep(60 * ms)
				require.NoError(t, lock.Extend(ctx, 10*time.Second))
				time.Sleep(60 * ms)
				if c.release != nil {
					c.release(nodes[2])
				}
				require.NoError(t, lock.Release(ctx))
				time.Sleep(4*late + time.Second)
				require.Zero(t, keys(nodes), "after the last of them has arrived")
				time.Sleep(10 * time.Second)
				require.Equal(t, 1, log.count(redlock.OrphanHunted))
				require.Equal(t, 1, log.count(redlock.OrphanDeleted)+log.count(redlock.OrphanGone))
			})
		})
	}
}

func TestHuntEndsWhenTheTTLHasPassedSinceTheNodeAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		var log orphanLog
		client := redlocktest.NewClient(t, nodes, &redlock.Options{Trace: log.trace()})
		require.NoError(t, client.Connect(ctx))
		nodes[0].Down()
		nodes[1].Down()
		nodes[2].DeliverLate(1, time.Hour) // never, for all that the hunt knows
		_, err := client.TryAcquire(ctx, "late", 10*time.Second)
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		time.Sleep(9 * time.Second)
		require.Zero(t, log.count(redlock.OrphanGone))
		time.Sleep(3 * time.Second)
		require.Equal(t, 1, log.count(redlock.OrphanGone))
		before := nodes[2].Count(redlock.OpRelease)
		time.Sleep(time.Minute)
		require.Equal(t, before, nodes[2].Count(redlock.OpRelease))
	})
}

func TestHuntsOfANodeAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(1)
		var log orphanLog
		client := redlocktest.NewClient(t, nodes, &redlock.Options{Trace: log.trace()})
		require.NoError(t, client.Connect(ctx))
		nodes[0].Hang()
		const attempts = 10_500
		var all sync.WaitGroup
		for i := range attempts {
			all.Go(func() {
				_, err := client.TryAcquire(ctx, fmt.Sprint("job-", i), time.Hour)
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		require.Equal(t, attempts, log.count(redlock.OrphanHunted))
		require.Equal(t, attempts-10_000, log.count(redlock.OrphanDropped))

		nodes[0].Resume()
		time.Sleep(5 * time.Second)
		require.Equal(t, attempts-10_000, nodes[0].Len(), "those dropped live for their TTL, the others are deleted")
	})
}

func TestSuspectGetsOneProbeAtATimeAndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(5)
		said := make(chan string, 10)
		client := redlocktest.NewClient(t, nodes, &redlock.Options{Trace: &redlock.Trace{
			Suspect: func(node string, suspect bool) { said <- fmt.Sprint(node, suspect) },
		}})
		require.NoError(t, client.Connect(ctx))
		nodes[0].Hang()
		lock, err := client.TryAcquire(ctx, "first", time.Minute)
		require.NoError(t, err)
		time.Sleep(60 * ms)
		require.Equal(t, "node-1true", <-said)

		start, before := time.Now(), len(nodes[0].Commands())
		for i := range 100 {
			l, err := client.TryAcquire(ctx, fmt.Sprint("job-", i), time.Minute)
			require.NoError(t, err)
			require.NoError(t, l.Extend(ctx, time.Minute))
			require.NoError(t, l.Release(ctx))
		}
		_, err = client.TryAcquire(ctx, "first", time.Minute)
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.Zero(t, time.Since(start), "nothing waited for the suspect")
		require.LessOrEqual(t, len(nodes[0].Commands())-before, 1)

		time.Sleep(10 * time.Second)
		probes := len(nodes[0].Commands()) - before
		require.LessOrEqual(t, probes, 20, "one a second, and some to begin with")

		nodes[0].Resume()
		time.Sleep(1500 * ms)
		require.Equal(t, "node-1false", <-said)
		require.Empty(t, said)
		require.NoError(t, lock.Release(ctx))
		require.Zero(t, nodes[0].Len())
	})
}

func TestSuspectsAreAskedWhenTheOthersCannotMakeAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		client := redlocktest.NewClient(t, nodes, nil)
		require.NoError(t, client.Connect(ctx))
		nodes[0].DropReplies(1)
		lock, err := client.TryAcquire(ctx, "job", time.Minute)
		require.NoError(t, err)
		time.Sleep(60 * ms) // node-1 is suspect
		require.NoError(t, lock.Release(ctx))
		nodes[1].Down()
		_, err = client.TryAcquire(ctx, "other", time.Minute)
		if err != nil { // it learns that node-2 is down
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			lock, err = client.TryAcquire(ctx, "other", time.Minute)
			require.NoError(t, err)
			require.NoError(t, lock.Release(ctx))
		}
	})
}

// manual is a node that answers when the test says so, also long after the
// time-out.
type manual struct{ requests chan *redlock.Request }

func (manual) String() string                { return "manual" }
func (manual) Connect(context.Context) error { return nil }
func (manual) Close() error                  { return nil }
func (m manual) Send(r *redlock.Request) {
	if r.Begin() {
		m.requests <- r
	}
}

// An answer to an old request clears a suspect while its probe is under way.
func TestSuspectThatWasClearedByALateAnswerIsProbedTheNextTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(2)
		slow := manual{make(chan *redlock.Request, 100)}
		client, err := redlock.NewFrom([]redlock.Node{nodes[0], nodes[1], slow}, nil)
		require.NoError(t, err)
		defer client.Close()
		yes := redlock.Answer{Vote: redlock.VoteYes}
		acquire := func(name string) {
			_, err := client.TryAcquire(ctx, name, time.Hour)
			require.NoError(t, err)
		}

		acquire("a")
		first := <-slow.requests
		time.Sleep(60 * ms) // suspect
		acquire("b")
		probe := <-slow.requests
		first.Answer(yes) // not suspect any more
		probe.Answer(yes)

		acquire("c")
		<-slow.requests
		time.Sleep(60 * ms) // suspect again
		acquire("d")
		require.Len(t, slow.requests, 1, "it is probed")
	})
}
