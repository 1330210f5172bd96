package redlock

import (
	"context"
	"time"
)

// Extend makes the lock last for ttl from now, if it does not last longer
// already: it never shortens. A quorum of nodes must still hold the lock and
// say so before the lock is lost. Extensions of one lock run one after another.
//
// Nodes that had lost the key are given it again once a quorum has agreed; they
// count from the next extension on.
//
// A failure leaves the lock as it was, to be extended again while it is held.
// The error wraps
//   - ErrNoQuorum if too many nodes failed or were late;
//   - ErrLost if the lock is lost, or so many nodes say that it is not ours that
//     no quorum is left: then it is lost from now on;
//   - ErrReleased after Release; ErrClosed after Close, with ErrLost;
//   - ErrInvalid for a ttl as in TryAcquire; nothing was sent;
//   - the context's error and cause if ctx ended first. The nodes may have
//     extended the key all the same, which harms nobody: the handle does not
//     count on it.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	if !l.ok() {
		return errNilLock("Extend")
	}
	lease, err := l.client.opts.lease(ttl)
	if err != nil {
		return err
	}
	if err := l.Err(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return l.extendEnded(ctx)
	}
	turn := l.turn()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return l.extendEnded(ctx)
	}
	defer func() { <-turn }()
	return l.extend(ctx, lease)
}

func (l *Lock) extendEnded(ctx context.Context) error {
	e := &QuorumError{Op: OpExtend.String(), Name: l.claim.name, Need: l.client.need}
	return e.withContext(ctx)
}

// turn returns the channel whose one place is held by who extends.
func (l *Lock) turn() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.extending == nil {
		l.extending = make(chan struct{}, 1)
	}
	return l.extending
}

// extend is Extend with its turn.
func (l *Lock) extend(ctx context.Context, to lease) error {
	err := l.extendOnce(ctx, to)
	l.client.opts.Trace.extended(ctx, l.claim.name, l.Remaining(), err)
	return err
}

func (l *Lock) extendOnce(ctx context.Context, to lease) error {
	if err := l.Err(); err != nil {
		return err
	}
	r := l.claim.extension(to.ttl)
	r.ask()
	if err := r.wait(ctx, l.client.life); err != nil {
		if ctx.Err() != nil {
			return l.extendEnded(ctx)
		}
		l.mu.Lock()
		return l.endLocked(ErrLost, ErrClosed) // Close is about to
	}
	now := l.client.now()
	if err := l.check(now); err != nil {
		return err // lost or released meanwhile; a late yes counts for nothing
	}
	if r.won() {
		l.prolong(to, r.start)
		r.healForgetful()
		return l.Err()
	}

	results := r.results()
	e := &QuorumError{Op: OpExtend.String(), Name: l.claim.name, Need: l.client.need, Nodes: results, class: ErrNoQuorum}
	denied := 0
	for _, n := range results {
		if n.Vote == VoteAbsent || n.Vote == VoteForeign {
			denied++
		}
	}
	l.mu.Lock()
	if denied <= len(results)-l.client.need {
		defer l.mu.Unlock()
		l.lastFailed = e
		return e
	}
	e.class = ErrLost
	l.denied = true
	return l.endLocked(ErrLost, e)
}

// prolong moves the end after an extension whose round started at start.
func (l *Lock) prolong(to lease, start time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != nil {
		return
	}
	l.lastFailed = nil
	end := start + to.ttl - to.drift
	if end <= l.end {
		return
	}
	l.end, l.ttl = end, to.asked
	l.lostAt = max(l.lostAt, end-to.margin) // the timer finds out when it fires
}

// extension returns a round that extends the claim to ttl.
func (c *claim) extension(ttl time.Duration) *round {
	c.mu.Lock()
	c.ttl = max(c.ttl, ttl)
	c.mu.Unlock()
	return c.newRound(OpExtend, ttl, c.client.need)
}

// forgot takes note that node i has lost the key that the round extends.
func (r *round) forgot(i int) {
	r.mu.Lock()
	r.forgetful |= 1 << i
	r.mu.Unlock()
	if r.agreed.Load() {
		r.healForgetful()
	}
}

// healForgetful gives the key back to the nodes that had lost it, now that a
// quorum has agreed to extend it, and to those that turn out so from now on.
func (r *round) healForgetful() {
	r.agreed.Store(true)
	r.mu.Lock()
	forgetful := r.forgetful
	r.forgetful = 0
	r.mu.Unlock()
	if forgetful == 0 {
		return
	}
	heal := r.claim.newRound(OpHeal, r.command.TTL, 1)
	for i := range r.requests {
		if forgetful&(1<<i) != 0 {
			heal.add(i)
		}
	}
	heal.send()
}
