package redlocktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorumlock/redlock"
)

// The rules about requests that are not carried out: withdrawn, cut off by
// Close, sent into silence.

func withdrawnIsNotSent(s *subject) {
	for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpHeal, redlock.OpRelease} {
		key, mine := s.key(), newValue()
		if op == redlock.OpRelease {
			s.expect("acquire of a free key", s.acquire(key, mine, long), redlock.VoteYes)
		}
		w := s.prepare(command(op, key, mine, long), patience/2)
		w.request.Withdraw()
		w.send()
		s.expect("a withdrawn "+op.String(), w.wait(), redlock.VoteNotSent)

		// What is sent later with the same key is carried out later.
		if op == redlock.OpRelease {
			s.expect("release after a withdrawn one", s.release(key, mine), redlock.VoteYes)
		} else {
			s.expectFree(key)
		}
	}
}

// withdrawnOrSent sends and withdraws at the same time.
func withdrawnOrSent(s *subject) {
	for range 300 {
		w := s.prepare(command(redlock.OpAcquire, s.key(), newValue(), long), patience/2)
		withdrawn := make(chan bool, 1)
		go func() { withdrawn <- w.request.Withdraw() }()
		s.expectWithdrawn(w.send(), <-withdrawn)
	}
}

// expectWithdrawn fails the test unless an acquire of a free key was either
// withdrawn or carried out, and leaves the key free.
func (s *subject) expectWithdrawn(w *sent, withdrawn bool) {
	s.Helper()
	a := w.wait()
	key, mine := w.request.Key, w.request.Value
	if withdrawn {
		s.expect("a withdrawn acquire", a, redlock.VoteNotSent)
		s.expect("release after a withdrawn acquire", s.release(key, mine), redlock.VoteAbsent)
		return
	}
	s.expect("an acquire that could not be withdrawn", a, redlock.VoteYes)
	s.expect("release after it", s.release(key, mine), redlock.VoteYes)
}

// closeAnswers closes the node while requests are under way and more come.
func closeAnswers(s *subject) {
	all := make([]*sent, 400)
	for i := range all {
		all[i] = s.prepare(command(redlock.OpAcquire, s.key(), newValue(), time.Second), patience/2)
	}
	early, late := all[:200], all[200:]
	s.sendAtOnce(early)
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, w := range late {
			s.node.Send(w.request)
		}
	})
	s.returns("Close", func() { s.node.Close() })
	s.returns("Send", wg.Wait)
	for _, w := range all {
		s.expectClosed(w)
	}

	after := s.release(s.key(), newValue())
	s.expect("a request to a closed node", after, redlock.VoteNotSent)
	if !errors.Is(after.Err, redlock.ErrClosed) {
		s.Errorf("a request to a closed node: the error is %q, want ErrClosed", after.Err)
	}
	s.expectConnectFails()
}

// expectClosed fails the test unless an acquire of a free key was carried out or
// ended by Close.
func (s *subject) expectClosed(w *sent) {
	s.Helper()
	a := w.wait()
	ended := a.Vote == redlock.VoteUnknown || a.Vote == redlock.VoteNotSent
	if a.Vote != redlock.VoteYes && (!ended || !errors.Is(a.Err, redlock.ErrClosed)) {
		s.Fatalf("a request under way when the node was closed: %s, want yes or ErrClosed", show(a))
	}
}

func (s *subject) expectConnectFails() {
	s.Helper()
	var err error
	s.returns("Connect", func() { err = s.node.Connect(context.Background()) })
	if err == nil {
		s.Error("Connect to a closed node: nil, want an error")
	}
}

// hanger is implemented by nodes whose server can be made silent.
type hanger interface {
	Hang()
	Resume()
}

// hang makes the server silent until resume is called or the test ends.
func (s *subject) hang() (resume func()) {
	s.Helper()
	h, ok := s.node.(hanger)
	if !ok {
		s.Skip("the node has no methods Hang and Resume")
	}
	h.Hang()
	resume = sync.OnceFunc(h.Resume)
	s.Cleanup(resume)
	return resume
}

// sendSilent sends requests for free keys to a silent node.
func (s *subject) sendSilent(count int, timeout time.Duration) []*sent {
	s.Helper()
	all := make([]*sent, count)
	for i := range all {
		all[i] = s.prepare(command(redlock.OpAcquire, s.key(), newValue(), long), timeout)
	}
	for _, w := range all {
		w.send()
	}
	return all
}

// recovers waits until the node answers again.
func (s *subject) recovers() {
	s.Helper()
	start := time.Now()
	for {
		a := s.acquire(s.key(), newValue(), time.Second)
		if a.Vote == redlock.VoteYes {
			return
		}
		if time.Since(start) > patience {
			s.Fatalf("after the silence the node does not recover: %s", show(a))
		}
		time.Sleep(time.Millisecond)
	}
}

// silenceTimesOut allows a request twice its time-out, as the contract does: one
// until it begins, one from then on.
func silenceTimesOut(s *subject) {
	const timeout, slack = 100 * time.Millisecond, 2 * time.Second
	resume := s.hang()
	start := time.Now()
	all := s.sendSilent(20, timeout)
	votes := make([]redlock.Vote, len(all))
	for i, w := range all {
		a := w.wait()
		votes[i] = a.Vote
		if votes[i] != redlock.VoteUnknown && votes[i] != redlock.VoteNotSent || !errors.Is(a.Err, redlock.ErrNodeTimeout) {
			s.Fatalf("a request to a silent node: %s, want unknown or not sent, and ErrNodeTimeout", show(a))
		}
	}
	if took := time.Since(start); took > 2*timeout+slack {
		s.Errorf("answered after %v, with a time-out of %v", took, timeout)
	}

	resume()
	s.recovers()
	for i, w := range all {
		a := s.release(w.request.Key, w.request.Value)
		if votes[i] == redlock.VoteNotSent {
			s.expect("release after an acquire that was not sent", a, redlock.VoteAbsent)
		}
	}
}

func silenceWithdrawn(s *subject) {
	resume := s.hang()
	all := s.sendSilent(20, patience/2)
	withdrawn := make([]bool, len(all))
	for i, w := range all {
		withdrawn[i] = w.request.Withdraw()
	}
	resume()
	s.recovers()
	for i, w := range all {
		if withdrawn[i] {
			s.expectWithdrawn(w, true)
		} else {
			w.wait()
			s.release(w.request.Key, w.request.Value)
		}
	}
}

func silenceCloses(s *subject) {
	s.hang()
	all := s.sendSilent(20, patience)
	s.returns("Close", func() { s.node.Close() })
	for _, w := range all {
		s.expectClosed(w)
	}
}
