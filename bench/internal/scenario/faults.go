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
			"each fault has servers of its own and lasts, and they take turns. The last column compares with the same client and healthy nodes in the same round.",
		Run: func(ctx context.Context, e *Env) error {
			var beds []*bed
			defer func() {
				for _, b := range beds {
					b.close()
				}
			}()
			for _, fault := range []string{healthy, refused, hung, slow} {
				for _, c := range clients {
					if c.Fragile && fault == refused {
						continue
					}
					e.Say("prepare: %s, %s", c.Name, fault)
					b, err := e.makeBed(ctx, c, fault)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", c.Name, fault, err)
					}
					beds = append(beds, b)
				}
			}
			t := newTable(nil)
			for _, g := range or(e, goroutines, goroutines[:1]) {
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

// A bed is servers with a fault, and a client that has met it.
type bed struct {
	kind   contender.Contender
	fault  string
	fleet  *fleet.Fleet
	client contender.Client
	ends   []func() error
}

func (b *bed) close() {
	for i := len(b.ends) - 1; i >= 0; i-- {
		_ = b.ends[i]()
	}
}

// makeBed starts servers, connects a client to all, and then makes the last of
// them fail.
func (e *Env) makeBed(ctx context.Context, kind contender.Contender, fault string) (_ *bed, err error) {
	b := &bed{kind: kind, fault: fault}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.fleet, err = fleet.Start(ctx, e.Kind, 5); err != nil {
		return nil, err
	}
	b.ends = append(b.ends, b.fleet.Close)
	addrs := b.fleet.Addrs()
	if fault == slow {
		far, stop, err := fleet.Far(addrs[4], slowBy)
		if err != nil {
			return nil, err
		}
		b.ends = append(b.ends, stop)
		addrs[4] = far
	}
	if b.client, err = kind.Open(ctx, addrs); err != nil {
		return nil, err
	}
	b.ends = append(b.ends, b.client.Close)
	if err := runPairs(ctx, b.client, "warm", 1, 20); err != nil {
		return nil, err
	}
	last := b.fleet.Nodes[4]
	switch fault {
	case refused:
		err = last.Kill()
	case hung:
		err = last.Pause()
		b.ends = append(b.ends, last.Resume) // or clients cannot say goodbye
	}
	return b, err
}

var steps = []string{"acquire", "extend", "release"}

func (e *Env) faultOf(ctx context.Context, b *bed, goroutines, round int, t *table) error {
	r, err := load.Run(ctx, load.Load{
		Goroutines: goroutines, Steps: len(steps), Names: fmt.Sprintf("f%d-%d-", goroutines, round),
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
		if of.Subject == ours.Name && of.Case[0].Value == hung {
			r.Want = report.Aim(report.AtMost, 1.3)
		}
		ratios = append(ratios, r)
	}
	return ratios
}

// nodeTimeout is the client's default.
const nodeTimeout = 50 * time.Millisecond

// Outage returns the scenario of a majority of nodes that fail.
func Outage(clients []contender.Contender) Scenario {
	return Scenario{
		Name:  "outage",
		Title: "Three of five nodes in trouble: time to the error, and until a lock can be had again",
		About: "One goroutine tries to get a lock while three nodes refuse connections or hang. Then, with two of them still down, " +
			"the third comes back: the time from its first answer, as a program beside sees it, to the first lock. The outage lasts for a second and a half.",
		Run: func(ctx context.Context, e *Env) error {
			t := newTable(nil)
			for round := range e.Rounds {
				for _, c := range clients {
					if c.Fragile {
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
	for i, n := range f.Nodes[2:] {
		if how == "hung" && i == 0 {
			err = errors.Join(err, n.Pause())
		} else if how == "hung" {
			err = errors.Join(err, n.Pause())
			defer n.Resume() //nolint:errcheck // only so that it can be stopped in good order
		} else {
			err = errors.Join(err, n.Kill())
		}
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
