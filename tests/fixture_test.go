package tests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

var ctx = context.Background()

// quorumError returns what err says node by node.
func quorumError(t *testing.T, err error) *redlock.QuorumError {
	t.Helper()
	var q *redlock.QuorumError
	require.True(t, errors.As(err, &q), "%v is no QuorumError", err)
	return q
}

// far is a node behind a network that takes its time: a request arrives after
// the delay, and can be withdrawn until then.
type far struct {
	redlock.Node
	delay time.Duration
}

func (f far) Send(r *redlock.Request) {
	time.AfterFunc(f.delay, func() { f.Node.Send(r) })
}

// keys returns how many keys the nodes hold in all.
func keys(nodes []*redlocktest.Node) int {
	n := 0
	for _, node := range nodes {
		n += node.Len()
	}
	return n
}
