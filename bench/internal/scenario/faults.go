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

// Faults of one node of five, as they are called in the report.
const (
	healthy = "healthy"
	refused = "one refused"
	hung    = "one hung"
	slow    = "one slow (10 ms)"
)

// slowBy is the round trip to the slow node.
const slowBy = 10 * time.Millisecond

// Faults returns the scenario of a node that fails.
func Faults(clients []contender.Contender, goroutines []int) Scenario {
	return Scenario{
		Name:  "faults",
		Title: "Time to acquire, extend and release, with one of five nodes in trouble",
		About: "One node refuses connections, hangs (accepts and never answers), or is 10 ms away. Every goroutine acquires, extends and releases locks with names of their own; " +
			"each fault has servers of its own and lasts, and clients and faults take turns. The last column compares with the same client and healthy nodes in the same round.",
		Run: func(ctx context.Context, e *Env) error {
			var beds []*bed
			var ends cleanup
			defer ends.run()
			for _, fault := range []string{healthy, refused, hung, slow} {
				e.Say("prepare: %s", fault)
				made, err := e.makeBeds(ctx, clients, fault, &ends)
				if err != nil {
					return fmt.Errorf("%s: %w", fault, err)
				}
				beds = append(beds, made...)
			}
			t := newTable(nil)
			for _, g := range or(e, goroutines, []int{16}) {
				for round := range e.Rounds {
					for _, b := range beds {
						e.Say("%d goroutines, round %d of %d, %s, %s", g, round+1, e.Rounds, b.kind.Name, b.fault)
						if err := e.faultOf(ctx, b, g, round, t); err != nil {
							return err
						}
					}
				}
			}
			e.Add(t.samples...)
			e.Add(t.againstHealthy()...)
			return nil
		},
	}
}

// A bed is a client that has met a fault.
type bed struct {
	kind   contender.Contender
	fault  string
	number int // of the client
	client contender.Client
}

// A cleanup is what is to be done in the end, the last first.
type cleanup []func() error

func (c *cleanup) add(f func() error) { *c = append(*c, f) }

func (c *cleanup) run() {
	for i := len(*c) - 1; i >= 0; i-- {
		_ = (*c)[i]()
	}
}

// makeBeds starts servers, connects the clients to all, and then makes the last
// of them fail.
func (e *Env) makeBeds(ctx context.Context, kinds []contender.Contender, fault string, ends *cleanup) ([]*bed, error) {
	f, err := fleet.Start(ctx, e.Kind, 5)
	if err != nil {
		return nil, err
	}
	ends.add(f.Close)
	addrs := f.Addrs()
	if fault == slow {
		far, stop, err := fleet.Far(addrs[4], slowBy)
		if err != nil {
			return nil, err
		}
		ends.add(stop)
		addrs[4] = far
	}
	var beds []*bed
	for i, kind := range kinds {
		if kind.Fragile && fault == refused || kind.Slow && e.Quick && fault != healthy {
			continue
		}
		client, err := kind.Open(ctx, addrs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Name, err)
		}
		ends.add(client.Close)
		if err := runPairs(ctx, client, fmt.Sprint("warm-", i), 16, 100); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Name, err)
		}
		beds = append(beds, &bed{kind, fault, i, client})
	}
	last := f.Nodes[4]
	switch fault {
	case refused:
		return beds, last.Kill()
	case hung:
		ends.add(last.Resume) // or clients cannot say goodbye
		return beds, last.Pause()
	}
	return beds, nil
}

var steps = []string{"acquire", "extend", "release"}

func (e *Env) faultOf(ctx context.Context, b *bed, goroutines, round int, t *table) error {
	r, err := load.Run(ctx, load.Load{
		Goroutines: goroutines, Steps: len(steps), Names: fmt.Sprintf("f%d-%d-%d-", goroutines, round, b.number),
		WarmUp: or(e, 400*time.Millisecond, 150*time.Millisecond),
		For:    or(e, time.Second, 250*time.Millisecond),
		Work:   tripleOf(b.client),
	})
	if err != nil {
		return err
	}
	for i, step := range steps {
		if r.Steps[i].TotalCount() == 0 {
			continue
		}
		params := []report.Param{report.P("fault", b.fault), report.P("goroutines", goroutines), report.P("step", step)}
		for _, q := range quantiles {
			t.add(b.kind.Name, params, q.name, report.Time, float64(r.Steps[i].ValueAtQuantile(q.percent))/1e3, nil)
		}
		if i == 0 {
			t.add(b.kind.Name, params, "locks/s", report.Rate, float64(r.Turns-r.Failed)/r.Took.Seconds(), nil)
			t.add(b.kind.Name, params, "failed", report.Percent, 100*float64(r.Failed)/float64(r.Turns), nil)
		}
	}
	return nil
}

// againstHealthy compares each fault's p99 with that of healthy nodes.
func (t *table) againstHealthy() []report.Sample {
	var ratios []report.Sample
	for i := range t.samples {
		of := &t.samples[i]
		if of.Quantity != "p99" || of.Case[0].Value == healthy {
			continue
		}
		same := append([]report.Param{report.P("fault", healthy)}, of.Case[1:]...)
		to := t.find(of.Subject, same, of.Quantity)
		if to == nil {
			continue
		}
		r := ratio(of, to)
		r.Quantity = "p99 / healthy"
		if of.Subject == Ours.Name && of.Case[0].Value == hung {
			r.Want = report.Aim(report.AtMost, 1.3)
		}
		ratios = append(ratios, r)
	}
	return ratios
}
