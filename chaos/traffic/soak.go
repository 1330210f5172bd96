package traffic

import (
	"context"
	"runtime"

	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A Round is a part of a soak that is judged by itself.
type Round struct {
	Number  int // from 1
	History *history.History
	Own     Health   // of this process, which has the clients unless they are Apart
	Clients []Health // of the clients' processes, if they are
}

// Soak carries out plans one after the other, on the same nodes and with the same
// clients, which stay connected and keep what they know. next returns the plan
// and the seed of a round, from 1; nil ends the soak, as does an error of told,
// which is told of every round.
//
// Between two rounds it is calm: every lock was released, every key has run out,
// nobody asks or believes. So no event of one round has to do with one of
// another, and each is a whole run to the checkers; what is in memory is one
// round, however long the soak is. Each plan must have as many nodes, clients and
// names as s.Plan, the same rates of clocks and members.
//
// The history of a round counts as left behind what there are more goroutines at
// its end than at the end of every one of the first two rounds, in which
// everything is made that lasts, and than noise.
func Soak(ctx context.Context, s cluster.Setup, c cluster.Cluster, next func(number int) (*plan.Plan, uint64), told func(Round) error) error {
	ctx, r, err := newRun(ctx, s, c)
	defer r.failed(errOver)
	const warm = 2
	usual := 0
	for number := 1; err == nil; number++ {
		p, seed := next(number)
		if p == nil {
			break
		}
		p.KeyPrefix = s.Plan.KeyPrefix // whatever the nodes are, only such keys are touched
		began := s.Log.Now()
		if number > 1 {
			r.round(p, seed)
			err = r.beginAll()
		}
		if err == nil {
			err = r.attackAndHeal(ctx)
		}
		r.stop(func(life) {})
		if err == nil {
			err = r.calm(ctx)
		}
		if err != nil {
			break
		}
		round := Round{Number: number, Own: ownHealth(), Clients: r.health()}
		left := 0
		if number <= warm {
			usual = max(usual, round.Own.Goroutines)
		} else {
			// A connection has some goroutines, here and in the proxy before
			// the node, and there may be one more of a client's.
			left = max(0, settled(usual+4*s.Plan.Clients))
		}
		s.Log.Add(history.Event{Kind: history.End, Count: left})
		round.History = &history.History{Header: r.header(), Events: s.Log.Cut(began)}
		r.attempts.Store(0)
		err = told(round)
	}
	r.stop(life.leave)
	if closing := c.Close(); err == nil {
		err = closing
	}
	return err
}

// health returns what clients that are processes said of themselves when the
// round was over.
func (r *run) health() (all []Health) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lives {
		if p, ok := l.(*remote); ok {
			p.mu.Lock()
			all = append(all, p.health)
			p.mu.Unlock()
		}
	}
	return all
}

// OwnUse returns what this process uses now, before a collection.
func OwnUse() Health {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Health{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc}
}
