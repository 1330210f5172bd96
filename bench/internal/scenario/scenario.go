// Package scenario holds what the benchmark does, one question a file.
package scenario

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// A Scenario answers one question.
type Scenario struct {
	Name  string // for -only
	Title string
	About string // what is done and how to read it
	Run   func(ctx context.Context, e *Env) error
}

// Env is what a scenario runs in.
type Env struct {
	Kind   fleet.Kind
	Quick  bool // a few seconds, to see that all works
	Rounds int  // how often what takes time is measured

	progress io.Writer
	began    time.Time
	name     string
	sections []report.Section
}

// NewEnv returns an Env that tells progress what is going on.
func NewEnv(kind fleet.Kind, quick bool, rounds int, progress io.Writer) *Env {
	return &Env{Kind: kind, Quick: quick, Rounds: rounds, progress: progress, began: time.Now()}
}

// Run runs a scenario and returns what it measured.
func (e *Env) Run(ctx context.Context, s Scenario) ([]report.Section, error) {
	e.name, e.sections = s.Name, nil
	e.section(s.Name, s.Title, s.About)
	if err := s.Run(ctx, e); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return e.sections, nil
}

// section begins a section. What is added from now on is in it.
func (e *Env) section(name, title, about string) {
	e.sections = append(e.sections, report.Section{Name: name, Title: title, About: about})
}

// Say tells what is being measured.
func (e *Env) Say(format string, args ...any) {
	fmt.Fprintf(e.progress, "%6.1fs  %-12s %s\n", time.Since(e.began).Seconds(), e.name, fmt.Sprintf(format, args...))
}

// Add adds samples to the section.
func (e *Env) Add(samples ...report.Sample) {
	now := &e.sections[len(e.sections)-1]
	now.Samples = append(now.Samples, samples...)
}

// or returns quick if the run is quick, else full.
func or[T any](e *Env, full, quick T) T {
	if e.Quick {
		return quick
	}
	return full
}

// until polls done until it reports true or an error, at most for limit; it
// reports whether it did in time. It is for what servers tell only if asked.
func until(ctx context.Context, limit time.Duration, done func() (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(2 * time.Millisecond):
		}
	}
}
