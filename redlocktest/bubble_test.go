package redlocktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

const (
	timeout = 50 * time.Millisecond // of every request here
	ttl     = 10 * time.Second
)

// An asked is a request sent to a node, and when it was.
type asked struct {
	*redlock.Request
	start   time.Time
	answers chan told
}

// A told is an answer, and how long it took.
type told struct {
	redlock.Answer
	after time.Duration
}

func ask(n redlock.Node, op redlock.Op, key, value string) *asked {
	c := &redlock.Command{Op: op, Key: key, Value: value}
	if op != redlock.OpRelease {
		c.TTL = ttl
	}
	a := &asked{start: time.Now(), answers: make(chan told, 2)}
	a.Request = redlock.NewRequest(c, timeout, func(answer redlock.Answer) {
		a.answers <- told{answer, time.Since(a.start)}
	})
	n.Send(a.Request)
	return a
}

func (a *asked) vote(t *testing.T, want redlock.Vote, after time.Duration) told {
	t.Helper()
	got := <-a.answers
	assert.Equal(t, want, got.Vote, "%v: %v", a.Op, got.Err)
	assert.Equal(t, after, got.after, "%v: time of the answer", a.Op)
	return got
}

func (a *asked) timesOut(t *testing.T) {
	t.Helper()
	assert.ErrorIs(t, a.vote(t, redlock.VoteUnknown, timeout).Err, redlock.ErrNodeTimeout)
}

func get(t *testing.T, n *redlocktest.Node, key string) string {
	t.Helper()
	value, _, _ := n.Get(key)
	return value
}

// bubble runs a test of a node in a synctest bubble, which also fails if the
// node leaves a goroutine behind.
func bubble(t *testing.T, test func(t *testing.T, n *redlocktest.Node)) {
	synctest.Test(t, func(t *testing.T) {
		n := redlocktest.NewNode("node-1", nil)
		defer n.Close()
		test(t, n)
	})
}
