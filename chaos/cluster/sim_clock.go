package cluster

import (
	"time"

	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/clock"
)

// bubble is the clock of a bubble. clock.System, which would do, asks the kernel
// each time whether the machine was suspended.
type bubble struct{}

var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (bubble) Now() time.Duration { return time.Since(bubbleStart) }

func (bubble) AfterFunc(d time.Duration, f func()) clock.Timer { return time.AfterFunc(d, f) }

// A simClock is a client's clock. Its timers are late by some microseconds, by
// when and for how long they were set: two timers of a client for one instant would
// run in any order. (Not by how many were set before: that order is any, too.)
type simClock struct {
	clock.Clock
	dice plan.Dice
}

func (c simClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return simTimer{c.Clock.AfterFunc(c.later(d), f), c}
}

func (c simClock) later(d time.Duration) time.Duration {
	return d + c.dice.For(uint64(c.Now()), uint64(d)).In(moments)
}

// moments are what keeps apart what would happen at one instant.
var moments = plan.Span{Min: 1, Max: 10 * time.Microsecond}

type simTimer struct {
	clock.Timer
	clock simClock
}

func (t simTimer) Reset(d time.Duration) bool { return t.Timer.Reset(t.clock.later(d)) }
