package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
	"github.com/quorumlock/redlock/clock"
)

// NodeCounts are the fleets that teams choose from.
var NodeCounts = []int{1, 3, 5, 7}

// Commands counts what a lock costs on the servers and compares it with the
// formula.
var Commands = Scenario{
	Name:  "commands",
	Title: "Commands, by number of nodes",
	About: "Commands for one lock on all nodes together, as each server counts them (INFO commandstats: set, evalsha, eval), " +
		"against the formula: one a node to acquire, to extend and to release, and one a node for a failed attempt and one for its undo. " +
		"\"One node\" is the least and the most that a single node carried out, \"sent\" is what MONITOR saw of clients. " +
		"The job runs for 60 s, with a TTL of 30 s that is extended every 10 s, on a clock that is moved on by hand.",
	Run: func(ctx context.Context, e *Env) error {
		for _, n := range NodeCounts {
			if err := e.commandsOf(ctx, n); err != nil {
				return err
			}
		}
		return nil
	},
}

// The job of the issue that a team writes down when it asks for the bill, in
// seconds.
const (
	jobHolds   = 60
	jobExtends = 10
	jobTTL     = 30
)

// patient is how long counts may take to settle, and how long a node may take to
// answer while commands are counted: a time-out would add an undo to the bill.
const patient = 10 * time.Second

func (e *Env) commandsOf(ctx context.Context, n int) error {
	e.Say("%d nodes: what a lock costs", n)
	f, err := fleet.Start(ctx, e.Kind, n)
	if err != nil {
		return err
	}
	defer f.Close()
	locks := or(e, 100, 20)
	for _, job := range []struct {
		what       string
		extensions int
	}{
		{"lock, no contention", 0},
		{"job of 60 s", Extensions(jobHolds, jobExtends)},
	} {
		t, err := countJobs(ctx, f, locks, job.extensions)
		if err != nil {
			return err
		}
		e.addBill(n, job.what, locks, JobBill(n, job.extensions), t)
	}
	t, err := countFailures(ctx, f, locks)
	if err != nil {
		return err
	}
	e.addBill(n, "failed attempt", locks, FailedBill(n), t)
	return nil
}

// addBill adds what so many locks have cost.
func (e *Env) addBill(n int, what string, locks int, bill Bill, t tally) {
	sample := func(quantity string, want int, values ...int64) {
		s := report.Sample{
			Case:     []report.Param{report.P("N", n), report.P("what", what)},
			Quantity: quantity, Want: report.Equals(float64(want)),
		}
		for _, v := range values {
			s.Rounds = append(s.Rounds, float64(v)/float64(locks))
		}
		e.Add(s)
	}
	sample("acquire", bill.Acquire, t.acquired)
	sample("extend", bill.Extend, t.extended)
	sample("release, undo", bill.Release, t.released)
	sample("total", bill.Total(), t.acquired+t.extended+t.released)
	sample("one node", bill.Total()/n, t.nodes...)
	sample("sent", bill.Total(), t.sent)
}

// countJobs runs so many jobs at once, each under a lock of its own that is
// extended so many times.
func countJobs(ctx context.Context, f *fleet.Fleet, jobs, extensions int) (tally, error) {
	m, err := startMeter(f)
	if err != nil {
		return tally{}, err
	}
	defer m.close()
	hands := clock.NewSkewed(nil)
	client, err := openEager(ctx, f, &redlock.Options{
		Clock:       hands,
		NodeTimeout: 2 * jobHolds * time.Second, // so that moving the hands never is a time-out
	})
	if err != nil {
		return tally{}, err
	}
	defer client.Close()

	locks := make([]*redlock.Lock, jobs)
	for i := range locks {
		if locks[i], err = client.TryAcquire(ctx, fmt.Sprint("job-", i), jobTTL*time.Second); err != nil {
			return tally{}, err
		}
	}
	n := int64(len(f.Nodes) * jobs)
	if err := m.expect(ctx, n); err != nil {
		return tally{}, err
	}
	for range extensions {
		hands.Step(jobExtends * time.Second)
		for _, l := range locks {
			if err := l.Extend(ctx, jobTTL*time.Second); err != nil {
				return tally{}, err
			}
		}
	}
	if err := m.expect(ctx, n*int64(1+extensions)); err != nil {
		return tally{}, err
	}
	extended := m.scripts
	hands.Step(jobExtends * time.Second)
	for _, l := range locks {
		if err := l.Release(ctx); err != nil {
			return tally{}, err
		}
	}
	t, err := m.end(ctx, client)
	t.extended = extended
	t.released = m.scripts - extended
	return t, err
}

// countFailures makes so many attempts to get a lock that somebody else has.
func countFailures(ctx context.Context, f *fleet.Fleet, attempts int) (tally, error) {
	holder, err := openEager(ctx, f, nil)
	if err != nil {
		return tally{}, err
	}
	defer holder.Close()
	const name = "taken"
	if _, err := holder.TryAcquire(ctx, name, time.Hour); err != nil {
		return tally{}, err
	}
	everywhere, err := until(ctx, patient, func() (bool, error) {
		keys, err := f.Keys()
		return keys == len(f.Nodes), err
	})
	if err != nil || !everywhere {
		return tally{}, fmt.Errorf("a lock was not on all nodes after %v: %w", patient, err)
	}

	m, err := startMeter(f)
	if err != nil {
		return tally{}, err
	}
	defer m.close()
	client, err := openEager(ctx, f, &redlock.Options{NodeTimeout: patient})
	if err != nil {
		return tally{}, err
	}
	defer client.Close()
	for range attempts {
		if _, err := client.TryAcquire(ctx, name, jobTTL*time.Second); !errors.Is(err, redlock.ErrHeld) {
			return tally{}, fmt.Errorf("acquiring a lock that is taken: %w", err)
		}
	}
	t, err := m.end(ctx, client)
	t.released = m.scripts
	return t, err
}
