package contender_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
)

func TestClientsAcquireAndLeaveNothing(t *testing.T) {
	for _, c := range []contender.Contender{contender.Redlock("redlock", 5*time.Second), contender.Raw()} {
		t.Run(c.Name, func(t *testing.T) {
			f, err := fleet.Start(t.Context(), fleet.Embedded, 3)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, f.Close()) })
			client, err := c.Open(t.Context(), f.Addrs())
			require.NoError(t, err)
			l, err := client.Acquire(t.Context(), "name", time.Minute)
			require.NoError(t, err)
			keys := func(want int) {
				require.Eventually(t, func() bool {
					keys, err := f.Keys()
					return err == nil && keys == want
				}, 5*time.Second, time.Millisecond)
			}
			keys(3)
			require.NoError(t, l.Release(t.Context()))
			keys(0)
			assert.NoError(t, client.Close())
		})
	}
}

func TestRedlockWaitsForAHolder(t *testing.T) {
	f, err := fleet.Start(t.Context(), fleet.Embedded, 3)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	client, err := contender.Redlock("redlock", 5*time.Second).Open(t.Context(), f.Addrs())
	require.NoError(t, err)
	defer client.Close()
	held, err := client.Acquire(t.Context(), "name", time.Minute)
	require.NoError(t, err)
	got := make(chan error, 1)
	go func() {
		l, err := client.(contender.Waiter).Wait(context.Background(), "name", time.Minute)
		if err == nil {
			err = l.Release(context.Background())
		}
		got <- err
	}()
	require.NoError(t, held.Release(t.Context()))
	assert.NoError(t, <-got)
}
