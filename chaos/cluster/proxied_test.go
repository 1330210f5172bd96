package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A wound is a server whose clock obeys, or does not, and whose offset is never
// measured twice alike.
type wound struct {
	server
	obeys bool

	at    time.Duration
	looks time.Duration
	pace  float64
	since time.Time
}

func (w *wound) jump(by time.Duration) error {
	if w.obeys {
		w.at += by
	}
	return nil
}

func (w *wound) rate(r float64) error {
	if w.obeys {
		w.at, w.pace, w.since = w.at+w.strayed(), r, time.Now()
	}
	return nil
}

func (w *wound) strayed() time.Duration {
	if w.pace == 0 {
		return 0
	}
	return time.Duration((w.pace - 1) * float64(time.Since(w.since)))
}

func (w *wound) offset() (time.Duration, error) {
	w.looks += 20 * time.Microsecond
	return w.at + w.strayed() + w.looks, nil
}

func TestAClockIsSeenToMoveOnlyIfItMoved(t *testing.T) {
	for _, s := range []plan.Step{
		{Fault: plan.ClockJump, By: 2 * time.Second},
		{Fault: plan.ClockJump, By: -time.Second},
		{Fault: plan.ClockRate, Rate: 1.02},
		{Fault: plan.ClockRate, Rate: 0.5},
	} {
		for _, obeys := range []bool{true, false} {
			start := time.Now()
			log := history.NewRecorder(func() time.Duration { return time.Since(start) })
			c := &proxied{Setup: Setup{Plan: &plan.Plan{Nodes: 1}, Log: log}, servers: []server{&wound{obeys: obeys}}}
			end, err := c.turn(&s, 1)
			require.NoError(t, err)
			time.Sleep(20 * time.Millisecond)
			end()
			want := 0
			if obeys {
				want = 1
			}
			require.Equal(t, want, log.Counts()[history.Seen], "%+v, obeys: %v", s, obeys)
			require.GreaterOrEqual(t, log.Counts()[history.Offset], 2)
		}
	}
}
