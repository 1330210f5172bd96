package redlock

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock/clock"
	"github.com/quorumlock/redlock/quorum"
)

// A round is one command on every node: it sends the requests, counts the
// answers, and gives up on what is unanswered after NodeTimeout.
type round struct {
	claim    *claim
	command  Command
	start    time.Duration // just before the first send; not set for a release
	began    time.Time     // the same, for people: reading it is cheap
	requests []Request     // by node; those not made have a nil Command
	votes    *quorum.Round[ballot]
	pending  atomic.Int32 // requests not answered
	expired  atomic.Bool  // NodeTimeout is over

	undoing bool // every answer counts, whatever it says
	looking bool // an undo that is also to find out who holds the lock
	force   bool // suspects are asked like the others

	onDone func() // told when all requests are answered; nil: nobody is

	agreed atomic.Bool // an extension: a quorum has agreed

	mu        sync.Mutex
	timer     clock.Timer // nil until all is sent; guarded by mu
	foreign   string      // an undo: the first foreign value found; guarded by mu
	holders   int         // how many nodes have it; guarded by mu
	forgetful uint64      // an extension: nodes that had lost the key; guarded by mu
}

// A ballot is a node's answer and when it came.
type ballot struct {
	Answer
	elapsed time.Duration // since the round began
}

func (c *claim) newRound(op Op, ttl time.Duration, need int) *round {
	n := len(c.client.voters)
	return &round{
		claim:    c,
		command:  Command{Op: op, Key: c.key, Value: c.value, TTL: ttl},
		requests: make([]Request, n),
		votes:    quorum.NewRound[ballot](n, need),
	}
}

// newDeletion returns a round that deletes the claim, which is nobody's from now
// on. Shutdown waits until it is answered.
func (c *claim) newDeletion(need int) *round {
	r := c.newRound(OpRelease, 0, need)
	c.client.orphans.add(c.value)
	c.client.enter()
	r.onDone = func() {
		c.client.orphans.remove(c.value)
		c.client.leave()
	}
	return r
}

// ask starts the round on all nodes at once. Suspects are asked only as their
// probe and not waited for, unless the others cannot make a quorum.
func (r *round) ask() {
	c := r.claim.client
	suspects, able := c.census()
	r.force = able < c.need
	for i := range c.voters {
		r.add(i)
		if !r.force && suspects&(1<<i) != 0 {
			r.votes.Doubt(i)
		}
	}
	r.send()
}

// add makes the request for a node.
func (r *round) add(i int) {
	req := &r.requests[i]
	req.Command, req.Timeout, req.to, req.index = &r.command, r.claim.client.opts.NodeTimeout, r, int32(i)
	r.pending.Add(1)
}

// send sends the requests made, and sets the time limit: afterwards, so that it
// never meets a request that is still to be sent.
func (r *round) send() {
	r.began = time.Now()
	if r.command.Op != OpRelease {
		r.start = r.claim.client.now()
	}
	for i := range r.requests {
		if req := &r.requests[i]; req.Command != nil {
			r.claim.send(req)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending.Load() > 0 {
		r.timer = r.claim.client.opts.Clock.AfterFunc(r.claim.client.opts.NodeTimeout, r.expire)
	}
}

// answered implements receiver.
func (r *round) answered(req *Request, a Answer) {
	elapsed := req.elapsed
	if elapsed == 0 {
		elapsed = time.Since(r.began)
	}
	r.took(req, a, elapsed, r.claim.record(req, a))
	if r.pending.Add(-1) > 0 {
		return
	}
	r.mu.Lock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	if r.onDone != nil {
		r.onDone()
	}
}

// took draws the consequences of an answer.
func (r *round) took(req *Request, a Answer, elapsed time.Duration, o outcome) {
	i := int(req.index)
	v := r.claim.client.voters[i]
	v.heard(req, a)
	if o.settled {
		v.settled(r.claim.value)
	}
	r.votes.Answer(i, r.voteOf(a, o), ballot{a, elapsed})
	if r.undoing && a.Vote == VoteForeign {
		r.found(a.Value)
	}
	switch {
	case r.command.Op == OpExtend && a.Vote == VoteAbsent:
		r.forgot(i)
	case r.command.Op == OpHeal && a.Vote == VoteYes:
		r.claim.client.opts.Trace.healed(v.name, r.claim.name)
	}
	if o.hunt {
		r.claim.orphaned(i, o)
	}
	if o.next != nil {
		r.claim.dispatch(o.next)
	}
}

// voteOf tells what an answer counts as.
func (r *round) voteOf(a Answer, o outcome) quorum.Vote {
	switch {
	case r.undoing:
		return quorum.Yes
	case o.denied: // clean, but a quorum may have been lost: hear the others
		return quorum.No
	case o.clean && o.held: // one that never granted does not know of a loss
		return quorum.Yes
	case r.command.Op == OpRelease:
		return quorum.Fault
	default:
		return voteOf(a.Vote)
	}
}

// found ends an undo early when a quorum of nodes turns out to hold one foreign
// value: the rest cannot change who holds the lock.
func (r *round) found(value string) {
	if value == "" || r.claim.client.orphans.has(value) {
		return
	}
	r.mu.Lock()
	if r.foreign == "" {
		r.foreign = value
	}
	if r.foreign == value {
		r.holders++
	}
	held := r.holders >= r.claim.client.need
	r.mu.Unlock()
	if held {
		r.votes.Close()
	}
}

// expire gives up on what is unanswered.
//
// A release may have had to wait for its predecessor, which may have used up the
// time: so a round of releases only lets its waiter go at first, and gives up
// on the nodes when it has waited as long again.
func (r *round) expire() {
	again := r.expired.Swap(true)
	letGo := r.command.Op == OpRelease && !again
	if !letGo {
		r.suspectSilent()
	}
	r.votes.Close() // before the nodes are given up, so that all who are late are told as such
	if letGo {
		r.mu.Lock()
		r.timer.Reset(r.claim.client.opts.NodeTimeout)
		r.mu.Unlock()
		return
	}
	for i := range r.requests {
		if req := &r.requests[i]; req.Command != nil {
			r.giveUp(req)
		}
	}
}

// suspectSilent takes note of the nodes that have not answered, before the
// waiter is let go: what it does next must not wait for them again.
func (r *round) suspectSilent() {
	for i := range r.requests {
		if req := &r.requests[i]; req.Command != nil && r.claim.isBusy(req) {
			r.claim.client.voters[i].isSilent(req, suspect)
		}
	}
}

func (r *round) giveUp(req *Request) {
	why := errWithdrawn
	if r.claim.isBusy(req) {
		why = ErrNodeTimeout // the node had it all the time
	}
	if req.withdraw(why) {
		return
	}
	if o, gaveUp := r.claim.giveUp(req); gaveUp {
		r.took(req, Answer{Vote: VoteUnknown, Err: ErrNodeTimeout}, time.Since(r.began), o)
	}
}

// Reading the time is not free where all nodes and rounds do it for each
// request: a round has one time for all that it sends, and a lane one for all
// that a pipeline answers.

// sentAt returns the present, or when the request's round sent it just now.
func (r *Request) sentAt() time.Time {
	if its, ok := r.to.(*round); ok && !r.waited {
		return its.began
	}
	return time.Now()
}

// answeredAt sets elapsed for an answer that is about to be given.
func (r *Request) answeredAt(now time.Time) {
	if its, ok := r.to.(*round); ok {
		r.elapsed = now.Sub(its.began)
	}
}

// wait waits for the decision, at most until one of the contexts ends, and
// returns the cause if one did first.
func (r *round) wait(ctx, life context.Context) error {
	select {
	case <-r.votes.Decided():
		return nil
	default:
	}
	select {
	case <-r.votes.Decided():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-life.Done():
		return context.Cause(life)
	}
}

// won reports whether the nodes agreed.
func (r *round) won() bool {
	decision, _, _ := r.votes.Result()
	return decision == quorum.Won
}

// results returns what each node said so far.
func (r *round) results() []NodeResult {
	client := r.claim.client
	_, _, ballots := r.votes.Result()
	results := make([]NodeResult, len(ballots))
	for i, b := range ballots {
		n := NodeResult{Node: client.voters[i].name, Vote: b.Answer.Vote, Err: b.Answer.Err, Elapsed: b.Answer.elapsed}
		if b.Vote == quorum.Late && r.expired.Load() {
			n.Vote, n.Err, n.Elapsed = VoteUnknown, ErrNodeTimeout, client.opts.NodeTimeout
		}
		if n.Vote == VoteForeign {
			n.found = b.Answer.Value
			_, n.Holder, _ = strings.Cut(n.found, "/")
		}
		results[i] = n
	}
	return results
}
