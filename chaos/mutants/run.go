package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// An outcome is what became of a mutant.
type outcome struct {
	mutant  *Mutant
	trial   Trial    // the last
	found   *finding // what killed it; nil: it lives
	other   *finding // found by a check that was not to kill it
	reached bool
	took    time.Duration // building and running
}

func (o *outcome) killed() bool { return o.found != nil && o.reached }

// limits are how long trials may take.
type limits map[Trial]time.Duration

// run does what the flags ask for, and returns the exit status.
func (s *settings) run(ctx context.Context) (status int, err error) {
	if s.list {
		return exitAllKilled, s.printList()
	}
	start := time.Now()
	module, err := moduleFolder(ctx)
	if err != nil {
		return 0, err
	}
	for i := range s.mutants { // before anything takes time
		if _, err := s.mutants[i].apply(module); err != nil {
			return 0, err
		}
	}
	folder, err := os.MkdirTemp("", "redlock-mutants-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	limits, err := s.baseline(ctx, module, folder)
	if err != nil {
		return 0, err
	}
	outcomes, err := s.tryAll(ctx, module, folder, limits)
	if err != nil {
		return 0, err
	}
	return s.conclude(outcomes, time.Since(start)), nil
}

// baseline runs every trial with the program as it is, which must be clean, and
// returns how long mutants may take for them.
func (s *settings) baseline(ctx context.Context, module, folder string) (limits, error) {
	clean, err := build(ctx, module, folder, nil)
	if err != nil {
		return nil, err
	}
	var trials []Trial
	known := limits{}
	for _, m := range s.mutants {
		for _, t := range m.Trials {
			if known[t] == 0 {
				known[t], trials = 1, append(trials, t)
			}
		}
	}
	fmt.Fprintf(s.err, "the lock as it is: %d plans, %d seeds each\n", len(trials), s.seeds)
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.parallel)
	for _, t := range trials {
		g.Go(func() error {
			start := time.Now()
			found, _, err := clean.attempt(ctx, t, s.seeds, 10*time.Minute, func(string) bool { return true })
			if err != nil {
				return err
			}
			if found != nil {
				return fmt.Errorf("the lock as it is does not pass plan %s with seed %d: %s: %s", t, found.seed, found.check, found.why)
			}
			mu.Lock()
			defer mu.Unlock()
			// The machine may be busier later on.
			known[t] = 10*time.Since(start) + 30*time.Second
			return nil
		})
	}
	return known, g.Wait()
}

// tryAll tries all mutants, and prints each in its turn.
func (s *settings) tryAll(ctx context.Context, module, folder string, known limits) ([]outcome, error) {
	s.printHead()
	outcomes := make([]outcome, len(s.mutants))
	var mu sync.Mutex
	printed := 0
	tell := func(i int, o outcome) {
		mu.Lock()
		defer mu.Unlock()
		for outcomes[i] = o; printed < len(outcomes) && outcomes[printed].mutant != nil; printed++ {
			s.print(&outcomes[printed])
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.parallel)
	for i := range s.mutants {
		g.Go(func() error {
			own := filepath.Join(folder, strconv.Itoa(i))
			if err := os.Mkdir(own, 0o777); err != nil {
				return err
			}
			defer os.RemoveAll(own)
			o, err := s.try(ctx, module, own, &s.mutants[i], known)
			if err == nil {
				tell(i, o)
			}
			return err
		})
	}
	return outcomes, g.Wait()
}

// try tries one mutant.
func (s *settings) try(ctx context.Context, module, folder string, m *Mutant, known limits) (o outcome, err error) {
	start := time.Now()
	o.mutant = m
	p, err := build(ctx, module, folder, m)
	if err != nil {
		return o, err
	}
	for _, t := range m.Trials {
		o.trial = t
		found, other, err := p.attempt(ctx, t, s.seeds, known[t], m.may)
		if err != nil {
			return o, fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		if o.other == nil {
			o.other = other
		}
		if found != nil {
			o.found = found
			break
		}
	}
	o.reached, o.took = p.wasReached(), time.Since(start)
	return o, nil
}
