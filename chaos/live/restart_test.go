package live_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
)

// Out of model: A2 says that a master which restarts without its keys stays away
// for the longest TTL. As long as it does nobody else gets in; when it does not
// there are two holders, and the first learns of it as soon as it asks.
func TestB49AMasterThatForgotAndCameBackTooSoonMakesTwoHolders(t *testing.T) {
	onEachLayerAtOnce(t, func(t *testing.T, l layer) {
		for learns, ask := range map[string]func(lock *redlock.Lock) error{
			"Extend": func(lock *redlock.Lock) error { return lock.Extend(context.Background(), time.Minute) },
			"keep-alive": func(lock *redlock.Lock) error {
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 50 * time.Millisecond}))
				within(t, 100*time.Millisecond, "to learn of the loss", func() { <-lock.Done() })
				return lock.Err()
			},
		} {
			masters := l.start(t, 5)
			forgetful, spare := masters[2], masters[3:]
			for _, m := range spare {
				m.Down()
			}
			a, b := newClient(t, options(masters), patient()), newClient(t, options(masters), patient())
			reach(t, a, "", masters[:3]...)
			first := acquire(t, a, "job", time.Minute)
			eventually(t, bound, "three masters hold it", func() bool { return holders(masters[:3], first) == 3 })
			forgetful.Down()
			for _, m := range spare {
				m.Up()
			}

			reach(t, b, "", masters[0], masters[1], masters[3], masters[4])
			_, err := b.TryAcquire(context.Background(), "job", time.Minute)
			require.ErrorIs(t, err, redlock.ErrHeld, "it stays away")

			forgetful.Up()
			forget(forgetful)
			reach(t, a, "", masters...)
			reach(t, b, "", masters...)
			second := acquire(t, b, "job", time.Minute)
			for _, lock := range []*redlock.Lock{first, second} {
				require.NoError(t, lock.Err(), "both believe that they hold it")
				require.Positive(t, lock.Remaining())
			}

			require.ErrorIs(t, ask(first), redlock.ErrLost, learns)
			<-first.Done()
			require.ErrorIs(t, first.Extend(context.Background(), time.Minute), first.Err(), "it stays lost")
			require.NoError(t, second.Extend(context.Background(), time.Minute))
			_ = first.Release(context.Background())
			require.Equal(t, 3, holders(masters[2:], second), "what the first does, touches nothing of the second")
			require.NoError(t, second.Release(context.Background()))
			eventuallyClean(t, masters, bound)
		}
	})
}
