package tests

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// The tests in the case_*_test.go files are reports from the field about lock
// libraries in many languages, retold for this one. Each is named after its
// number and covers the kind of failure, not the one example.

const (
	caseKey     = "settle:2026-06-30"
	caseTimeout = 50 * time.Millisecond // the default NodeTimeout
)

// caseDrift is what DefaultDrift takes off a TTL.
func caseDrift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// A fieldCase is a client over nodes in memory, in a bubble of fake time: times
// are exact, and no goroutine may be left behind.
type fieldCase struct {
	t      *testing.T
	nodes  []*redlocktest.Node
	client *redlock.Client
}

func inFieldCase(t *testing.T, count int, opts *redlock.Options, test func(t *testing.T, c *fieldCase)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(count)
		test(t, &fieldCase{t, nodes, redlocktest.NewClient(t, nodes, opts)})
	})
}

// contender returns a further client of the same nodes.
func (c *fieldCase) contender(owner string) *redlock.Client {
	c.t.Helper()
	return redlocktest.NewClient(c.t, c.nodes, &redlock.Options{Owner: owner})
}

// held returns a lock of the client.
func (c *fieldCase) held(ttl time.Duration) *redlock.Lock {
	c.t.Helper()
	return caseLock(c.t, c.client, ttl)
}

// caseLock acquires what nobody may hold.
func caseLock(t *testing.T, client *redlock.Client, ttl time.Duration) *redlock.Lock {
	t.Helper()
	lock, err := client.TryAcquire(t.Context(), caseKey, ttl)
	require.NoError(t, err)
	require.NotNil(t, lock)
	return lock
}

// occupy puts somebody else's key on nodes.
func occupy(owner string, ttl time.Duration, nodes ...*redlocktest.Node) (value string) {
	value = strings.Repeat("0123456789abcdef", 3)[:40] + "/" + owner
	for _, n := range nodes {
		n.Set(caseKey, value, ttl)
	}
	return value
}

func (c *fieldCase) each(do func(n *redlocktest.Node)) {
	for _, n := range c.nodes {
		do(n)
	}
}

// sent returns how many commands with this operation arrived at all nodes.
func (c *fieldCase) sent(op redlock.Op) (count int) {
	c.each(func(n *redlocktest.Node) { count += n.Count(op) })
	return count
}

// commands returns how many commands arrived at all nodes.
func (c *fieldCase) commands() (count int) {
	c.each(func(n *redlocktest.Node) { count += len(n.Commands()) })
	return count
}

// holding returns how many nodes hold the lock's key.
func (c *fieldCase) holding(lock *redlock.Lock) (count int) {
	c.each(func(n *redlocktest.Node) {
		if value, _, _ := n.Get(lock.Name()); strings.HasPrefix(value, lock.Token()) {
			count++
		}
	})
	return count
}

// clean fails unless within some time no node has a key.
func (c *fieldCase) clean(within time.Duration) {
	c.t.Helper()
	const step = time.Millisecond
	for waited := time.Duration(0); ; waited += step {
		synctest.Wait()
		keys := 0
		c.each(func(n *redlocktest.Node) { keys += n.Len() })
		if keys == 0 {
			return
		}
		if waited >= within {
			require.Failf(c.t, "not clean", "%d keys are left after %v", keys, within)
		}
		time.Sleep(step)
	}
}

// caseTakes runs do and returns how long it took, in the bubble's time.
func caseTakes(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

var caseClasses = []error{
	redlock.ErrHeld, redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrReleased, redlock.ErrInvalid, redlock.ErrClosed,
}

// requireClass fails unless err is of the class and of no other.
func requireClass(t *testing.T, class, err error) {
	t.Helper()
	require.Error(t, err)
	for _, other := range caseClasses {
		require.Equal(t, errors.Is(class, other), errors.Is(err, other), "is it %q?\n%v", other, err)
	}
	if errors.Is(class, redlock.ErrHeld) || errors.Is(class, redlock.ErrNoQuorum) {
		var q *redlock.QuorumError
		require.ErrorAs(t, err, &q, "it tells about the nodes")
	}
}

// requireQuorumError fails unless err is of the class and tells about the nodes.
func requireQuorumError(t *testing.T, class, err error) *redlock.QuorumError {
	t.Helper()
	requireClass(t, class, err)
	var q *redlock.QuorumError
	require.ErrorAs(t, err, &q)
	return q
}

// timedOut returns how many nodes did not answer in time. One whose time-out was
// not needed for the decision may not be among them.
func timedOut(q *redlock.QuorumError) (count int) {
	for _, n := range q.Nodes {
		if errors.Is(n.Err, redlock.ErrNodeTimeout) {
			count++
		}
	}
	return count
}

// A caseTrace notes what a client tells. Its zero value is ready.
type caseTrace struct {
	mu       sync.Mutex
	attempts []error
	waits    map[any][]time.Duration // by the value of caseWaiter in the context
	tries    map[any]int             // likewise
	extended []error
	lost     []error
}

type caseWaiter struct{}

func (c *caseTrace) hooks() *redlock.Trace {
	c.waits, c.tries = map[any][]time.Duration{}, map[any]int{}
	return &redlock.Trace{
		Attempt: func(ctx context.Context, _ string, _ int, _ time.Duration, err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.attempts = append(c.attempts, err)
			c.tries[ctx.Value(caseWaiter{})]++
		},
		Wait: func(ctx context.Context, _ string, d time.Duration) {
			c.mu.Lock()
			defer c.mu.Unlock()
			who := ctx.Value(caseWaiter{})
			c.waits[who] = append(c.waits[who], d)
		},
		Extended: func(_ context.Context, _ string, _ time.Duration, err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.extended = append(c.extended, err)
		},
		Lost: func(_ string, err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lost = append(c.lost, err)
		},
	}
}

// failedExtensions returns how many extensions failed.
func (c *caseTrace) failedExtensions() (count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.extended {
		if err != nil {
			count++
		}
	}
	return count
}

// assertDone fails unless the channel is closed, or open.
func assertDone(t *testing.T, want bool, done <-chan struct{}) {
	t.Helper()
	synctest.Wait()
	select {
	case <-done:
		assert.True(t, want, "closed")
	default:
		assert.False(t, want, "not closed")
	}
}
