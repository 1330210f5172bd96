package redlocktest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestANewClientLocksAndReleases(t *testing.T) {
	client := redlocktest.New(t, 3)
	lock, err := client.TryAcquire(t.Context(), "job", time.Minute)
	require.NoError(t, err)
	_, err = client.TryAcquire(t.Context(), "job", time.Minute)
	assert.ErrorIs(t, err, redlock.ErrHeld)
	require.NoError(t, lock.Release(t.Context()))
	lock, err = client.TryAcquire(t.Context(), "job", time.Minute)
	require.NoError(t, err)
	require.NoError(t, lock.Release(t.Context()))
}

func TestClientsOfTheSameNodesContend(t *testing.T) {
	nodes := redlocktest.Nodes(3)
	one := redlocktest.NewClient(t, nodes, &redlock.Options{Owner: "one"})
	two := redlocktest.NewClient(t, nodes, &redlock.Options{Owner: "two"})
	lock, err := one.TryAcquire(t.Context(), "job", time.Minute)
	require.NoError(t, err)

	_, err = two.TryAcquire(t.Context(), "job", time.Minute)
	var quorumErr *redlock.QuorumError
	require.ErrorAs(t, err, &quorumErr)
	assert.ErrorIs(t, err, redlock.ErrHeld)
	assert.Equal(t, "one", quorumErr.Holder())

	require.NoError(t, lock.Release(t.Context()))
	require.NoError(t, one.Close(), "closes its own connections only")
	lock, err = two.TryAcquire(t.Context(), "job", time.Minute)
	require.NoError(t, err)
	require.NoError(t, lock.Release(t.Context()))
	for _, n := range nodes {
		assert.Equal(t, 0, n.Len())
	}
}

func TestAHeldClientFindsEveryLockHeld(t *testing.T) {
	client := redlocktest.NewHeld(t, 3, "worker-7")
	for _, name := range []string{"job", "another"} {
		_, err := client.TryAcquire(t.Context(), name, time.Minute)
		var quorumErr *redlock.QuorumError
		require.ErrorAs(t, err, &quorumErr)
		assert.ErrorIs(t, err, redlock.ErrHeld)
		assert.Equal(t, "worker-7", quorumErr.Holder())
	}
}

func TestAHeldNodeAnswersForeignToEverything(t *testing.T) {
	n, same := redlocktest.Held("worker-7"), redlocktest.Held("worker-7")
	defer n.Close()
	defer same.Close()
	assert.NotEqual(t, n.String(), same.String(), "the nodes of a client have different names")
	for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpExtend, redlock.OpHeal, redlock.OpRelease} {
		got, again := <-ask(n, op, "k", "a").answers, <-ask(same, op, "k", "b").answers
		assert.Equal(t, redlock.VoteForeign, got.Vote)
		assert.Regexp(t, "^[0-9a-f]{40}/worker-7$", got.Value)
		assert.Equal(t, got.Value, again.Value, "one holder has one token")
	}
	assert.ErrorIs(t, (<-ask(n, 99, "k", "a").answers).Err, redlock.ErrUnsupported)
}

// An outage of an hour, in no time.
func TestAClientInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		client := redlocktest.NewClient(t, nodes, nil)
		nodes[0].Down()
		nodes[1].Hang()
		_, err := client.TryAcquire(t.Context(), "job", time.Minute)
		assert.ErrorIs(t, err, redlock.ErrNoQuorum)
		time.Sleep(time.Hour)
		nodes[0].Up()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		lock, err := client.Acquire(ctx, "job", time.Minute)
		require.NoError(t, err)
		require.NoError(t, lock.Release(ctx))
	})
}
