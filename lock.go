package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/quorumlock/redlock/clock"
)

// A Lock is the handle of an acquired lock. It is held until it is lost or
// released, and never held again after that. It is safe for concurrent use, and
// any goroutine may release it. A nil or zero Lock is one that was never
// acquired: its methods say so, and do nothing.
//
// A holder should look at Err or Remaining just before each step that must not
// overlap with another holder's, or run its work under Context.
type Lock struct {
	client *Client
	claim  *claim

	mu         sync.Mutex
	since      time.Duration // when it was acquired
	ttl        time.Duration // asked for with the last grant; guarded by mu, as all below
	end        time.Duration // of its validity
	lostAt     time.Duration // end less StopMargin
	timer      clock.Timer   // fires at lostAt or before
	reason     error         // why it is not held any more; nil: it is held
	denied     bool          // so many nodes have lost it that no quorum is left
	released   bool          // Release was called
	late       bool          // it had ended when Release was first called
	done       chan struct{} // made on demand
	contexts   []*contextOf  // to be cancelled
	extending  chan struct{} // taken by who extends; made on demand
	lastFailed error         // the last extension, if it failed
	keeper     *keeper       // keep-alive; nil: off
	releasing  *release      // the release under way; nil: none
	outcome    *release      // the release that was final; nil: none yet
}

type contextOf struct{ cancel context.CancelCauseFunc }

// newLock returns a lock for a claim that nodes began to grant after start, or
// nil if at now too little of its validity is left, or the client is closed or
// shutting down.
func (c *Client) newLock(cl *claim, l lease, start, now time.Duration) *Lock {
	validity, err := Validity(l.ttl, now-start, *c.opts.Drift)
	if err != nil || validity <= l.margin { // an error: a clock that went back
		return nil
	}
	end := now + validity
	lock := &Lock{client: c, claim: cl, since: now, ttl: l.ttl, end: end, lostAt: end - l.margin}
	lock.mu.Lock() // whoever finds it registered finds it complete
	defer lock.mu.Unlock()
	lock.timer = c.opts.Clock.AfterFunc(lock.lostAt-now, lock.timeIsUp)
	if !c.register(lock) {
		lock.timer.Stop()
		return nil
	}
	return lock
}

// ok reports whether l is a lock that was acquired.
func (l *Lock) ok() bool { return l != nil && l.claim != nil }

func errNilLock(op string) error {
	return fmt.Errorf("redlock: %w: %s of a nil or zero Lock, want one that was acquired", ErrInvalid, op)
}

// Name returns the name that the lock was acquired under; "" for a nil or zero
// Lock.
func (l *Lock) Name() string {
	if !l.ok() {
		return ""
	}
	return l.claim.name
}

// Token returns the lock's token, 40 hexadecimal digits that no other
// acquisition has; "" for a nil or zero Lock. It tells holders apart but does
// not order them: it is not a fencing token.
func (l *Lock) Token() string {
	if !l.ok() {
		return ""
	}
	return l.claim.token()
}

// Remaining returns how long nobody else can hold the lock, in model: its
// validity, down to zero. It goes on counting after the lock is lost StopMargin
// before its end, so that a holder can stop cleanly; it is zero once the lock is
// released, or nodes have denied it, and for a nil or zero Lock.
func (l *Lock) Remaining() time.Duration {
	if !l.ok() {
		return 0
	}
	now := l.client.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.denied || l.released {
		return 0
	}
	return max(l.end-now, 0)
}

// Err returns nil while the lock is held. Afterwards it returns for ever the
// same error, which wraps ErrLost or ErrReleased: ErrLost with the last failed
// extension, or with ErrMaxHold or ErrClosed, where that is why. It reads the
// clock, so it is right even where Done is late. A nil or zero Lock has
// ErrInvalid.
func (l *Lock) Err() error {
	if !l.ok() {
		return errNilLock("Err")
	}
	return l.check(l.client.now())
}

// check loses the lock if its time is up, and returns why it is not held.
func (l *Lock) check(now time.Duration) error {
	l.mu.Lock()
	if l.reason != nil || now < l.lostAt {
		defer l.mu.Unlock()
		return l.reason
	}
	why := []error{}
	if l.keeper != nil && l.keeper.capped {
		why = append(why, ErrMaxHold)
	}
	if l.lastFailed != nil {
		why = append(why, l.lastFailed)
	}
	return l.endLocked(ErrLost, why...)
}

// endLocked ends the lock for the reason given, if it has not ended before. It
// is called with l.mu held, releases it, and returns the reason that holds.
func (l *Lock) endLocked(class error, why ...error) error {
	if l.reason != nil {
		defer l.mu.Unlock()
		return l.reason
	}
	reason := &endError{name: l.claim.name, class: class, why: why}
	l.reason = reason
	l.timer.Stop()
	if l.keeper != nil {
		l.keeper.timer.Stop()
	}
	for _, c := range l.contexts {
		c.cancel(reason)
	}
	l.contexts = nil
	if l.done != nil {
		close(l.done)
	}
	l.mu.Unlock()

	l.client.unregister(l)
	if errors.Is(class, ErrLost) {
		l.client.opts.Trace.lost(l.claim.name, reason)
	}
	return reason
}

// timeIsUp runs when the lock's time was to be up before any extension.
func (l *Lock) timeIsUp() {
	now := l.client.now()
	if l.check(now) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason == nil {
		l.timer.Reset(l.lostAt - now)
	}
}

// Done returns a channel that is closed when the lock is lost or released. It
// is closed by a timer, which may be late on a busy process or after a suspend:
// Err and Remaining are not. The channel of a nil or zero Lock is closed.
func (l *Lock) Done() <-chan struct{} {
	if !l.ok() {
		return closedChan
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.reason != nil {
			close(l.done)
		}
	}
	return l.done
}

var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Context returns a copy of ctx that is cancelled, with what Err returns as its
// cause, when the lock is lost or released. The context may end late as Done
// may. Call cancel when the work is done. The context of a nil or zero Lock is
// cancelled.
func (l *Lock) Context(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	ctx, cause := context.WithCancelCause(ctx)
	if err := l.Err(); err != nil {
		cause(err)
		return ctx, func() {}
	}
	entry := &contextOf{cause}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != nil {
		cause(l.reason)
		return ctx, func() {}
	}
	l.contexts = append(l.contexts, entry)
	return ctx, func() {
		cause(context.Canceled)
		l.forget(entry)
	}
}

func (l *Lock) forget(entry *contextOf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range l.contexts {
		if c == entry {
			last := len(l.contexts) - 1
			l.contexts[i], l.contexts[last] = l.contexts[last], nil
			l.contexts = l.contexts[:last]
			return
		}
	}
}

// String returns the lock's name, the first eight characters of its token and
// what remains, for people.
func (l *Lock) String() string {
	if !l.ok() {
		return "lock(none)"
	}
	return fmt.Sprintf("lock(%s token %s remaining %v)", quoteName(l.claim.name), l.claim.token()[:8], l.Remaining())
}

// GoString is String: the whole token is nobody's business.
func (l *Lock) GoString() string { return l.String() }

// LogValue makes package log/slog show what String does.
func (l *Lock) LogValue() slog.Value {
	if !l.ok() {
		return slog.StringValue(l.String())
	}
	return slog.GroupValue(
		slog.String("name", shorten(l.claim.name)),
		slog.String("token", l.claim.token()[:8]),
		slog.Duration("remaining", l.Remaining()),
	)
}
