package redlocktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/quorumlock/redlock"
)

// The rules about requests: order, answers, withdrawing, closing.

func nameIsStable(s *subject) {
	name := s.node.String()
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		s.Errorf("the name is %q, want one printable line", name)
	}
	if user, _, ok := strings.Cut(name, "@"); ok && strings.Contains(user, ":") {
		s.Errorf("the name has a part like user:password before an @: %q", name)
	}
	key, mine := s.key(), newValue()
	s.acquire(key, mine, long)
	s.release(key, mine)
	s.returns("Close", func() { s.node.Close() })
	if again := s.node.String(); again != name {
		s.Errorf("the name was %q and is %q", name, again)
	}
}

func connectReturns(s *subject) {
	connect := func(ctx context.Context) (err error) {
		s.returns("Connect", func() { err = s.node.Connect(ctx) })
		return err
	}
	if err := connect(s.Context()); err != nil {
		s.Errorf("Connect to a node that is ready: %v", err)
	}
	ended, cancel := context.WithCancel(s.Context())
	cancel()
	if err := connect(ended); err != nil && !errors.Is(err, context.Canceled) {
		s.Errorf("Connect with an ended context: %v, want nil or the context's error", err)
	}
	s.expect("acquire afterwards", s.acquire(s.key(), newValue(), time.Second), redlock.VoteYes)
}

func requestsInOrder(s *subject) {
	for range 20 {
		key, mine, theirs := s.key(), newValue(), newValue()
		steps := []struct {
			op    redlock.Op
			value string
			want  redlock.Vote
		}{
			{redlock.OpRelease, mine, redlock.VoteAbsent},
			{redlock.OpAcquire, mine, redlock.VoteYes},
			{redlock.OpExtend, mine, redlock.VoteYes},
			{redlock.OpAcquire, theirs, redlock.VoteForeign},
			{redlock.OpRelease, mine, redlock.VoteYes},
			{redlock.OpExtend, mine, redlock.VoteAbsent},
			{redlock.OpHeal, theirs, redlock.VoteYes},
			{redlock.OpRelease, mine, redlock.VoteForeign},
			{redlock.OpExtend, theirs, redlock.VoteYes},
			{redlock.OpRelease, theirs, redlock.VoteYes},
			{redlock.OpRelease, theirs, redlock.VoteAbsent},
		}
		var requests []*sent
		for _, step := range steps {
			requests = append(requests, s.start(step.op, key, step.value, long))
		}
		for i, step := range steps {
			s.expect(fmt.Sprintf("request %d, %v", i+1, step.op), requests[i].wait(), step.want)
		}
	}
}

// manyAnswered sends 2,000 requests at once to acquire one of 20 keys each, and
// then 2,000 to release it: each is answered, and a key is won and released once.
func manyAnswered(s *subject) {
	const keys, each = 20, 100
	all := make([]*sent, 0, keys*each)
	for k := range keys {
		key := s.key()
		for range each {
			all = append(all, s.prepare(command(redlock.OpAcquire, key, newValue(), long), patience))
		}
		s.expectFree(all[k*each].request.Key)
	}
	s.sendAtOnce(all)
	s.expectOneYes(all, each)

	releases := make([]*sent, len(all))
	for i, w := range all {
		c := w.request.Command
		releases[i] = s.prepare(command(redlock.OpRelease, c.Key, c.Value, 0), patience)
	}
	s.sendAtOnce(releases)
	s.expectOneYes(releases, each)
}

// sendAtOnce sends from 50 goroutines.
func (s *subject) sendAtOnce(all []*sent) {
	s.Helper()
	const senders = 50
	s.returns("Send", func() {
		var wg sync.WaitGroup
		for first := range senders {
			wg.Go(func() {
				for i := first; i < len(all); i += senders {
					s.node.Send(all[i].request)
				}
			})
		}
		wg.Wait()
	})
}

// expectOneYes waits for the answers and fails the test unless exactly one of
// each group, which has one key, is a yes. A node that has no room for them all
// may refuse some, but no release.
func (s *subject) expectOneYes(all []*sent, group int) {
	s.Helper()
	for ; len(all) > 0; all = all[group:] {
		yes, op := 0, all[0].request.Op
		for _, w := range all[:group] {
			switch a := w.wait(); {
			case a.Vote == redlock.VoteYes:
				yes++
			case a.Vote == redlock.VoteForeign, a.Vote == redlock.VoteAbsent && op == redlock.OpRelease:
			case a.Vote == redlock.VoteNotSent && op != redlock.OpRelease:
			default:
				s.Fatalf("%v: %s", op, show(a))
			}
		}
		if yes != 1 {
			s.Fatalf("%v of one key, each with another value: %d said yes, want 1", op, yes)
		}
	}
}

// answersReenter sends each request from within the answer to the one before.
func answersReenter(s *subject) {
	const rounds = 100
	key, mine := s.key(), newValue()
	acquire := command(redlock.OpAcquire, key, mine, long)
	release := command(redlock.OpRelease, key, mine, 0)
	var failed redlock.Answer
	done := make(chan struct{})
	var next func(left int, c, after *redlock.Command)
	next = func(left int, c, after *redlock.Command) {
		s.node.Send(redlock.NewRequest(c, patience/2, func(a redlock.Answer) {
			if a.Vote != redlock.VoteYes || left == 0 {
				failed = a
				close(done)
				return
			}
			next(left-1, after, c)
		}))
	}
	s.returns("a Send within an answer", func() {
		next(2*rounds-1, acquire, release)
		<-done
	})
	s.expect("the last request", failed, redlock.VoteYes)
	s.expectFree(key)
}

// commandUnchanged sends one command several times at once, as a client does to
// several nodes.
func commandUnchanged(s *subject) {
	key, mine := s.key(), newValue()
	for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpExtend, redlock.OpHeal, redlock.OpRelease, 200} {
		c := command(op, key, mine, long)
		ttl := c.TTL
		several := []*sent{s.prepare(c, patience/2), s.prepare(c, patience/2), s.prepare(c, patience/2)}
		for _, w := range several {
			w.send()
		}
		for _, w := range several {
			w.wait()
		}
		if c.Op != op || c.Key != key || c.Value != mine || c.TTL != ttl {
			s.Errorf("the command was %v %q %q %v and is %v %q %q %v", op, key, mine, ttl, c.Op, c.Key, c.Value, c.TTL)
		}
	}
}
