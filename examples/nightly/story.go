package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// A story prints lines with the time since its start and who did it.
type story struct {
	start time.Time

	mu  sync.Mutex
	out io.Writer // guarded by mu
}

func newStory(out io.Writer) *story { return &story{start: time.Now(), out: out} }

func (s *story) line(who, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%6.2fs  %-9s %s\n", time.Since(s.start).Seconds(), who, what)
}

// errBroken: the job was not done exactly once.
var errBroken = errors.New("the promise is broken")

const (
	contenders = 3
	killAfter  = 3 // steps
	lateness   = 300 * time.Millisecond
)

// tell runs the story on the fleet.
func tell(ctx context.Context, st *story, f *fleet, job string) error {
	l := new(ledger)
	var servers []*server
	for i := range contenders + 1 {
		s, err := newServer(fmt.Sprintf("server-%d", i+1), f, l, st)
		if err != nil {
			return err
		}
		defer s.client.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is held any more
		servers = append(servers, s)
	}
	late := servers[contenders]

	st.line("", fmt.Sprintf("%v, quorum %d; job %s, about %v; lock TTL %v", f, late.client.Quorum(), job, steps*step, ttl))
	if f.nodes == nil {
		st.line("", "no node is killed: they are not ours")
	}
	st.line("", fmt.Sprintf("%d servers start the job at the same time", contenders))
	together(ctx, f, st, servers[:contenders], job)

	if err := wait(ctx, lateness); err != nil {
		return err
	}
	late.say("starts the job late")
	late.settle(ctx, job, make(chan int, steps))

	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return verdict(st, l)
}

// together starts the servers at one moment and returns when all have finished
// or skipped. A node dies in the middle.
func together(ctx context.Context, f *fleet, st *story, servers []*server, job string) {
	barrier := make(chan struct{})
	progress := make(chan int, contenders*steps)
	var running sync.WaitGroup
	for _, s := range servers {
		running.Go(func() {
			<-barrier
			s.settle(ctx, job, progress)
		})
	}
	close(barrier)
	go func() {
		running.Wait()
		close(progress)
	}()
	for i := range progress {
		if i == killAfter && f.nodes != nil {
			st.line("node-1", "is killed")
			f.nodes[0].Down()
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// verdict says whether the job was done exactly once.
func verdict(st *story, l *ledger) error {
	switch runs, overlaps := l.counts(); {
	case overlaps > 0:
		return fmt.Errorf("%w: %d of %d runs overlapped another", errBroken, overlaps, runs)
	case runs != 1:
		return fmt.Errorf("%w: %d servers did the job, want 1", errBroken, runs)
	}
	st.line("", "one server did the job, once")
	return nil
}
