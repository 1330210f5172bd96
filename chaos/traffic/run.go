// Package traffic runs a plan on a cluster: clients that contend for locks and
// work under them, faults at their times, and at the end a look at what is left.
// What happened is in the history that comes of it.
package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A run is a plan being carried out, or several, one after the other.
type run struct {
	cluster cluster.Cluster
	log     journal
	options redlock.Options

	simulated bool

	store  cells
	gates  []gate // by client
	apart  *apart // how clients become processes of their own; nil: they do not
	failed func(error)
	hands  []chan struct{} // by client: full while a fault of its process begins

	// What is of this round. It changes only while no worker works.
	plan   *plan.Plan
	seed   uint64
	dice   plan.Dice
	healed *healed

	over     atomic.Bool
	attempts atomic.Int64

	mu     sync.Mutex
	lives  []life // by client: the one that lives; guarded by mu
	births []int  // by client: how many lives it has had before this one; guarded by mu
	ended  []life // crashed; guarded by mu
}

// A journal takes events, and has the true clock.
type journal interface {
	Add(history.Event)
	Now() time.Duration
	NextCall() int
}

// A life is one process of a client, from its start to its crash or the end of
// the run.
type life interface {
	// begin makes its workers begin a round.
	begin() error

	// rest returns when they have ended, which they do when the round is over,
	// or the process.
	rest()

	// leave shuts it down.
	leave()

	// crash ends it without a word.
	crash() error

	// pause stops it between a look at its lock and what it does next, if it
	// comes there soon, and anywhere else otherwise.
	pause() (resume func(), err error)

	// turned says that its clock was set, or its rate.
	turned(turn) error
}

func (r *run) isOver() bool { return r.over.Load() }

// start starts a process of the client.
func (r *run) start(number, life int) (life, error) {
	if r.apart != nil {
		return r.startApart(number, life)
	}
	return newProcess(r, number, life), nil
}

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
	ctx, r, err := newRun(ctx, s, c)
	defer r.failed(errOver)
	if err == nil {
		err = r.attackAndHeal(ctx)
	}
	r.stop(life.leave)
	if err == nil {
		err = r.calm(ctx)
	} else {
		s.Log.Add(history.Event{Kind: history.Calm})
	}
	if closing := c.Close(); err == nil && closing != nil {
		err = closing
	}
	left := 0
	if !s.Simulated { // a bubble fails by itself if a goroutine is left
		left = settled(goroutines)
	}
	s.Log.Add(history.Event{Kind: history.End, Count: left})
	return &history.History{Header: r.header(), Events: s.Log.Events()}, err
}

// newRun starts the clients' processes. The context that it returns ends with
// the error of one that ends by itself. On failure the run has what was started.
func newRun(ctx context.Context, s cluster.Setup, c cluster.Cluster) (context.Context, *run, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &run{
		cluster: c, log: s.Log, options: Options(), simulated: s.Simulated,
		store: &store{log: s.Log, versions: map[string]int{}},
		gates: make([]gate, s.Plan.Clients), births: make([]int, s.Plan.Clients),
		failed: func(err error) {
			if err != nil {
				cancel(err)
			}
		},
	}
	for range s.Plan.Clients {
		r.hands = append(r.hands, make(chan struct{}, 1))
	}
	r.round(s.Plan, s.Seed)
	if s.Apart {
		var err error
		if r.apart, err = newApart(s, c); err != nil {
			return ctx, r, err
		}
	}
	for i := range s.Plan.Clients {
		l, err := r.start(i+1, 0)
		if err != nil {
			return ctx, r, err
		}
		r.lives = append(r.lives, l)
		if r.apart == nil { // each before the next is made: simulated time repeats that order
			_ = l.begin()
		}
	}
	if r.apart != nil {
		return ctx, r, r.beginAll()
	}
	return ctx, r, nil
}

// errOver is why a run's context ends when nothing failed.
var errOver = errors.New("the run is over")

// round makes the plan the next one.
func (r *run) round(p *plan.Plan, seed uint64) {
	r.plan, r.seed, r.options.StopMargin = p, seed, p.StopMargin
	r.dice, r.healed = plan.Dice(seed).ForText("traffic"), newHealed(p.Floors)
	r.over.Store(false)
}

// beginAll makes all workers begin the round.
func (r *run) beginAll() error {
	for _, l := range r.lives {
		if err := l.begin(); err != nil {
			return err
		}
	}
	return nil
}

// crashed records the crash of a client's process.
func (r *run) crashed(client int) {
	e := history.Event{Kind: history.Crash, Client: client}
	r.log.Add(e)
	r.healed.follow(&e)
}

// names are those of the locks.
func (r *run) names() []string {
	names := make([]string, r.plan.Names)
	for i := range names {
		names[i] = nameOf(i + 1)
	}
	return names
}

// attackAndHeal returns when every name was granted after the attack.
func (r *run) attackAndHeal(ctx context.Context) error {
	err := r.attack(ctx)
	r.log.Add(history.Event{Kind: history.Healed})
	r.healed.begin(r.names())
	if err == nil {
		err = r.healed.wait(ctx, r.recovery())
	}
	return err
}

// calm returns when every key must be gone.
func (r *run) calm(ctx context.Context) error {
	r.log.Add(history.Event{Kind: history.Calm})
	for _, d := range []time.Duration{r.clean(), r.keyLife()} {
		if err := wait(ctx, d); err != nil {
			return err
		}
		r.cluster.Inspect(ctx, r.names())
	}
	return nil
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

func (r *run) header() history.Header {
	data, err := json.Marshal(r.plan)
	if err != nil {
		panic(err) // plain data
	}
	return history.Header{
		Format: history.Format, Plan: r.plan.Name, Class: string(r.plan.Class), Expect: r.plan.Expect, Seed: r.seed,
		Nodes: r.plan.Nodes, Quorum: r.plan.Quorum(), Clients: r.plan.Clients, Length: r.plan.Length,
		Attempts: int(r.attempts.Load()), Drift: redlock.DefaultDrift.Factor, MaxTTL: r.plan.MaxTTL(),
		Bound: r.bound(), Clean: r.clean(), Timeout: r.options.NodeTimeout,
		Reliable: r.plan.Network.IsReliable(), Prompt: r.plan.IsPrompt(),
		PlanData: data,
	}
}

// bound is within which a grant must come when nothing stands in its way but
// other clients. Real machines may have something else to do, so that nodes do not
// answer in time though no fault strikes them: there it is three times as long.
func (r *run) bound() time.Duration {
	d := 2*r.options.RetryMax + 8*r.options.NodeTimeout
	if !r.simulated {
		d *= 3
	}
	return d + r.plan.Traffic.Hold.Max + r.plan.Traffic.Think.Max + r.plan.Traffic.Beat
}

// clean is within which a node that answers is rid of what attempts left; for the
// same reason twice as long on real machines.
func (r *run) clean() time.Duration {
	d := r.options.NodeTimeout + time.Second
	if !r.simulated {
		d *= 2
	}
	return d
}

// keyLife is how long a key may live on the slowest clock, also one that arrives
// late.
func (r *run) keyLife() time.Duration {
	d := r.plan.MaxTTL() + r.plan.Network.Late.Max
	return d + d/20 + 10*time.Millisecond
}

// recovery is how long the healed run goes on: go-redis dials once a second, and
// what a fault left may have to run out.
func (r *run) recovery() time.Duration { return r.keyLife() + time.Second + r.bound() }

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

// stop ends the round's traffic: what is held is released. Then it does with
// every process that lives what it is told to.
func (r *run) stop(then func(life)) {
	r.over.Store(true)
	for i := range r.gates {
		r.gates[i].reopen()
	}
	r.mu.Lock()
	lives, ended := slices.Clone(r.lives), r.ended
	r.ended = nil
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range lives {
		all.Go(func() { l.rest(); then(l) })
	}
	for _, l := range ended {
		all.Go(l.rest)
	}
	all.Wait()
}
