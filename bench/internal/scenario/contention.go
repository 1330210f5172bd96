package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// Contention returns the scenario of many that want one lock.
func Contention(clients []contender.Contender, waiters []int) Scenario {
	return Scenario{
		Name:  "contention",
		Title: "Many that wait for one lock, five nodes",
		About: "Every waiter is a client of its own, as on servers of their own: it waits for the lock, holds it, releases it, and comes again at once. " +
			"The ideal is one lock after another without a gap: 1/hold. Handover is the time from the beginning of a release until the next has the lock. " +
			"Fairness is the longest wait as a multiple of the median, unfinished waits included; commands are those of set, evalsha and eval.",
		Run: func(ctx context.Context, e *Env) error {
			t := newTable(nil)
			for _, c := range clients {
				for _, n := range or(e, waiters, waiters[:len(waiters)-1]) {
					if err := e.contentionOf(ctx, c, n, t); err != nil {
						return fmt.Errorf("%s: %w", c.Name, err)
					}
				}
			}
			e.Add(t.samples...)
			return nil
		},
	}
}

func (e *Env) contentionOf(ctx context.Context, c contender.Contender, waiters int, t *table) error {
	e.Say("prepare: %s, %d waiters", c.Name, waiters)
	f, err := fleet.Start(ctx, e.Kind, 5)
	if err != nil {
		return err
	}
	defer f.Close()
	clients := make([]contender.Waiter, waiters)
	for i := range clients {
		client, err := c.Open(ctx, f.Addrs())
		if err != nil {
			return err
		}
		defer client.Close()
		w, ok := client.(contender.Waiter)
		if !ok {
			return errors.New("cannot wait for a lock")
		}
		clients[i] = w
	}
	for round := range e.Rounds {
		for _, hold := range []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond} {
			e.Say("%d waiters, hold %v, round %d of %d, %s", waiters, hold, round+1, e.Rounds, c.Name)
			if err := f.Reset(); err != nil {
				return err
			}
			q := &queue{
				// What another client may have left behind keeps nobody out.
				name: fmt.Sprintf("wanted-%d-%v", round, hold),
				hold: hold,
			}
			took := q.run(ctx, clients, or(e, 1500*time.Millisecond, 300*time.Millisecond))
			if err := ctx.Err(); err != nil {
				return err
			}
			stats, err := f.Stats()
			if err != nil {
				return err
			}
			q.report(c.Name, waiters, took, stats, t)
		}
	}
	return nil
}

// A queue is waiters for one lock.
type queue struct {
	name string
	hold time.Duration

	mu        sync.Mutex
	released  time.Time       // when the last release began; guarded by mu
	handovers []time.Duration // guarded by mu
	waits     []time.Duration // guarded by mu
	grants    int             // guarded by mu
	failed    int             // guarded by mu
}

// run lets the clients wait for so long, and returns how long it was.
func (q *queue) run(ctx context.Context, clients []contender.Waiter, d time.Duration) time.Duration {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { q.wait(ctx, c) })
	}
	all.Wait()
	return time.Since(began)
}

// wait is what one of them does until ctx ends.
func (q *queue) wait(ctx context.Context, c contender.Waiter) {
	for ctx.Err() == nil {
		began := time.Now()
		l, err := c.Wait(ctx, q.name, ttl)
		now := time.Now()
		q.mu.Lock()
		q.waits = append(q.waits, now.Sub(began))
		if err == nil {
			q.grants++
			if !q.released.IsZero() {
				q.handovers = append(q.handovers, now.Sub(q.released))
			}
		}
		q.mu.Unlock()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			q.fail()
			continue
		}
		time.Sleep(q.hold) // the work
		q.mu.Lock()
		q.released = time.Now()
		q.mu.Unlock()
		// The end of the run is no reason to leave the lock behind.
		if err := l.Release(context.WithoutCancel(ctx)); err != nil {
			q.fail()
		}
	}
}

func (q *queue) fail() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failed++
}

func (q *queue) report(name string, waiters int, took time.Duration, stats []fleet.Stats, t *table) {
	params := []report.Param{report.P("waiters", waiters), report.P("hold", q.hold)}
	add := func(quantity string, unit report.Unit, v float64) { t.add(name, params, quantity, unit, v, nil) }
	rate := float64(q.grants) / took.Seconds()
	add("locks/s", report.Rate, rate)
	if q.hold > 0 {
		add("of the ideal", report.Percent, 100*rate*q.hold.Seconds())
	}
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	if len(q.handovers) > 0 {
		slices.Sort(q.handovers)
		add("handover p50", report.Time, micros(q.handovers[len(q.handovers)/2]))
		add("handover p99", report.Time, micros(q.handovers[len(q.handovers)*99/100]))
	}
	add("failed", report.Number, float64(q.failed))
	var commands int64
	for _, s := range stats {
		commands += s.Locking()
	}
	add("commands a lock and node", report.Number, float64(commands)/float64(max(q.grants, 1)*len(stats)))
	slices.Sort(q.waits)
	if median := q.waits[len(q.waits)/2]; median > 0 {
		add("fairness", report.Ratio, float64(q.waits[len(q.waits)-1])/float64(median))
	}
}
