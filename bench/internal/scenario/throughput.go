package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/load"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// Throughput returns the scenario of how many locks a second, and at what price.
func Throughput(clients []contender.Contender, comparisons []Comparison) Scenario {
	return Scenario{
		Name:  "throughput",
		Title: "Locks acquired and released, five healthy nodes",
		About: "Every goroutine acquires and releases locks with names of their own. Times are those of a pair, processor time and allocations those of the client's process, the harness included. " +
			"The clients take turns within a round.",
		Run: func(ctx context.Context, e *Env) error {
			f, err := fleet.Start(ctx, e.Kind, 5)
			if err != nil {
				return err
			}
			defer f.Close()
			t := newTable(comparisons)
			for _, goroutines := range or(e, []int{1, 16, 128, 512}, []int{1, 16, 128}) {
				if err := e.throughputOf(ctx, f, clients, goroutines, t); err != nil {
					return err
				}
			}
			e.Add(t.samples...)
			e.section("ratios", "The same, as ratios",
				"One client's figure divided by another's, each round by itself. Of pairs/s more is better, of times less.")
			e.Add(t.ratios()...)
			return nil
		},
	}
}

// throughputOf opens the clients anew, so that none has more connections than
// so many goroutines need.
func (e *Env) throughputOf(ctx context.Context, f *fleet.Fleet, kinds []contender.Contender, goroutines int, t *table) error {
	clients := make([]contender.Client, len(kinds))
	for i, c := range kinds {
		var err error
		if clients[i], err = c.Open(ctx, f.Addrs()); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		defer clients[i].Close()
	}
	for round := range e.Rounds {
		for i, c := range kinds {
			e.Say("%d goroutines, round %d of %d, %s", goroutines, round+1, e.Rounds, c.Name)
			r, err := load.Run(ctx, load.Load{
				Goroutines: goroutines, Steps: 2, Names: fmt.Sprintf("t%d-%d-%d-", goroutines, round, i),
				WarmUp: or(e, 400*time.Millisecond, 100*time.Millisecond),
				For:    or(e, time.Second, 250*time.Millisecond),
				Work:   pairOf(clients[i]),
			})
			if err != nil {
				return err
			}
			if c.Ours && r.Turns == r.Failed {
				return fmt.Errorf("%s: no lock in %v: %w", c.Name, r.Took, r.Error)
			}
			t.addPairs(&c, []report.Param{report.P("goroutines", goroutines)}, r)
		}
	}
	return nil
}

// addPairs adds a round of one client.
func (t *table) addPairs(c *contender.Contender, params []report.Param, r load.Result) {
	good := float64(r.Turns - r.Failed)
	add := func(quantity string, unit report.Unit, v float64, want *report.Want) {
		t.add(c.Name, params, quantity, unit, v, want)
	}
	add("pairs/s", report.Rate, good/r.Took.Seconds(), nil)
	for _, q := range quantiles {
		add(q.name, report.Time, float64(r.Whole.ValueAtQuantile(q.percent))/1e3, nil)
	}
	add("processor a pair", report.Time, float64(r.CPU.Nanoseconds())/1e3/float64(r.Turns), nil)
	add("allocations a pair", report.Number, float64(int(float64(r.Allocs)/float64(r.Turns)+0.5)), nil)
	var none *report.Want
	if c.Ours {
		none = report.Aim(report.Exactly, 0)
	}
	add("failed", report.Number, float64(r.Failed), none)
}

var quantiles = []struct {
	name    string
	percent float64
}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}}
