package redlocktest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorumlock/redlock"
)

// patience is how long Conform waits for what is due at once before it says that
// it does not come. Requests have a time-out of half of it.
var patience = 5 * time.Second

// long is a TTL that no subtest outlives.
const long = time.Minute

// A subject is the node under test in one subtest.
type subject struct {
	*testing.T
	node   redlock.Node
	prefix string // of the subtest's keys
	keys   int    // so many were made
}

func newSubject(t *testing.T, node redlock.Node) *subject {
	t.Helper()
	if node == nil {
		t.Fatal("open returned no node")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := node.Connect(ctx); err != nil {
		t.Fatalf("Connect: %v", err)
	}
	return &subject{T: t, node: node, prefix: "redlocktest:" + rand.Text() + ":"}
}

// key returns a key that nobody has used.
func (s *subject) key() string {
	s.keys++
	return fmt.Sprintf("%s%d", s.prefix, s.keys)
}

// newValue returns a value of the form that clients use, with a token that
// nobody has used.
func newValue() string {
	var token [20]byte
	rand.Read(token[:])
	return hex.EncodeToString(token[:]) + "/conform:1"
}

// command makes a command; one that takes no TTL gets none.
func command(op redlock.Op, key, value string, ttl time.Duration) *redlock.Command {
	if op == redlock.OpRelease {
		ttl = 0
	}
	return &redlock.Command{Op: op, Key: key, Value: value, TTL: ttl}
}

// A sent is a request given to the node.
type sent struct {
	s       *subject
	request *redlock.Request
	answers chan redlock.Answer
}

// prepare makes a request whose answer can be waited for.
func (s *subject) prepare(c *redlock.Command, timeout time.Duration) *sent {
	w := &sent{s: s, answers: make(chan redlock.Answer, 1)}
	w.request = redlock.NewRequest(c, timeout, func(a redlock.Answer) { w.answers <- a })
	return w
}

// send gives the request to the node, and fails the test if that blocks.
func (w *sent) send() *sent {
	w.s.Helper()
	w.s.returns("Send", func() { w.s.node.Send(w.request) })
	return w
}

// returns runs f, and fails the test if it does not return.
func (s *subject) returns(what string, f func()) {
	s.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		s.Fatalf("%s has not returned after %v", what, patience)
	}
}

// wait returns the answer, and fails the test if there is none or if it
// contradicts itself.
func (w *sent) wait() redlock.Answer {
	w.s.Helper()
	c := w.request.Command
	var a redlock.Answer
	select {
	case a = <-w.answers:
	case <-time.After(patience):
		w.s.Fatalf("%v: no answer after %v, with a time-out of %v", c.Op, patience, w.request.Timeout)
	}
	switch a.Vote {
	case redlock.VoteYes, redlock.VoteAbsent, redlock.VoteForeign:
		if a.Err != nil {
			w.s.Errorf("%v: %v comes with an error: %v", c.Op, a.Vote, a.Err)
		}
	case redlock.VoteError, redlock.VoteUnknown, redlock.VoteNotSent:
		if a.Err == nil {
			w.s.Errorf("%v: %v comes without an error", c.Op, a.Vote)
		}
	default:
		w.s.Errorf("%v: answered %v", c.Op, a.Vote)
	}
	if a.Value != "" && a.Vote != redlock.VoteForeign {
		w.s.Errorf("%v: %v comes with the value %q", c.Op, a.Vote, a.Value)
	}
	return a
}

// start sends a command without waiting for the answer.
func (s *subject) start(op redlock.Op, key, value string, ttl time.Duration) *sent {
	s.Helper()
	return s.prepare(command(op, key, value, ttl), patience/2).send()
}

func (s *subject) acquire(key, value string, ttl time.Duration) redlock.Answer {
	s.Helper()
	return s.start(redlock.OpAcquire, key, value, ttl).wait()
}

func (s *subject) extend(key, value string, ttl time.Duration) redlock.Answer {
	s.Helper()
	return s.start(redlock.OpExtend, key, value, ttl).wait()
}

func (s *subject) release(key, value string) redlock.Answer {
	s.Helper()
	return s.start(redlock.OpRelease, key, value, 0).wait()
}

// expect fails the test unless the vote is the one wanted.
func (s *subject) expect(what string, a redlock.Answer, want redlock.Vote) {
	s.Helper()
	if a.Vote != want {
		s.Fatalf("%s: got %s, want %v", what, show(a), want)
	}
}

// expectForeign fails the test unless the answer says that the key holds found.
// A node may report the beginning of a value, but all of its token.
func (s *subject) expectForeign(what string, a redlock.Answer, found string) {
	s.Helper()
	s.expect(what, a, redlock.VoteForeign)
	if !strings.HasPrefix(found, a.Value) || len(a.Value) < min(len(found), 40) {
		s.Fatalf("%s: reports the value %q, want %q", what, a.Value, found)
	}
}

// expectHolder fails the test unless the key holds value. To look, it asks for
// the release of a value that nobody has: that changes nothing.
func (s *subject) expectHolder(key, value string) {
	s.Helper()
	s.expectForeign("release with a value that nobody has", s.release(key, newValue()), value)
}

// expectFree fails the test unless there is no such key.
func (s *subject) expectFree(key string) {
	s.Helper()
	s.expect("release with a value that nobody has", s.release(key, newValue()), redlock.VoteAbsent)
}

// expectExpiry waits until the key is gone. It fails the test if that happens
// earlier than ttl after since, or not at all.
func (s *subject) expectExpiry(key string, since time.Time, ttl time.Duration) {
	s.Helper()
	for {
		a := s.release(key, newValue())
		after := time.Since(since)
		switch {
		case a.Vote == redlock.VoteAbsent && after < almost(ttl):
			s.Fatalf("a key set to expire after %v is gone after %v", ttl, after)
		case a.Vote == redlock.VoteAbsent:
			return
		case after > ttl+patience:
			s.Fatalf("a key set to expire after %v is there after %v: %s", ttl, after, show(a))
		}
		time.Sleep(time.Millisecond)
	}
}

// expectStays fails the test if the key does not hold value until d has passed
// and then.
func (s *subject) expectStays(key, value string, d time.Duration) {
	s.Helper()
	for start, last := time.Now(), false; !last; time.Sleep(time.Millisecond) {
		last = time.Since(start) >= d
		s.expectHolder(key, value)
	}
}

// almost leaves room for a node's clock that runs a little faster than ours.
func almost(ttl time.Duration) time.Duration { return ttl - ttl/100 }

// briefly runs a check of what happens while a key with a short TTL is there.
// The check returns false if the key may have expired before it was done; then
// it is run again with a longer TTL.
func (s *subject) briefly(check func(ttl time.Duration) (inTime bool)) {
	s.Helper()
	for ttl := 200 * time.Millisecond; ttl < patience; ttl *= 2 {
		if check(ttl) {
			return
		}
	}
	s.Fatal("the node or the machine is too slow to be tested")
}

// quote shows a key or a value, shortened.
func quote(s string) string {
	if len(s) > 60 {
		return fmt.Sprintf("%q...", s[:60])
	}
	return strconv.Quote(s)
}

func show(a redlock.Answer) string {
	s := a.Vote.String()
	if a.Value != "" {
		s += fmt.Sprintf(" (%q)", a.Value)
	}
	if a.Err != nil {
		s += ": " + a.Err.Error()
	}
	return s
}
