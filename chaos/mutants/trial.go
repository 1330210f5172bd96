package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/report"
	"github.com/quorumlock/redlock/chaos/simulate"
)

// A finding is something that a check found in a trial.
type finding struct {
	check string
	seed  uint64
	why   string
}

// attempt carries a trial out and returns what was found first that may count,
// nil if nothing was. Whatever else was found is in other.
func (p *program) attempt(ctx context.Context, t Trial, seeds int, limit time.Duration, may func(check string) bool) (found, other *finding, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	one := func(check string, seed uint64, why string) {
		f := &finding{check, seed, why}
		switch {
		case found != nil:
		case may(check):
			found = f
			cancel()
		case other == nil:
			other = f
		}
	}
	if t.Embedded {
		err = p.embedded(ctx, t, one)
	} else {
		if t.Seeds > 0 {
			seeds = min(seeds, t.Seeds)
		}
		err = p.simulated(ctx, t, seeds, one)
	}
	if errors.Is(err, errLimit) {
		one(killTimeout, 0, fmt.Sprintf("not over after %v", limit))
		err = nil
	}
	if found != nil {
		err = nil
	}
	return found, other, err
}

var errLimit = errors.New("time limit")

// simulated runs the plan in simulated time, in a process of its own.
func (p *program) simulated(ctx context.Context, t Trial, seeds int, tell func(check string, seed uint64, why string)) error {
	var rates check.Rates
	job := simulate.Job{Plan: t.Plan, Nodes: nodes, First: 1, Count: seeds}
	err := simulate.StartProgram(ctx, p.path, p.environment(), job, func(r simulate.Result) {
		for _, name := range r.Checks {
			if !r.Verdict.OK() {
				tell(name, r.Seed, r.Why)
			}
		}
		if r.Verdict == check.ProvedNothing {
			tell(string(r.Verdict), r.Seed, r.Why)
		}
		rates.Add(r.Rates)
	})
	var failed *simulate.FailedError
	switch {
	case errors.As(err, &failed):
		what := crash(failed.Output)
		if what == "" {
			return err
		}
		tell(what, failed.Seed, failed.Output)
		return nil
	case err != nil:
		return err
	}
	if maker, _ := plan.Named(t.Plan); maker.Make(1, nodes).KeepsPace {
		if cost, ok := rates.Cost(); ok && cost > check.MaxCost {
			tell(check.CheckRate, 0, fmt.Sprintf("a struck minority costs %.0f %% of the grants a second", 100*cost))
		}
	}
	return nil
}

// crash tells from its output why a process ended early; "" if not by a bug of
// the lock.
func crash(output string) string {
	switch {
	case strings.Contains(output, "deadlock:"):
		return killLeak
	case strings.Contains(output, "panic:"), strings.Contains(output, "fatal error:"):
		return killPanic
	}
	return ""
}

// embedded runs the plan on miniredis nodes, in real time.
func (p *program) embedded(ctx context.Context, t Trial, tell func(check string, seed uint64, why string)) error {
	const seed = 1
	folder := filepath.Join(filepath.Dir(p.path), "report-"+t.Plan)
	cmd := exec.CommandContext(ctx, p.path, "-backend", "embedded", "-plan", t.Plan, "-nodes", fmt.Sprint(nodes), "-seed", fmt.Sprint(seed), "-out", folder)
	cmd.Env = append(os.Environ(), p.environment()...)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if what := crash(string(out)); what != "" {
		tell(what, seed, string(out))
		return nil
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == exitCannotRun) {
		return fmt.Errorf("%w\n%s", err, out)
	}
	f, err := os.Open(filepath.Join(folder, report.HistoryFile))
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := history.Decode(f)
	if err != nil {
		return err
	}
	maker, _ := plan.Named(t.Plan)
	judged := check.Judge(h, check.Floors(maker.Make(seed, nodes).Floors))
	for _, found := range judged.Findings {
		if !judged.Verdict.OK() {
			tell(found.Check, seed, found.Text)
		}
	}
	return nil
}
