package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/quorumlock/redlock/quorum"
)

// A split is settled by trying again soon, after random waits in a window that
// doubles from settleBase, or twice the round trip, to RetryMax, up to
// settleTries times in all.
const (
	settleTries = 8
	settleBase  = 2 * time.Millisecond
)

// TryAcquire tries to acquire the lock called name for ttl, and does not wait
// for a holder. It returns a held lock, or nil and an error that wraps
//   - ErrHeld if another token holds a quorum, or could hold one together with
//     silent nodes and stays for NodeTimeout: Holder of the *QuorumError tells
//     whose;
//   - ErrNoQuorum if so many nodes failed or were late that no quorum is left,
//     or if contenders split the nodes among them 8 times in a row;
//   - ErrInvalid if name has not 1 to MaxName bytes, or ttl is under 1 ms, over
//     MaxTTL, or not more than drift plus StopMargin; nothing was sent;
//   - ErrClosed after Close or Shutdown;
//   - the context's error and cause if ctx ended first.
//
// ttl is sent in whole milliseconds, rounded down. After a failure no node
// keeps a key of the attempt for long: what was sent is undone on every node,
// if need be after the return, until that is certain; a SET that the network
// delivers after all of that lives for ttl.
//
// A round takes at most NodeTimeout. If contenders block each other so that
// nobody holds the lock, TryAcquire settles that with up to 8 rounds, so that one
// of them gets it. The random waits between them start below 2 ms, or twice the
// round trip if that is more, and double, up to RetryMax.
//
// The first acquisition of a client first waits until a quorum is connected, at
// most ConnectTimeout.
func (c *Client) TryAcquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	lease, err := c.begin(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	lock, failure := c.acquire(ctx, name, lease, 0)
	if failure != nil {
		return nil, failure.err
	}
	return lock, nil
}

// Acquire tries as TryAcquire does until it has the lock, ctx ends, or
// Options.Attempts are used up. Between two attempts it waits a random time in
// [RetryMin, window], where window doubles from 2 * RetryMin to RetryMax. It is
// RetryMax at once when time-outs have left no quorum twice in a row: the nodes
// may be overloaded, if only by those who want the lock. The waits that settle a
// split go on from where those of the attempt before ended.
//
// Errors that waiting cannot cure end it early: invalid arguments, and replies
// such as NOPERM or WRONGPASS from so many nodes that no quorum is left. If ctx
// ends first, the error wraps its error and cause, and the class of the last
// attempt that was decided.
//
// ctx bounds the wait, not the lock's life: a lock that was acquired lives on
// after ctx ended. Acquire returns at most NodeTimeout after ctx ended.
func (c *Client) Acquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	lease, err := c.begin(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	window := min(2*c.opts.RetryMin, c.opts.RetryMax)
	var last *QuorumError
	splits, timedOut := 0, false
	for n := 1; ; n++ {
		lock, failure := c.acquire(ctx, name, lease, splits)
		if failure == nil {
			return lock, nil
		}
		if failure.decided != nil {
			last = failure.decided
		}
		if ctx.Err() != nil {
			return nil, c.endedBy(ctx, name, last)
		}
		if failure.final || n == c.opts.Attempts {
			return nil, failure.err
		}
		if timedOut && failure.timedOut {
			window = c.opts.RetryMax
		}
		splits, timedOut = failure.splits, failure.timedOut
		wait := c.opts.RetryMin + failure.claim.random(window-c.opts.RetryMin+1)
		if err := c.sleep(ctx, name, wait); err != nil {
			if ctx.Err() != nil {
				return nil, c.endedBy(ctx, name, last)
			}
			return nil, err
		}
		window = min(2*window, c.opts.RetryMax)
	}
}

// begin checks the arguments of an acquisition and waits for connections.
func (c *Client) begin(ctx context.Context, name string, ttl time.Duration) (lease, error) {
	if c == nil || len(c.voters) == 0 {
		return lease{}, invalidClient()
	}
	if err := checkName(name); err != nil {
		return lease{}, err
	}
	l, err := c.opts.lease(ttl)
	if err != nil {
		return lease{}, err
	}
	if err := c.refused(); err != nil {
		return lease{}, err
	}
	if ctx.Err() != nil {
		return lease{}, c.endedBy(ctx, name, nil)
	}
	return l, c.awaitConnected(ctx, name)
}

// endedBy returns the error of an acquisition whose caller's context ended.
func (c *Client) endedBy(ctx context.Context, name string, last *QuorumError) error {
	if last == nil {
		last = &QuorumError{Op: OpAcquire.String(), Name: name, Need: c.need}
	}
	return last.withContext(ctx)
}

// A failure is an acquisition that did not succeed.
type failure struct {
	claim    *claim
	err      error        // for the caller
	decided  *QuorumError // the last attempt that was decided; nil: none was
	final    bool         // trying again cannot help
	timedOut bool         // time-outs left no quorum
	splits   int          // that the caller has met
}

// acquire makes attempts until one succeeds, somebody holds the lock, the nodes
// cannot make a quorum, or a split was not settled in settleTries. splits is how
// many the caller has met before: the more, the larger the crowd that must spread.
func (c *Client) acquire(ctx context.Context, name string, l lease, splits int) (*Lock, *failure) {
	var candidate string    // could be the holder, if he stays
	var since time.Duration // when he was first seen
	for try := 0; ; try++ {
		a := &attempt{client: c, ctx: ctx, lease: l, claim: c.newClaim(name, l.ttl)}
		lock, interrupted := a.run()
		if lock != nil {
			c.opts.Trace.attempt(ctx, name, try+1, a.elapsed, nil)
			return lock, nil
		}
		if interrupted != nil {
			return nil, c.interrupted(ctx, name, a.claim, interrupted)
		}

		found := a.classify()
		switch {
		case a.candidate == "" || a.candidate != candidate:
			candidate, since = a.candidate, c.now()
		case c.now()-since >= c.opts.NodeTimeout || try+1 == settleTries:
			found.class = ErrHeld // an attempt that failed would have been undone by now
		}
		again := found.class == nil && try+1 < settleTries
		if found.class == nil && !again {
			found.class = ErrNoQuorum
		}
		c.opts.Trace.attempt(ctx, name, try+1, a.elapsed, found)
		if !again {
			return nil, &failure{
				claim: a.claim, err: found, decided: found,
				final: a.hopeless, timedOut: a.timedOut, splits: splits,
			}
		}

		wait := a.claim.random(doubled(max(settleBase, 2*a.roundTrip), splits, c.opts.RetryMax))
		splits++
		if err := c.sleep(ctx, name, wait); err != nil {
			return nil, c.interrupted(ctx, name, a.claim, err)
		}
	}
}

// doubled returns d doubled n times, at most limit.
func doubled(d time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 0 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}

// interrupted makes the failure of an acquisition that ctx or the client's end
// broke off.
func (c *Client) interrupted(ctx context.Context, name string, cl *claim, err error) *failure {
	if ctx.Err() != nil {
		err = c.endedBy(ctx, name, nil)
	}
	return &failure{claim: cl, err: err, final: true}
}

// An attempt is one round of SETs under a token of its own and, unless it wins,
// its undo.
type attempt struct {
	client *Client
	ctx    context.Context
	lease  lease
	claim  *claim

	elapsed   time.Duration // T2 - T1
	roundTrip time.Duration // the longest seen
	hopeless  bool          // configuration errors rule out a quorum
	timedOut  bool          // time-outs left no quorum
	votes     []NodeResult  // what the nodes said to the SET
	undone    []NodeResult  // what they said to the undo; nil: it was not waited for
	late      bool          // a quorum said yes, too slowly
	candidate string        // with class nil: a token that could have a quorum
}

// run returns a lock, or nil and why the attempt was broken off, or nil and nil
// if it failed: then classify tells why.
func (a *attempt) run() (*Lock, error) {
	c := a.client
	r := a.claim.newRound(OpAcquire, a.lease.ttl, c.need)
	r.ask()
	if err := r.wait(a.ctx, c.draining); err != nil {
		a.claim.undo(false)
		return nil, err
	}
	now := c.now()
	a.elapsed = now - r.start
	if r.won() {
		lock := c.newLock(a.claim, a.lease, r.start, now)
		if lock != nil {
			return lock, nil
		}
		a.late = true
	}
	if err := c.refused(); err != nil {
		a.claim.undo(false)
		return nil, err
	}
	undo := a.claim.undo(true)
	a.votes = r.results()
	for _, v := range a.votes {
		if v.Vote.replied() {
			a.roundTrip = max(a.roundTrip, v.Elapsed)
		}
	}
	return nil, a.awaitUndo(undo, r.start+c.opts.NodeTimeout-now)
}

// awaitUndo waits for the undo as long as the attempt may still take.
func (a *attempt) awaitUndo(undo *round, left time.Duration) error {
	if undo == nil || left <= 0 {
		return nil
	}
	timer := a.client.opts.Clock.AfterFunc(left, undo.votes.Close)
	defer timer.Stop()
	if err := undo.wait(a.ctx, a.client.draining); err != nil {
		return err
	}
	a.undone = undo.results()
	return nil
}

// classify says why the attempt failed. The class is nil if another try can
// tell: contenders split the nodes, or somebody could hold a quorum together
// with nodes that are silent.
func (a *attempt) classify() *QuorumError {
	c := a.client
	e := &QuorumError{Op: OpAcquire.String(), Name: a.claim.name, Need: c.need, Nodes: a.votes, Late: a.late}
	if a.late {
		e.class = ErrNoQuorum
		return e
	}
	faults, timeouts, silent, hopeless := 0, 0, 0, 0
	for i := range e.Nodes {
		n := &e.Nodes[i]
		if a.undone != nil {
			n.add(a.undone[i])
		}
		if n.Vote.failed() {
			faults++
		}
		if errors.Is(n.Err, ErrNodeTimeout) || errors.Is(n.Err, errSuspect) {
			timeouts++
		}
		if isConfig(n.Err) {
			hopeless++
		}
		if !a.sees(i) {
			silent++
		}
	}
	spare := len(e.Nodes) - c.need // as many may fail
	a.hopeless = hopeless > spare
	holder := e.holder(c.orphans.has)
	switch {
	case holder.nodes >= c.need:
		e.class = ErrHeld
	case a.hopeless:
		e.class = ErrNoQuorum
	case holder.nodes > 0 && holder.nodes+silent >= c.need:
		a.candidate = holder.value // look again
	case faults > spare:
		e.class = ErrNoQuorum
		a.timedOut = faults-timeouts <= spare
	}
	return e
}

// sees reports whether the attempt knows what node i holds beside our own key.
func (a *attempt) sees(i int) bool {
	if a.undone != nil && a.undone[i].Vote != 0 && !a.undone[i].Vote.failed() {
		return true
	}
	return a.votes[i].Vote == VoteYes || a.votes[i].found != ""
}

// undo starts to remove the claim from every node and returns at once. It
// returns nil if somebody did before. The round ends when every node that is
// not suspect has answered, or when they show who holds the lock. look: nodes
// where nothing was sent are asked too, for what they hold.
func (c *claim) undo(look bool) *round {
	if !c.close() {
		return nil
	}
	client := c.client
	suspects, _ := client.census()
	waited := 0
	for i := range client.voters {
		if suspects&(1<<i) == 0 {
			waited++
		}
	}
	r := c.newDeletion(max(waited, 1))
	r.undoing, r.looking = true, look
	for i := range client.voters {
		r.add(i)
		if suspects&(1<<i) != 0 {
			r.votes.Answer(i, quorum.Fault, ballot{Answer: Answer{Vote: VoteNotSent, Err: errSuspect}})
		}
	}
	r.send()
	return r
}
