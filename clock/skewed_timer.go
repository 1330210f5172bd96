package clock

import (
	"container/list"
	"time"
)

// A skewedTimer is a call pending on a [Skewed] clock. It waits on a timer of
// the base clock, which wakes it to look whether it is due, so a wake-up too
// early or too many does no harm.
type skewedTimer struct {
	clock *Skewed
	f     func()

	// Guarded by clock.mu.
	due     time.Duration // on clock
	element *list.Element // in clock.pending; nil: stopped, or f was started
	alarm   Timer         // on the base clock; nil: none was needed yet
}

func (t *skewedTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.removeLocked()
}

func (t *skewedTimer) Reset(d time.Duration) bool {
	s := t.clock
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := t.element != nil
	if !pending {
		t.element = s.pending.PushBack(t)
	}
	base := s.base.Now()
	t.due = add(s.readLocked(base), d)
	if t.dueLocked(base) {
		go t.f()
	}
	return pending
}

// wake runs in a goroutine of the base clock's timer.
func (t *skewedTimer) wake() {
	s := t.clock
	s.mu.Lock()
	run := t.element != nil && t.dueLocked(s.base.Now())
	s.mu.Unlock()
	if run {
		t.f()
	}
}

// dueLocked reports whether the function of a pending t is to be run at base's
// reading. If so t is no longer pending, otherwise its alarm is set.
func (t *skewedTimer) dueLocked(base time.Duration) bool {
	wait := t.clock.waitLocked(base, t.due)
	switch {
	case wait == 0:
		t.removeLocked()
		return true
	case t.alarm == nil:
		t.alarm = t.clock.base.AfterFunc(wait, t.wake)
	default:
		t.alarm.Reset(wait)
	}
	return false
}

// removeLocked reports whether t was pending; it is not afterwards.
func (t *skewedTimer) removeLocked() bool {
	if t.element == nil {
		return false
	}
	t.clock.pending.Remove(t.element)
	t.element = nil
	if t.alarm != nil {
		t.alarm.Stop()
	}
	return true
}
