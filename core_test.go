package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

var ctx = context.Background()

func open(t *testing.T, nodes []*redlocktest.Node, opts *redlock.Options) *redlock.Client {
	t.Helper()
	return redlocktest.NewClient(t, nodes, opts)
}

func TestSplits(t *testing.T) {
	for _, contenders := range []int{2, 3, 5, 10} {
		for _, down := range []int{0, 1} {
			t.Run(fmt.Sprint(contenders, down), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					nodes := redlocktest.Nodes(5)
					var clients []*redlock.Client
					for i := range contenders {
						var own []redlock.Node
						for j, n := range nodes {
							own = append(own, delayed(n, time.Duration((i*7+j*13)%11+1)*37*time.Microsecond+time.Duration(i*5+j)))
						}
						c, err := redlock.NewFrom(own, &redlock.Options{Owner: fmt.Sprint("c", i)})
						require.NoError(t, err)
						defer c.Close()
						clients = append(clients, c)
					}
					if down > 0 {
						nodes[4].Down()
					}
					for round := range 1000 {
						name := fmt.Sprint("r", round)
						locks := make([]*redlock.Lock, contenders)
						errs := make([]error, contenders)
						var wg sync.WaitGroup
						for i, c := range clients {
							wg.Go(func() { locks[i], errs[i] = c.TryAcquire(ctx, name, 10*time.Second) })
						}
						wg.Wait()
						winner := -1
						for i, l := range locks {
							if l != nil {
								require.Equal(t, -1, winner)
								winner = i
							}
						}
						require.NotEqual(t, -1, winner, "round %d: %v", round, errs)
						for i, err := range errs {
							if i != winner {
								require.ErrorIs(t, err, redlock.ErrHeld)
								var q *redlock.QuorumError
								require.True(t, errors.As(err, &q))
								require.Equal(t, fmt.Sprint("c", winner), q.Holder(), "%v %v", err, locks)
							}
						}
					}
				})
			})
		}
	}
}

type delayedNode struct {
	redlock.Node
	d time.Duration
}

func delayed(n redlock.Node, d time.Duration) redlock.Node { return delayedNode{n, d} }

func (d delayedNode) Close() error { return nil }

func (d delayedNode) Send(r *redlock.Request) {
	time.AfterFunc(d.d, func() { d.Node.Send(r) })
}
