package traffic

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// attack carries out the plan's steps and returns when its time is over.
//
// In real time a fault may take longer to begin and to end than planned: on a busy
// machine it takes seconds until a container runs again. What the plan has one
// after the other must stay so, or faults of minorities would add up to one of a
// majority. So a step is put off by as much as those that should have ended before
// it are late. If that makes the attack patience times as long as planned, the rest
// is left out.
func (r *run) attack(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return wait(ctx, r.plan.Length) })
	start, ends := r.log.Now(), make([]ending, len(r.plan.Steps))
	for i := range ends {
		ends[i].known = make(chan struct{})
	}
	for i := range r.plan.Steps {
		s := &r.plan.Steps[i]
		g.Go(func() error {
			defer close(ends[i].known)
			if wait(ctx, s.At) != nil {
				return nil // the attack is broken off
			}
			at := s.At + r.late(ends, s)
			if at > s.At && at >= patience*r.plan.Length {
				return nil
			}
			if s.IfHeld && (wait(ctx, start+at-r.log.Now()) != nil || !r.isHeldBesides(ctx, s)) {
				return nil
			}
			var struck sync.WaitGroup
			for _, target := range targets(s) {
				struck.Add(1)
				g.Go(func() error {
					defer struck.Done()
					// Steps of one time take turns, in simulated time too.
					turn := time.Duration(i*100 + target)
					return r.strike(ctx, s, target, start+at+turn)
				})
			}
			struck.Wait()
			ends[i].late = (r.log.Now() - (start + s.At + s.For)).Truncate(time.Millisecond) // turns are no delay
			return nil
		})
	}
	return g.Wait()
}

const patience = 4

// An ending is that of a step.
type ending struct {
	known chan struct{} // closed when the step is over
	late  time.Duration // by how much; read after known is closed
}

// late returns by how much those steps of nodes are late that the plan ends before
// s begins, once they have ended.
func (r *run) late(ends []ending, s *plan.Step) (late time.Duration) {
	for i := range r.plan.Steps {
		before := &r.plan.Steps[i]
		if fault, _ := plan.Find(before.Fault); before.At+before.For < s.At && !fault.OfClients {
			<-ends[i].known
			late = max(late, ends[i].late)
		}
	}
	return late
}

// isHeldBesides reports whether one holder has each name's key on all nodes that
// the step spares.
func (r *run) isHeldBesides(ctx context.Context, s *plan.Step) bool {
	type key struct{ name, token string }
	nodes, held := map[key]int{}, map[string]bool{}
	for _, e := range r.cluster.Inspect(ctx, r.names()) {
		if slices.Contains(s.Nodes, e.Node) {
			continue
		}
		k := key{e.Name, e.Token}
		if nodes[k]++; nodes[k] == r.plan.Nodes-len(s.Nodes) {
			held[e.Name] = true
		}
	}
	return len(held) == r.plan.Names
}

// targets returns what the step strikes, each by itself.
func targets(s *plan.Step) []int {
	if fault, _ := plan.Find(s.Fault); fault.OfClients {
		return s.Clients
	}
	return s.Nodes
}

// strike makes the step's fault act on one target from a time on, for the step's
// time.
func (r *run) strike(ctx context.Context, s *plan.Step, target int, at time.Duration) error {
	if wait(ctx, at-r.log.Now()) != nil {
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
