// Package clock measures elapsed time for code whose safety depends on it.
//
// A lease is safe only as long as its holder's idea of elapsed time is right,
// so the clock that measures it must not follow the wall clock (which an
// operator or NTP may set) and must count the time that the machine spent
// suspended (during which other machines went on). [System] is that clock.
// [Skewed] is a clock that is wrong in a chosen way, for tests and simulations.
package clock

import "time"

// A Clock measures elapsed time and runs functions after some of it.
// Implementations are safe for concurrent use.
type Clock interface {
	// Now returns the time elapsed since some fixed origin. It never goes
	// back, and it goes on while the machine is suspended. Only differences
	// of two readings of one Clock mean anything.
	Now() time.Duration

	// AfterFunc runs f in its own goroutine once d has passed on this clock;
	// a d of zero or less means at once. Like every timer it may be late, on
	// a busy process or after a suspend: where being late would be unsafe,
	// read Now.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer is a pending call of [Clock.AfterFunc], with the semantics of a
// [time.Timer] made by [time.AfterFunc].
type Timer interface {
	// Stop prevents the call and reports whether it did: false means that
	// the function has been started or was stopped before.
	Stop() bool

	// Reset makes the function run d from now, whether it has run or not,
	// and reports whether a call was pending.
	Reset(d time.Duration) bool
}
