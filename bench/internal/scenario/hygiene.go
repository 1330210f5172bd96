package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// cleanAfter is when nothing may be left of what was given up.
const cleanAfter = nodeTimeout + time.Second

// Hygiene returns the scenario of keys that nobody holds.
func Hygiene(clients []contender.Contender) Scenario {
	return Scenario{
		Name:  "hygiene",
		Title: "Keys left behind, five nodes",
		About: "128 goroutines acquire and release locks; then, a second and a node time-out later, all that is on the nodes is an orphan, which keeps others out for its TTL. " +
			"With cancels: the context of every third lock ends within two milliseconds of its beginning, wherever that is.",
		Run: func(ctx context.Context, e *Env) error {
			for _, c := range clients {
				if c.Fragile {
					continue
				}
				for _, how := range []string{healthy, "a third cancelled", slow} {
					if c.Nodes == 1 && how == slow {
						continue
					}
					e.Say("%s, %s", c.Name, how)
					if err := e.hygieneOf(ctx, c, how); err != nil {
						return fmt.Errorf("%s, %s: %w", c.Name, how, err)
					}
				}
			}
			return nil
		},
	}
}

func (e *Env) hygieneOf(ctx context.Context, c contender.Contender, how string) error {
	f, err := fleet.Start(ctx, e.Kind, 5)
	if err != nil {
		return err
	}
	defer f.Close()
	addrs := f.Addrs()
	if how == slow {
		far, stop, err := fleet.Far(addrs[4], slowBy)
		if err != nil {
			return err
		}
		defer stop() //nolint:errcheck // nothing is sent any more
		addrs[4] = far
	}
	client, err := c.Open(ctx, addrs)
	if err != nil {
		return err
	}
	defer client.Close()

	pairs := or(e, 100_000, 5_000)
	if !c.Ours {
		pairs /= 10 // a share is all that is asked of them
	}
	failed := hygienePairs(ctx, client, pairs, how == "a third cancelled")
	select {
	case <-time.After(cleanAfter):
	case <-ctx.Done():
		return ctx.Err()
	}
	var keys float64
	for _, n := range f.Nodes {
		left, err := n.Keys()
		if err != nil {
			return err
		}
		keys += float64(left)
	}
	params := []report.Param{report.P("nodes", how)}
	var none *report.Want
	if c.Ours {
		none = report.Equals(0)
	}
	e.Add(
		report.Sample{Subject: c.Name, Case: params, Quantity: "locks", Rounds: []float64{float64(pairs)}},
		report.Sample{Subject: c.Name, Case: params, Quantity: "failed or cancelled", Rounds: []float64{float64(failed)}},
		report.Sample{Subject: c.Name, Case: params, Quantity: "orphans", Rounds: []float64{keys}, Want: none},
		report.Sample{Subject: c.Name, Case: params, Quantity: "orphans for 100 locks", Rounds: []float64{100 * keys / float64(pairs)}},
	)
	return nil
}

// hygienePairs makes pairs whose keys live longer than the scenario, and returns
// how many failed.
func hygienePairs(ctx context.Context, client contender.Client, pairs int, cancels bool) int {
	var next, failed atomic.Int64
	var all sync.WaitGroup
	for g := range 128 {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(7, uint64(g)))
			for {
				i := next.Add(1)
				if i > int64(pairs) || ctx.Err() != nil {
					return
				}
				ctx, cancel := ctx, func() {}
				if cancels && i%3 == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(dice.Int64N(int64(2*time.Millisecond))))
				}
				l, err := client.Acquire(ctx, fmt.Sprint("clean-", i), time.Hour)
				if err == nil {
					err = l.Release(ctx)
				}
				if err != nil {
					failed.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	return int(failed.Load())
}
