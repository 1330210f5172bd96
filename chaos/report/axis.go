package report

import (
	"math"
	"strconv"
	"time"
)

// An axis maps true time to pixels.
type axis struct {
	span
	left, right float64
}

// x returns where at is, within the axis.
func (a axis) x(at time.Duration) float64 {
	at = min(max(at, a.from), a.to)
	return a.left + (a.right-a.left)*(float64(at-a.from)/float64(a.length()))
}

// A tick is a labelled moment of an axis.
type tick struct {
	at    time.Duration
	label string
}

// steps are what ticks may be apart; beyond minutes people do not count in tens.
var tickSteps = func() []time.Duration {
	var all []time.Duration
	for d := time.Nanosecond; d < 10*time.Second; d *= 10 {
		all = append(all, d, 2*d, 5*d)
	}
	for _, s := range []int{10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400} {
		all = append(all, time.Duration(s)*time.Second)
	}
	return all
}()

// ticks returns about eight to fifteen ticks and their unit.
func (a axis) ticks() (all []tick, unit string) {
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if a.length()/s <= 14 {
			step = s
			break
		}
	}
	step = max(step, a.length()/50) // a run of months
	in, unit := time.Second, "s"
	switch {
	case a.to < 10*time.Microsecond:
		in, unit = time.Nanosecond, "ns"
	case a.to < 10*time.Millisecond:
		in, unit = time.Microsecond, "µs"
	case a.to < time.Second:
		in, unit = time.Millisecond, "ms"
	case step >= time.Minute:
		in, unit = time.Minute, "min"
	}
	places := 0
	for f := float64(step) / float64(in); places < 9 && math.Abs(f-math.Round(f)) > 1e-9; f *= 10 {
		places++
	}
	for at := (a.from + step - 1) / step * step; at <= a.to; at += step {
		all = append(all, tick{at, strconv.FormatFloat(float64(at)/float64(in), 'f', places, 64)})
	}
	return all, unit
}
