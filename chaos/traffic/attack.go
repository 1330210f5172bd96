package traffic

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// attack carries out the plan's steps and returns when its time is over.
func (r *run) attack(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return wait(ctx, r.plan.Length) })
	for i := range r.plan.Steps {
		s := &r.plan.Steps[i]
		for _, target := range targets(s) {
			// Steps of one time take turns, in simulated time too.
			g.Go(func() error { return r.strike(ctx, s, target, time.Duration(i*100+target)) })
		}
	}
	return g.Wait()
}

// targets returns what the step strikes, each by itself.
func targets(s *plan.Step) []int {
	if fault, _ := plan.Find(s.Fault); fault.OfClients {
		return s.Clients
	}
	return s.Nodes
}

// strike makes the step's fault act on one target, for the step's time.
func (r *run) strike(ctx context.Context, s *plan.Step, target int, turn time.Duration) error {
	if wait(ctx, s.At+turn) != nil {
		return nil // the attack is broken off
	}
	about := history.Event{Fault: s.Fault, Node: target}
	if fault, _ := plan.Find(s.Fault); fault.OfClients {
		about.Node, about.Client = 0, target
	}
	begin, heal := about, about
	begin.Kind, heal.Kind = history.Fault, history.Heal
	if s.Fault == plan.Partition && len(s.Clients) == 1 {
		begin.Client, heal.Client = s.Clients[0], s.Clients[0]
	}
	r.log.Add(begin)
	end, err := r.begin(s, target)
	if err != nil {
		return fmt.Errorf("%s of %d: %w", s.Fault, target, err)
	}
	_ = wait(ctx, s.For) // and heal in any case
	end()
	r.log.Add(heal)
	return nil
}

// begin begins a fault: those of client processes here, the others in the
// cluster.
func (r *run) begin(s *plan.Step, target int) (end func(), err error) {
	switch s.Fault {
	case plan.CrashClient:
		return func() {}, r.crash(target)
	case plan.PauseClient:
		defer r.grasp(target)()
		return r.living(target).pause()
	}
	end, err = r.cluster.Begin(s, target)
	if err != nil || (s.Fault != plan.ClientClockJump && s.Fault != plan.ClientClockRate) {
		return end, err
	}
	announce := func(t turn) error {
		defer r.grasp(target)()
		return r.living(target).turned(t)
	}
	turnBack := end
	return func() {
		turnBack()
		if s.Fault == plan.ClientClockRate {
			r.failed(announce(turn{Rate: r.cluster.ClientRate(target)}))
		}
	}, announce(turn{By: s.By, Rate: s.Rate})
}

// grasp keeps other faults from the client's process, which may take a while to
// end and to start, until release is called.
func (r *run) grasp(client int) (release func()) {
	r.hands[client-1] <- struct{}{}
	return func() { <-r.hands[client-1] }
}

// living returns the client's process.
func (r *run) living(client int) life {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lives[client-1]
}

// crash ends the client's process and starts another.
func (r *run) crash(client int) error {
	defer r.grasp(client)()
	old := r.living(client)
	if err := old.crash(); err != nil {
		return err
	}
	r.mu.Lock()
	r.births[client-1]++
	number := r.births[client-1]
	r.mu.Unlock()
	next, err := r.start(client, number)
	if err != nil {
		return err
	}
	if err := next.begin(); err != nil {
		return err
	}
	r.mu.Lock()
	r.ended = append(r.ended, old)
	r.lives[client-1] = next
	r.mu.Unlock()
	r.log.Add(history.Event{Kind: history.Seen, Client: client, Fault: plan.CrashClient})
	return nil
}
