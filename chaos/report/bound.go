package report

import (
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// farthest is the latest time that is taken for one (nine years): sums of a few
// such times are still durations.
const farthest = time.Duration(1) << 58

// bounded returns run with all times between 0 and farthest, and clock offsets
// no larger. A right run is returned as it is; but a report must be able to show
// what a wrong one recorded, too.
func (run Run) bounded() Run {
	if h := run.History; slices.ContainsFunc(h.Events, outOfBounds) {
		c := *h
		c.Events = slices.Clone(h.Events)
		for i := range c.Events {
			e := &c.Events[i]
			e.At, e.Until, e.TTL = bound(e.At), bound(e.Until), bound(e.TTL)
			e.Offset = max(-farthest, min(farthest, e.Offset))
		}
		run.History = &c
	}
	marks := slices.Clone(run.Marks)
	for i := range marks {
		m := &marks[i]
		m.From = bound(m.From)
		m.To = max(m.From, bound(m.To))
	}
	run.Marks = marks
	return run
}

func bound(d time.Duration) time.Duration { return max(0, min(farthest, d)) }

func outOfBounds(e history.Event) bool {
	return e.At != bound(e.At) || e.Until != bound(e.Until) || e.TTL != bound(e.TTL) || e.Offset.Abs() > farthest
}
