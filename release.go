package redlock

import (
	"context"
	"errors"
)

// A release is one round of Lock.Release. Calls that come while it is under way
// share it.
type release struct {
	done chan struct{} // closed when err is set
	err  error
}

// Release gives the lock up and deletes its key on every node where it is still
// ours. Whatever the result, the handle is not held afterwards, keep-alive has
// ended and no extension is sent any more. It ignores the cancellation of ctx,
// whose values reach Trace, and returns at a quorum of confirmations, at most
// NodeTimeout later; the rest goes on without the caller.
//
//   - nil: nothing of the lock is left on a quorum of nodes, and it had not
//     ended before the call.
//   - ErrLost: its validity was over before the call, or nodes had lost it, so
//     that somebody else may have run. Its keys are deleted all the same. A lock
//     that Err reports as lost, but that is released within its StopMargin, was
//     given up in time: nil.
//   - ErrNoQuorum: too few nodes confirmed. Calling Release again tries again;
//     until then the client goes on by itself, and where it cannot, the keys run
//     out with their TTL.
//   - ErrReleased: it was released already, with nil; one of several calls at
//     the same time has the nil. After ErrLost, ErrLost again.
//   - ErrClosed: the client is closed; nothing was sent, the keys run out with
//     their TTL.
//   - ErrInvalid: l is nil or zero.
func (l *Lock) Release(ctx context.Context) error {
	if !l.ok() {
		return errNilLock("Release")
	}
	err := l.release()
	l.client.opts.Trace.released(ctx, l.claim.name, err)
	return err
}

func (l *Lock) release() error {
	now := l.client.now()
	_ = l.check(now) // what is over is lost, not released

	l.mu.Lock()
	if l.outcome != nil {
		defer l.mu.Unlock()
		return l.again(l.outcome.err)
	}
	if under := l.releasing; under != nil {
		l.mu.Unlock()
		<-under.done
		return l.again(under.err)
	}
	this := &release{done: make(chan struct{})}
	l.releasing = this
	if !l.released {
		l.released, l.late = true, now >= l.end || l.denied
	}
	late := l.late
	if l.reason == nil {
		_ = l.endLocked(ErrReleased)
	} else {
		l.mu.Unlock()
	}

	err := l.deleteEverywhere(late)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.releasing, this.err = nil, err
	if !errors.Is(err, ErrNoQuorum) { // which is to be tried again
		l.outcome = this
	}
	close(this.done)
	return err
}

// again returns what a call gets that shares a release with the one that made
// it, whose result is err.
func (l *Lock) again(err error) error {
	if err == nil {
		return &endError{name: l.claim.name, class: ErrReleased}
	}
	return err
}

// deleteEverywhere runs the round. late: the lock had ended before.
func (l *Lock) deleteEverywhere(late bool) error {
	c := l.client
	if c.isClosed() {
		return &endError{name: l.claim.name, class: ErrClosed}
	}
	l.claim.close()
	r := l.claim.newDeletion(c.need)
	r.ask()
	if err := r.wait(context.Background(), c.life); err != nil {
		return &endError{name: l.claim.name, class: ErrClosed}
	}
	held := l.claim.couldHold()
	if !late && held && l.claim.isClean() {
		return nil
	}
	e := &QuorumError{Op: OpRelease.String(), Name: l.claim.name, Need: c.need, Nodes: r.results(), class: ErrNoQuorum}
	switch {
	case late:
		e.class = ErrLost
		return &endError{name: l.claim.name, class: ErrLost, why: []error{errEnded, e}}
	case !held:
		e.class = ErrLost
	}
	return e
}

var errEnded = errors.New("it had ended before the release")
