package redlock

import (
	"context"
	"time"
)

// Trace is a set of functions that a [Client] calls at points of interest, for
// logs and metrics, as net/http/httptrace has them. Any may be nil. They run in
// the middle of the client's work, some at the same time: they must be quick,
// must not block, and must not call back into the client or the lock. ctx is
// the caller's where there is one; its cancellation does not matter here, its
// values do.
type Trace struct {
	// Attempt: one attempt was decided. err is nil if it won; otherwise it is
	// a *QuorumError, which wraps no class while a split is still being
	// settled by further attempts. try counts those, from 1; each turn of
	// Acquire begins anew. elapsed counts from just before the first command.
	Attempt func(ctx context.Context, name string, try int, elapsed time.Duration, err error)

	// Wait: Acquire, or TryAcquire settling a split, waits before it tries
	// again.
	Wait func(ctx context.Context, name string, d time.Duration)

	// Extended: Extend or keep-alive finished. remaining is what the lock has
	// left, whether err is nil or not.
	Extended func(ctx context.Context, name string, remaining time.Duration, err error)

	// Lost: a held lock ended before its release. err is what Lock.Err
	// returns from now on.
	Lost func(name string, err error)

	// Released: Release finished with err.
	Released func(ctx context.Context, name string, err error)

	// Suspect: the node did not answer in time (true), or answers again
	// (false).
	Suspect func(node string, suspect bool)

	// Healed: a node that did not hold the key of a held lock, because it had
	// lost it or was out of reach at first, holds it now.
	Healed func(node, name string)

	// Orphan: a command of an attempt that nobody holds, or of a lock whose
	// release the node has not confirmed, may have left a key on the node, and
	// the hunt for it has begun or come to an end. Close ends hunts unheard.
	Orphan func(node, key string, state OrphanState)
}

// OrphanState is how far the hunt for an orphan has come.
type OrphanState uint8

// The states of a hunt; every one but OrphanHunted ends it.
const (
	OrphanHunted  OrphanState = iota + 1 // looked for until it is certainly gone
	OrphanDeleted                        // found and deleted
	OrphanGone                           // certainly not there any more
	OrphanDropped                        // given up: too many were hunted at once; it lives for its TTL at most
)

func (s OrphanState) String() string {
	switch s {
	case OrphanHunted:
		return "hunted"
	case OrphanDeleted:
		return "deleted"
	case OrphanGone:
		return "gone"
	case OrphanDropped:
		return "dropped"
	default:
		return "unknown"
	}
}

func (t *Trace) attempt(ctx context.Context, name string, try int, elapsed time.Duration, err error) {
	if t.Attempt != nil {
		t.Attempt(ctx, name, try, elapsed, err)
	}
}

func (t *Trace) wait(ctx context.Context, name string, d time.Duration) {
	if t.Wait != nil {
		t.Wait(ctx, name, d)
	}
}

func (t *Trace) extended(ctx context.Context, name string, remaining time.Duration, err error) {
	if t.Extended != nil {
		t.Extended(ctx, name, remaining, err)
	}
}

func (t *Trace) lost(name string, err error) {
	if t.Lost != nil {
		t.Lost(name, err)
	}
}

func (t *Trace) released(ctx context.Context, name string, err error) {
	if t.Released != nil {
		t.Released(ctx, name, err)
	}
}

func (t *Trace) suspect(node string, suspect bool) {
	if t.Suspect != nil {
		t.Suspect(node, suspect)
	}
}

func (t *Trace) healed(node, name string) {
	if t.Healed != nil {
		t.Healed(node, name)
	}
}

func (t *Trace) orphan(node, key string, state OrphanState) {
	if t.Orphan != nil {
		t.Orphan(node, key, state)
	}
}
