package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/load"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// nodeTimeout is the client's default.
const nodeTimeout = 50 * time.Millisecond

// Outage returns the scenario of a majority of nodes that fail.
func Outage(clients []contender.Contender) Scenario {
	return Scenario{
		Name:  "outage",
		Title: "Three of five nodes in trouble: time to the error, and until a lock can be had again",
		About: "One goroutine tries to get a lock while three nodes refuse connections or hang. Then, with two of them still down, " +
			"the third comes back: the time from its first answer, as a program beside sees it, to the first lock. The outage lasts for a second and a half, and for one attempt at least; at most ten seconds are waited for the lock.",
		Run: func(ctx context.Context, e *Env) error {
			t := newTable(nil)
			for round := range e.Rounds {
				for _, c := range clients {
					if c.Fragile || c.Slow && e.Quick {
						continue
					}
					for _, how := range []string{"refused", "hung"} {
						e.Say("round %d of %d, %s, three %s", round+1, e.Rounds, c.Name, how)
						if err := e.outageOf(ctx, c, how, t); err != nil {
							return fmt.Errorf("%s, %s: %w", c.Name, how, err)
						}
					}
				}
			}
			e.Add(t.samples...)
			return nil
		},
	}
}

func (e *Env) outageOf(ctx context.Context, c contender.Contender, how string, t *table) error {
	f, err := fleet.Start(ctx, e.Kind, 5)
	if err != nil {
		return err
	}
	defer f.Close()
	client, err := c.Open(ctx, f.Addrs())
	if err != nil {
		return err
	}
	defer client.Close()
	if err := runPairs(ctx, client, "warm", 1, 20); err != nil {
		return err
	}
	for _, n := range f.Nodes[2:] {
		if how == "refused" {
			err = errors.Join(err, n.Kill())
			continue
		}
		err = errors.Join(err, n.Pause())
		defer n.Resume() //nolint:errcheck // so that clients can say goodbye
	}
	if err != nil {
		return err
	}
	r, err := load.Run(ctx, load.Load{
		Goroutines: 1, Steps: 1, Names: "outage-", For: or(e, 1500*time.Millisecond, 500*time.Millisecond),
		Work: func(ctx context.Context, w *load.Worker) error {
			l, err := client.Acquire(ctx, w.Name, ttl)
			w.Lap()
			if err == nil {
				return errors.Join(errImpossible, l.Release(ctx))
			}
			return nil
		},
	})
	if err := errors.Join(err, r.Error); err != nil {
		return err
	}
	params := []report.Param{report.P("three are", how)}
	add := func(quantity string, d time.Duration, aim time.Duration) {
		var want *report.Want
		if c.Ours && aim > 0 {
			want = report.Aim(report.AtMost, float64(aim.Microseconds()))
		}
		t.add(c.Name, params, quantity, report.Time, float64(d.Nanoseconds())/1e3, want)
	}
	add("error, p50", time.Duration(r.Whole.ValueAtQuantile(50)), 0)
	add("error, p99", time.Duration(r.Whole.ValueAtQuantile(99)), nodeTimeout+5*time.Millisecond)

	if how == "hung" {
		err = f.Nodes[2].Resume()
	} else {
		err = f.Nodes[2].Restart()
	}
	if err != nil {
		return err
	}
	if _, err := f.Nodes[2].Keys(); err != nil { // it answers
		return err
	}
	back := time.Now()
	locked, err := until(ctx, patient, func() (bool, error) {
		l, err := client.Acquire(ctx, "back", ttl)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, l.Release(ctx)
	})
	if err != nil {
		return err
	}
	if !locked {
		back = time.Time{} // shows as a very long time
	}
	add("lock after the return", min(time.Since(back), patient), 1500*time.Millisecond)
	return nil
}

var errImpossible = errors.New("a lock with two of five nodes")
