package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/simulate"
)

// shrinkTries bounds how many smaller plans are tried.
const shrinkTries = 200

// shrink looks for the smallest plan that still has the verdict, leaving out
// steps and clients and making it shorter, and writes it where -replay reads it.
func shrink(ctx context.Context, folder string, p *plan.Plan, bad *simulate.Result) (path string, err error) {
	smallest, tries := p, 0
	still := func(q *plan.Plan) bool {
		if tries++; tries > shrinkTries || q.Validate() != nil {
			return false
		}
		shows := false
		// A plan that cannot be run is not a smaller one.
		_ = simulate.Start(ctx, simulate.Job{Data: q, First: bad.Seed, Count: 1}, func(r simulate.Result) {
			shows = r.Verdict == bad.Verdict
		})
		return shows
	}
	for again := true; again && ctx.Err() == nil; {
		again = false
		for _, q := range smaller(smallest) {
			if still(q) {
				smallest, again = q, true
				break
			}
		}
	}
	data, err := json.Marshal(smallest)
	if err != nil {
		return "", err
	}
	header, err := json.MarshalIndent(history.Header{Format: history.Format, Plan: p.Name, Seed: bad.Seed, PlanData: data}, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	path = filepath.Join(folder, fmt.Sprintf("shrunk-%s-%d.json", p.Name, bad.Seed))
	return path, os.WriteFile(path, append(header, '\n'), 0o666)
}

// smaller returns plans with one thing less, the boldest first.
func smaller(p *plan.Plan) (plans []*plan.Plan) {
	with := func(change func(q *plan.Plan)) {
		q := *p
		q.Steps = append([]plan.Step(nil), p.Steps...)
		change(&q)
		plans = append(plans, &q)
	}
	if n := len(p.Steps); n > 1 {
		with(func(q *plan.Plan) { q.Steps = q.Steps[:n/2] })
		with(func(q *plan.Plan) { q.Steps = q.Steps[n/2:] })
	}
	for i := range p.Steps {
		with(func(q *plan.Plan) { q.Steps = append(q.Steps[:i:i], q.Steps[i+1:]...) })
	}
	if p.Clients > 2 {
		with(func(q *plan.Plan) { q.Clients-- })
	}
	if p.Traffic.Workers > 1 {
		with(func(q *plan.Plan) { q.Traffic.Workers-- })
	}
	with(func(q *plan.Plan) { q.Length /= 2 })
	for _, probability := range []func(q *plan.Plan) *float64{
		func(q *plan.Plan) *float64 { return &q.Network.DropRequest },
		func(q *plan.Plan) *float64 { return &q.Network.DropReply },
		func(q *plan.Plan) *float64 { return &q.Network.Duplicate },
		func(q *plan.Plan) *float64 { return &q.Network.Delayed },
		func(q *plan.Plan) *float64 { return &q.Traffic.Cancel },
		func(q *plan.Plan) *float64 { return &q.Traffic.Abandon },
		func(q *plan.Plan) *float64 { return &q.Traffic.KeepAlive },
		func(q *plan.Plan) *float64 { return &q.Traffic.Extend },
	} {
		if *probability(p) > 0 {
			with(func(q *plan.Plan) { *probability(q) = 0 })
		}
	}
	return plans
}
