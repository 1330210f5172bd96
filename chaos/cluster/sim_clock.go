package cluster

import (
	"sync"
	"time"

	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/clock"
)

// simTime is the bubble's time. clock.System, which would do, asks the kernel
// each time whether the machine was suspended.
type simTime struct{}

var simStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of every bubble

func (simTime) Now() time.Duration { return time.Since(simStart) }

func (simTime) AfterFunc(d time.Duration, f func()) clock.Timer { return time.AfterFunc(d, f) }

// A simClock is a client's clock. Its timers are late by some microseconds, each
// by another part of one: two timers of a client for one instant would run in
// any order.
type simClock struct {
	clock.Clock
	dice plan.Dice

	mu   sync.Mutex
	now  time.Duration         // of the timers in made; guarded by mu
	made map[time.Duration]int // how many were made at that time, by duration; guarded by mu
}

func newSimClock(c clock.Clock, dice plan.Dice) *simClock {
	return &simClock{Clock: c, dice: dice, made: map[time.Duration]int{}}
}

func (c *simClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return simTimer{c.Clock.AfterFunc(c.later(d), f), c}
}

func (c *simClock) later(d time.Duration) time.Duration {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now != c.now {
		c.now = now
		clear(c.made)
	}
	c.made[d]++
	return d + c.dice.For(uint64(now), uint64(d), uint64(c.made[d])).In(moments)
}

// moments are what keeps apart what would happen at one instant.
var moments = plan.Span{Min: 1, Max: 10 * time.Microsecond}

type simTimer struct {
	clock.Timer
	clock *simClock
}

func (t simTimer) Reset(d time.Duration) bool { return t.Timer.Reset(t.clock.later(d)) }
