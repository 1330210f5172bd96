// Package traffic runs a plan on a cluster: clients that contend for locks and
// work under them, faults at their times, and at the end a look at what is left.
// What happened is in the history that comes of it.
package traffic

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A run is a plan being carried out.
type run struct {
	plan    *plan.Plan
	cluster cluster.Cluster
	log     *history.Recorder
	dice    plan.Dice
	options redlock.Options
	store   *store
	gates   []gate // by client
	over    atomic.Bool
	healed  *healed

	attempts atomic.Int64

	mu        sync.Mutex
	processes []*process // by client: the one that lives; guarded by mu
	ended     []*process // crashed; guarded by mu
}

func (r *run) isOver() bool { return r.over.Load() }

// Options returns the options of the plan's clients.
func Options() redlock.Options {
	return redlock.Options{NodeTimeout: 50 * time.Millisecond, RetryMin: 10 * time.Millisecond, RetryMax: 500 * time.Millisecond}
}

// Run carries out the plan: the attack, then, after everything was healed, until
// every name was granted or that takes too long, then calm until every key must
// be gone. It ends
// early if ctx does, which the error says. The history is complete but for its
// header's Backend and Expect.
func Run(ctx context.Context, s cluster.Setup, c cluster.Cluster) (*history.History, error) {
	goroutines := runtime.NumGoroutine()
	r := &run{
		plan: s.Plan, cluster: c, log: s.Log, dice: plan.Dice(s.Seed).ForText("traffic"), options: Options(),
		store:  &store{log: s.Log, versions: map[string]int{}},
		healed: newHealed(s.Plan.Floors),
		gates:  make([]gate, s.Plan.Clients), processes: make([]*process, s.Plan.Clients),
	}
	for i := range r.processes {
		r.processes[i] = r.start(i+1, 0)
	}
	err := r.attack(ctx)
	names := make([]string, s.Plan.Names)
	for i := range names {
		names[i] = nameOf(i + 1)
	}
	r.log.Add(history.Event{Kind: history.Healed})
	r.healed.begin(names)
	if err == nil {
		err = r.healed.wait(ctx, r.recovery())
	}
	r.stop()
	r.log.Add(history.Event{Kind: history.Calm})
	if err == nil {
		err = wait(ctx, r.options.NodeTimeout+time.Second)
		c.Inspect(ctx, names)
	}
	if err == nil {
		err = wait(ctx, r.life())
		c.Inspect(ctx, names)
	}
	if closing := c.Close(); err == nil && closing != nil {
		err = closing
	}
	left := 0
	if !s.Simulated { // a bubble fails by itself if a goroutine is left
		left = settled(goroutines)
	}
	r.log.Add(history.Event{Kind: history.End, Count: left})
	return &history.History{Header: r.header(s), Events: r.log.Events()}, err
}

// settled returns how many goroutines there are more than before, once those
// that are about to end had the time to.
func settled(before int) (more int) {
	for range 200 {
		if more = runtime.NumGoroutine() - before; more <= 0 {
			return 0
		}
		time.Sleep(5 * time.Millisecond)
	}
	return more
}

func (r *run) header(s cluster.Setup) history.Header {
	data, err := json.Marshal(s.Plan)
	if err != nil {
		panic(err) // plain data
	}
	return history.Header{
		Format: history.Format, Plan: s.Plan.Name, Class: string(s.Plan.Class), Expect: s.Plan.Expect, Seed: s.Seed,
		Nodes: s.Plan.Nodes, Quorum: s.Plan.Quorum(), Clients: s.Plan.Clients, Length: s.Plan.Length,
		Attempts: int(r.attempts.Load()), Drift: redlock.DefaultDrift.Factor, MaxTTL: s.Plan.MaxTTL(), Bound: r.bound(), Timeout: r.options.NodeTimeout,
		Reliable: s.Plan.Network.IsReliable(),
		PlanData: data,
	}
}

// bound is within which a grant must come when nothing stands in its way but
// other clients.
func (r *run) bound() time.Duration {
	return 2*r.options.RetryMax + 8*r.options.NodeTimeout + r.plan.Traffic.Hold.Max + r.plan.Traffic.Think.Max
}

// life is how long a key may live on the slowest clock, also one that arrives
// late.
func (r *run) life() time.Duration {
	d := r.plan.MaxTTL() + r.plan.Network.Late.Max
	return d + d/20 + 10*time.Millisecond
}

// recovery is how long the healed run goes on: go-redis dials once a second, and
// what a fault left may have to run out.
func (r *run) recovery() time.Duration { return r.life() + time.Second + r.bound() }

// wait returns nil after d, or why ctx ended before.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop ends the traffic: what is held is released, and every client shut down.
func (r *run) stop() {
	r.over.Store(true)
	for i := range r.gates {
		r.gates[i].reopen()
	}
	r.mu.Lock()
	processes, ended := r.processes, r.ended
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range processes {
		all.Go(func() {
			p.work.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = p.client.Shutdown(ctx) // what it could not release runs out
			p.cancel()
		})
	}
	for _, p := range ended {
		all.Go(p.work.Wait)
	}
	all.Wait()
}
