package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock"
)

// The job takes longer than the lock's TTL, so it lives on extensions.
const (
	ttl   = 2 * time.Second
	steps = 8
	step  = 400 * time.Millisecond
)

// A server is one of several that have the same timer for the same job.
type server struct {
	name     string
	client   *redlock.Client
	ledger   *ledger
	story    *story
	extended atomic.Int32
}

func newServer(name string, f *fleet, l *ledger, st *story) (*server, error) {
	s := &server{name: name, ledger: l, story: st}
	client, err := f.connect(&redlock.Options{
		Owner: name,
		Trace: &redlock.Trace{
			Extended: func(_ context.Context, _ string, _ time.Duration, err error) {
				if err == nil {
					s.extended.Add(1)
				}
			},
		},
	})
	s.client = client
	return s, err
}

// settle is what the timer starts: the job under its lock, or not at all.
func (s *server) settle(ctx context.Context, job string, progress chan<- int) {
	err := s.client.TryDo(ctx, job, ttl, func(ctx context.Context, lock *redlock.Lock) error {
		s.say("has the lock, valid for %v", short(lock.Remaining()))
		return s.work(ctx, lock, job, progress)
	})
	var q *redlock.QuorumError
	switch {
	case err == nil:
		s.say("has released the lock")
	case errors.Is(err, redlock.ErrHeld) && errors.As(err, &q):
		s.say("skips: held by %s", q.Holder())
	default:
		s.say("failed: %v", err)
	}
}

// work does the job unless it is done. ctx ends when the lock is lost.
func (s *server) work(ctx context.Context, lock *redlock.Lock, job string, progress chan<- int) error {
	if by := s.ledger.done(job); by != "" {
		s.say("finds it recorded as done by %s, and does nothing", by)
		return nil
	}
	end := s.ledger.begin(job)
	by := "" // nobody, until it is finished
	defer func() { end(by) }()

	for i := 1; i <= steps; i++ {
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := lock.Err(); err != nil { // reads the clock; ctx may be late
			return err
		}
		s.say("step %d of %d, extensions so far: %d, valid for %v", i, steps, s.extended.Load(), short(lock.Remaining()))
		progress <- i
	}
	s.say("records %s as done", job)
	by = s.name
	return nil
}

func (s *server) say(format string, args ...any) {
	s.story.line(s.name, fmt.Sprintf(format, args...))
}

// short rounds a duration for people.
func short(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
