package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
)

// clocked returns a recorder whose clock says what *now is.
func clocked() (r *history.Recorder, now *time.Duration) {
	now = new(time.Duration)
	return history.NewRecorder(func() time.Duration { return *now }), now
}

func TestWhatOtherProcessesSawComesWhereItBelongs(t *testing.T) {
	r, now := clocked()
	for at, kind := range []history.Kind{history.Begin, history.Fault, history.Heal} {
		*now = time.Duration(10 * at)
		r.Add(history.Event{Kind: kind})
	}
	r.Put(history.Event{Kind: history.Holds, At: 10}) // after what was recorded first
	r.Put(history.Event{Kind: history.Release, At: 15})
	var kinds []history.Kind
	for _, e := range r.Events() {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []history.Kind{history.Begin, history.Fault, history.Holds, history.Release, history.Heal}, kinds)
	require.Equal(t, 1, r.Counts()[history.Holds])
}

func TestPartThatIsCutOutIsARunOfItsOwn(t *testing.T) {
	r, now := clocked()
	*now = 100
	r.Add(history.Event{Kind: history.Holds, Until: 250})
	r.Add(history.Event{Kind: history.Write, Until: 90, Looked: 100})
	r.Put(history.Event{Kind: history.Lost, At: 60}) // of the part before: told late
	require.Equal(t, []history.Event{
		{Kind: history.Holds, At: 20, Until: 170},
		{Kind: history.Write, At: 20, Until: 10, Looked: 20},
	}, r.Cut(80))
	require.Empty(t, r.Events(), "what was cut out is forgotten")

	r.Add(history.Event{Kind: history.Found}) // a key without TTL stays one
	require.Equal(t, []history.Event{{Kind: history.Found}}, r.Cut(100))
	require.Equal(t, 1, r.Counts()[history.Holds], "counts go on")
}
