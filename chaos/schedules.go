package main

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/report"
	"github.com/quorumlock/redlock/chaos/simulate"
)

// A tally adds up the results of schedules.
type tally struct {
	mu       sync.Mutex
	runs     int
	sum      simulate.Stats
	true     time.Duration
	seen     map[string]int
	verdicts map[check.Verdict]int
	worst    *simulate.Result // the first that is not as promised; nil: none
}

func newTally() *tally {
	return &tally{seen: map[string]int{}, verdicts: map[check.Verdict]int{}}
}

func (t *tally) add(r simulate.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs++
	t.sum.Add(r.Stats)
	t.true += r.True
	for fault, n := range r.Seen {
		t.seen[fault] += n
	}
	t.verdicts[r.Verdict]++
	if !r.Verdict.OK() && (t.worst == nil || rank(r.Verdict) > rank(t.worst.Verdict)) {
		t.worst = &r
	}
}

// rank orders verdicts by how bad they are.
func rank(v check.Verdict) int {
	return slices.Index([]check.Verdict{check.ProvedNothing, check.Unexpected, check.Violation}, v)
}

// schedule runs seeds first to first+count-1 of a plan in as many processes as
// there are cores, and adds their results.
func schedule(ctx context.Context, t *tally, name string, nodes int, first uint64, count int) error {
	workers := min(runtime.GOMAXPROCS(0), count)
	g, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		job := simulate.Job{
			Plan: name, Nodes: nodes, First: first + uint64(i), Stride: uint64(workers),
			Count: (count - i + workers - 1) / workers,
		}
		g.Go(func() error { return simulate.Start(ctx, job, t.add) })
	}
	return g.Wait()
}

// runSchedules runs many schedules in simulated time.
func (s *settings) runSchedules(ctx context.Context) (int, error) {
	name := s.plan
	if name == "" {
		name = "random"
	}
	t, start := newTally(), time.Now()
	stop := report.Progress(s.err, s.isTerminal(), func() report.Status {
		t.mu.Lock()
		defer t.mu.Unlock()
		faults := 0
		for _, n := range t.seen {
			faults += n
		}
		return report.Status{
			Done: t.runs, Total: s.schedules, Unit: "schedules",
			Grants: t.sum.Grants, Faults: faults, Overlaps: t.sum.Overlaps,
		}
	})
	err := schedule(ctx, t, name, s.nodes, s.seed, s.schedules)
	stop()
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	fmt.Fprintf(s.out, "plan %s, %d nodes, seeds %d to %d\n\n", name, s.nodes, s.seed, s.seed+uint64(s.schedules)-1)
	for _, fault := range slices.Sorted(maps.Keys(t.seen)) {
		fmt.Fprintf(s.out, "%-18s %9d times seen to take effect\n", fault, t.seen[fault])
	}
	fmt.Fprintf(s.out, "\nschedules %d (%.0f/s), simulated hours %.1f, attempts %d, acquisitions %d, contended %d, grants %d\n",
		t.runs, float64(t.runs)/took.Seconds(), t.true.Hours(), t.sum.Attempts, t.sum.Calls, t.sum.Contended, t.sum.Grants)
	fmt.Fprintf(s.out, "overlaps %d, lost updates %d, stale writes %d\n\n", t.sum.Overlaps, t.sum.LostUpdates, t.sum.StaleWrites)
	return s.conclude(ctx, name, t)
}

// conclude prints the verdicts. Of what is not as promised it makes the smallest
// plan that shows it.
func (s *settings) conclude(ctx context.Context, name string, t *tally) (int, error) {
	for _, v := range slices.Sorted(maps.Keys(t.verdicts)) {
		fmt.Fprintf(s.out, "%d of %d schedules: %s\n", t.verdicts[v], t.runs, v)
	}
	if t.worst == nil {
		return exitAsPromised, nil
	}
	w := t.worst
	fmt.Fprintf(s.out, "seed %d: %s: %s\nagain: go run ./chaos -backend sim -nodes %d -plan %s -seed %d\n",
		w.Seed, w.Verdict, w.Why, s.nodes, name, w.Seed)
	if w.Verdict == check.Violation {
		maker, _ := plan.Named(name)
		p := maker.Make(w.Seed, s.nodes)
		path, err := shrink(ctx, s.folder, &p, w)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(s.out, "shrunk: go run ./chaos -backend sim -replay %s\n", path)
	}
	return exitOf(w.Verdict), nil
}
