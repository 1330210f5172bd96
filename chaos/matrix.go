package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/report"
)

// A trial is a line of the matrix: an assumption kept or broken, and the plan
// that does it.
type trial struct{ assumption, plan string }

var trials = []trial{
	{"all kept", "random"},
	{"A0 kept: the same nodes for every client", "calm"},
	{"A0 broken: unlike lists of nodes", "unlike-lists"},
	{"A1 kept: clock rates at the edge of 1 %", "drift"},
	{"A1 broken: a node's clock is set", "clock-jump"},
	{"A1 broken: nodes' clocks run three times too fast", "clock-fast"},
	{"A1 broken: a client's clock runs three times too slow", "client-slow"},
	{"A2 kept: restarts without data stay away for a TTL", "restart-late"},
	{"A2 kept: what the slack allows is forgotten", "slack"},
	{"A2 broken: a restart without data within the TTL", "restart-forget"},
	{"A2 broken: a majority is flushed", "flush-majority"},
	{"A3 assumes nothing: loss, delay, duplicates", "network"},
	{"A3 assumes nothing: asymmetric partitions", "partition"},
	{"A4 kept: a pause shorter than the validity", "short-pause"},
	{"A4 broken: a pause longer than the validity", "long-pause"},
}

// matrixSeeds is how many seeds each plan runs in simulated time.
const matrixSeeds = 20

// runMatrix runs every trial and prints the table.
func (s *settings) runMatrix(ctx context.Context) (int, error) {
	backend, seeds := s.backend, 1
	if !s.chosen["backend"] || backend == "sim" {
		backend, seeds = "sim", matrixSeeds
	}
	matrix, status, cannot := report.Matrix{}, exitAsPromised, []string(nil)
	start := time.Now()
	for i, t := range trials {
		line, exit, err := s.try(ctx, backend, t, seeds)
		if errors.Is(err, cluster.ErrCannot) {
			line.Verdict = err.Error()
			cannot = append(cannot, t.plan)
		} else if err != nil {
			return 0, err
		}
		fmt.Fprintf(s.err, "%2d of %d  %-15s %s\n", i+1, len(trials), t.plan, line.Verdict)
		matrix = append(matrix, line)
		status = max(status, exit)
	}
	if err := matrix.WriteText(s.out); err != nil {
		return 0, err
	}
	if err := writeMatrix(filepath.Join(s.folder, "matrix.md"), matrix); err != nil {
		return 0, err
	}
	verdict := "every line is as promised"
	if len(cannot) > 0 {
		verdict = fmt.Sprintf("every line that %s can do is as promised, which is not %s", backend, strings.Join(cannot, ", "))
	}
	if status != exitAsPromised {
		verdict = "NOT every line is as promised"
	}
	fmt.Fprintf(s.out, "\n%s (%s, %d nodes, %d seeds a line from %d on, %v)\n",
		verdict, backend, s.nodes, seeds, s.seed, time.Since(start).Round(100*time.Millisecond))
	return status, nil
}

// writeMatrix writes the table for a page.
func writeMatrix(path string, m report.Matrix) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := m.WriteMarkdown(&page); err != nil {
		return err
	}
	return os.WriteFile(path, page.Bytes(), 0o666)
}

// try runs one trial.
func (s *settings) try(ctx context.Context, backend string, t trial, seeds int) (report.Line, int, error) {
	line := report.Line{Assumption: t.assumption, Plan: t.plan}
	if backend == "sim" {
		sum := newTally()
		if err := schedule(ctx, sum, t.plan, s.nodes, s.seed, seeds); err != nil {
			return line, 0, err
		}
		line.Grants, line.Overlaps, line.LostUpdates = sum.sum.Grants, sum.sum.Overlaps, sum.sum.LostUpdates
		if sum.worst != nil {
			line.Verdict = fmt.Sprintf("%s (seed %d)", sum.worst.Verdict, sum.worst.Seed)
			return line, exitOf(sum.worst.Verdict), nil
		}
		line.Verdict = shown(slices.Collect(maps.Keys(sum.verdicts))[0])
		return line, exitAsPromised, nil
	}
	maker, _ := plan.Named(t.plan)
	p := maker.Make(s.seed, s.nodes)
	one := *s
	one.backend, one.err = backend, io.Discard
	h, err := one.record(ctx, &p, s.seed)
	if err != nil {
		return line, exitAsPromised, err
	}
	judged, _ := judge(h, &p)
	line.Grants, line.Overlaps, line.LostUpdates = judged.Stats.Grants, judged.Stats.Overlaps, judged.Stats.Damage.Lost
	line.Verdict = shown(judged.Verdict)
	if !judged.Verdict.OK() {
		fmt.Fprintf(s.err, "plan %s: %s: %s\nagain: go run ./chaos -backend %s%s -nodes %d -plan %s -seed %d\n",
			t.plan, judged.Verdict, judged.Why, backend, s.backendFlags(), s.nodes, t.plan, s.seed)
	}
	return line, exitOf(judged.Verdict), nil
}

// shown returns a verdict as the matrix has it.
func shown(v check.Verdict) string {
	if v == check.AsPromised {
		return "safe"
	}
	return string(v)
}
