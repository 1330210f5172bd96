package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/quorumlock/redlock/clock"
)

// KeepAlive says how a lock is extended automatically.
type KeepAlive struct {
	// Every is the time from one extension to the next. It must leave room
	// before the loss: less than TTL - drift - StopMargin. At least 1 ms.
	// Default TTL/3.
	// A failed extension is tried again sooner.
	Every time.Duration

	// MaxHold bounds the whole time from the acquisition to the lock's end;
	// 0: no bound. It caps automatic extension only: it does not cut what the
	// acquisition or Extend granted.
	MaxHold time.Duration

	// MaxCount bounds the number of automatic extensions; 0: no bound.
	MaxCount int
}

func (k KeepAlive) check() error {
	switch {
	case k.Every < 0 || k.Every > 0 && k.Every < time.Millisecond:
		return invalidOption("KeepAlive.Every", k.Every, "at least 1ms, or 0")
	case k.MaxHold < 0:
		return invalidOption("KeepAlive.MaxHold", k.MaxHold, "at least 0")
	case k.MaxCount < 0:
		return invalidOption("KeepAlive.MaxCount", k.MaxCount, "at least 0")
	}
	return nil
}

// or returns k with its zero fields taken from other.
func (k KeepAlive) or(other KeepAlive) KeepAlive {
	if k.Every == 0 {
		k.Every = other.Every
	}
	if k.MaxHold == 0 {
		k.MaxHold = other.MaxHold
	}
	if k.MaxCount == 0 {
		k.MaxCount = other.MaxCount
	}
	return k
}

// room returns how much later than the last one an extension must begin.
func (l lease) room() time.Duration { return l.ttl - l.drift - l.margin }

// every returns the interval for a lease: Every, or a third of the TTL if that
// is 0 or leaves no room (a shorter TTL was asked for since).
func (k KeepAlive) every(l lease) time.Duration {
	if k.Every > 0 && k.Every < l.room() {
		return k.Every
	}
	return l.ttl / 3
}

// fits returns an error if an extension would come too late for the lease.
func (k KeepAlive) fits(l lease) error {
	if k.Every >= l.room() {
		return fmt.Errorf("redlock: %w: KeepAlive.Every %v, want less than %v: TTL %v - drift %v - StopMargin %v",
			ErrInvalid, k.Every, l.room(), l.ttl, l.drift, l.margin)
	}
	return nil
}

// A keeper extends one lock automatically. It has a timer and, only during an
// extension, a goroutine: see keepers. The lock's mutex guards it.
type keeper struct {
	settings KeepAlive
	timer    clock.Timer
	count    int  // extensions so far
	capped   bool // a cap was reached: the lock is left to run out
}

// KeepAlive extends the lock automatically, each time to the TTL of its last
// grant, until it is released or lost, a cap is reached, or the client closes.
// Zero fields of k are taken from Options.KeepAlive, and then mean an interval
// of TTL/3 and no caps. A failed extension is tried again well before the lock
// is lost. At a cap the lock is left to run out: then it is lost with the cause
// ErrMaxHold. Calling it again replaces the settings and keeps the counts.
//
// The error wraps ErrInvalid, ErrLost, ErrReleased or ErrClosed; keep-alive is
// then as it was.
func (l *Lock) KeepAlive(k KeepAlive) error {
	if !l.ok() {
		return errNilLock("KeepAlive")
	}
	if err := k.check(); err != nil {
		return err
	}
	if err := l.Err(); err != nil {
		return err
	}
	k = k.or(l.client.opts.KeepAlive)
	now := l.client.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != nil {
		return l.reason
	}
	lease, err := l.client.opts.lease(l.ttl)
	if err != nil {
		return err
	}
	if err := k.fits(lease); err != nil {
		return err
	}
	// The next extension comes Every after the last grant.
	every, granted := k.every(lease), l.end-lease.ttl+lease.drift
	wait := min(max(granted+every-now, 0), every)
	if l.keeper == nil {
		l.keeper = &keeper{timer: l.client.opts.Clock.AfterFunc(wait, l.keep)}
	} else {
		l.keeper.timer.Reset(wait)
	}
	l.keeper.settings, l.keeper.capped = k, false
	return nil
}

// keep runs when the next automatic extension is due.
func (l *Lock) keep() {
	k := &l.client.keepers
	if !k.begin(l) {
		return
	}
	for due := l; due != nil; due = k.end() {
		due.extendDue()
	}
}

// lossTime returns when the lock will be lost unless it is extended.
func (l *Lock) lossTime() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lostAt
}

// extendDue makes one automatic extension and sets the time of the next.
func (l *Lock) extendDue() {
	ctx := context.Background()
	turn := l.turn()
	turn <- struct{}{}
	defer func() { <-turn }()
	if l.Err() != nil {
		return
	}
	to, last, ok := l.next()
	if !ok {
		return
	}
	err := l.extend(ctx, to)

	now := l.client.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != nil {
		return
	}
	k := l.keeper
	lease, _ := l.client.opts.lease(l.ttl) // checked when it was asked for
	every := k.settings.every(lease)
	switch {
	case err != nil:
		// A quarter of what is left: some tries more, the closer the sooner,
		// and never in a hurry that would hurt nodes in trouble.
		k.timer.Reset(min(every, max((l.lostAt-now)/4, l.client.opts.RetryMin)))
	case last:
		k.count++
		k.capped = true
	default:
		k.count++
		k.timer.Reset(every)
	}
}

// next returns what to extend the lock to, and whether the caps allow no other
// extension after it, or false if they do not allow this one.
func (l *Lock) next() (to lease, last, ok bool) {
	now := l.client.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keeper
	last = k.settings.MaxCount > 0 && k.count+1 >= k.settings.MaxCount
	to, err := l.client.opts.lease(l.ttl)
	if hold := k.settings.MaxHold; hold > 0 && l.since+hold <= now+l.ttl {
		last = true
		to, err = l.client.opts.lease(l.since + hold - now)
		to.asked = l.ttl
		k.capped = err != nil || now+to.ttl-to.drift <= l.end
	}
	if k.settings.MaxCount > 0 && k.count >= k.settings.MaxCount {
		k.capped = true
	}
	return to, last, err == nil && !k.capped
}
