package redlock

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// A claim is one token's presence on the nodes, from its first SET until
// nothing of it can be left. It keeps the order per node: a release or a heal is
// sent after the earlier command for the token was answered, timed out, or was
// withdrawn unsent.
type claim struct {
	client *Client
	name   string
	key    string
	value  string // "<token>/<owner>"
	dice   uint64 // part of the token, for random waits

	mu     sync.Mutex
	places []place       // one for each node; guarded by mu
	ttl    time.Duration // the longest sent; guarded by mu
	closed bool          // being undone or released: nothing is set or extended any more; guarded by mu
}

// A place is what one node may hold of a claim.
type place struct {
	busy *Request // handed to the node, neither answered nor timed out
	next *Request // waits for busy

	touched    bool // bytes of a SET may have left at some time
	unanswered int8 // SETs that may still arrive: timed out, or broken off
	arrived    bool // one of them has, for all that the node says
	granted    bool // the node said that it has our value, and has not said otherwise since
	held       bool // it had granted at some time
	gone       bool // the node had granted, and then lost the key without our doing
	deleting   bool // a delete of ours may have been carried out unseen
	clean      bool // since its release nothing of ours is left for certain
	forsaken   bool // the release was given up before busy was: what busy leaves must be hunted
}

const tokenBytes = 20

func (c *Client) newClaim(name string, ttl time.Duration) *claim {
	var token [tokenBytes]byte
	rand.Read(token[:]) // never fails
	value := make([]byte, 0, 2*tokenBytes+1+len(c.opts.Owner))
	value = hex.AppendEncode(value, token[:])
	value = append(value, '/')
	value = append(value, c.opts.Owner...)
	return &claim{
		client: c,
		name:   name,
		key:    c.opts.KeyPrefix + name,
		value:  string(value),
		dice:   binary.BigEndian.Uint64(token[:]),
		places: make([]place, len(c.voters)),
		ttl:    ttl,
	}
}

func (c *claim) token() string { return c.value[:2*tokenBytes] }

// random returns a number that is uniform in [0, n), made of the token: every
// attempt has its own, and whoever fixes the source of tokens fixes the waits.
func (c *claim) random(n time.Duration) time.Duration {
	if n <= 0 {
		return 0
	}
	return time.Duration(c.dice % uint64(n))
}

// life returns how long a key of the claim lives at most after it was set.
func (c *claim) life() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	drift, err := c.client.opts.Drift.For(c.ttl)
	if err != nil { // checked when the TTL was
		panic(err)
	}
	return c.ttl + drift
}

// send hands r to its node, or keeps it until the node's earlier command for
// the claim is over.
func (c *claim) send(r *Request) {
	c.mu.Lock()
	p := &c.places[r.index]
	busy, replaced := p.busy, (*Request)(nil)
	if busy == nil {
		p.busy = r
		c.dispatchLocked(r)
		return
	}
	replaced, p.next = p.next, r
	r.waited = true
	c.mu.Unlock()
	if replaced != nil {
		replaced.Withdraw()
	}
	if r.Op == OpRelease {
		busy.Withdraw() // if it has not begun, its answer lets r go
	}
}

// dispatch hands r, which is the place's busy request, to the node, unless
// there is a reason not to.
func (c *claim) dispatch(r *Request) {
	c.mu.Lock()
	c.dispatchLocked(r)
}

// dispatchLocked is dispatch called with c.mu held, which it releases.
func (c *claim) dispatchLocked(r *Request) {
	closed, touched := c.closed, c.places[r.index].touched
	c.mu.Unlock()
	round, v := r.to.(*round), c.client.voters[r.index]
	switch {
	case closed && r.Op != OpRelease:
		r.Withdraw()
	case round.undoing && !round.looking && !touched:
		r.withdraw(errNothing)
	case !round.force && !v.admit(r):
		r.withdraw(errSuspect)
	default:
		v.node.Send(r)
	}
}

// close ends all setting and extending. It reports whether this call did.
func (c *claim) close() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.closed
	c.closed = true
	return !was
}

// An outcome is what an answer changed at a place.
type outcome struct {
	next    *Request // to be sent now
	settled bool     // a SET that was given up was answered after all
	hunt    bool     // something of ours may be left
	// with hunt: whether a SET may still arrive, and how many keys may turn up
	unanswered bool
	keys       int
	denied     bool // the node had lost the key when it was released
	clean      bool // after a release, nothing of ours is left
	held       bool // the node had granted at some time
}

// record takes note of the answer to r.
func (c *claim) record(r *Request, a Answer) outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recordLocked(r, a)
}

// giveUp records that the node had r and did not answer in time, unless it did
// or has not got it yet. The real answer may still come.
func (c *claim) giveUp(r *Request) (o outcome, gaveUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.places[r.index].busy != r {
		return o, false
	}
	return c.recordLocked(r, Answer{Vote: VoteUnknown}), true
}

// isBusy reports whether the node has r and has not answered.
func (c *claim) isBusy(r *Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.places[r.index].busy == r
}

func (c *claim) recordLocked(r *Request, a Answer) (o outcome) {
	p := &c.places[r.index]
	current := p.busy == r
	switch {
	case current:
		p.busy, p.next, o.next = p.next, nil, p.next
	case p.next == r: // withdrawn before its turn
		p.next = nil
		p.forsaken = r.Op == OpRelease
	}
	switch r.Op {
	case OpAcquire, OpHeal:
		o.settled = p.recordSet(a.Vote, current)
		o.hunt = p.forsaken && (p.granted || p.unanswered > 0)
	case OpExtend:
		p.recordExtend(a.Vote)
	case OpRelease:
		gone := p.gone
		o.hunt = p.recordRelease(a.Vote)
		o.clean, o.held, o.denied = p.clean, p.held, p.gone && !gone
	}
	o.unanswered, o.keys = p.unanswered > 0, p.keys()
	return o
}

// keys returns how many keys of ours may turn up: one that is there, and one for
// each SET that may still arrive, when there is none.
func (p *place) keys() int {
	keys := int(p.unanswered)
	if p.granted && !p.arrived {
		keys++
	}
	return keys
}

// recordSet reports whether the answer settles a SET given up before.
func (p *place) recordSet(v Vote, current bool) (settled bool) {
	switch v {
	case VoteNotSent:
		return false
	case VoteUnknown:
		p.touched = true
		if current {
			p.unanswered++
		}
		return false
	case VoteYes:
		p.granted, p.held, p.gone = true, true, false
	}
	p.touched = true
	if current || p.unanswered == 0 {
		return false
	}
	p.unanswered--
	p.arrived = p.arrived && v != VoteYes && p.unanswered > 0
	return p.unanswered == 0
}

func (p *place) recordExtend(v Vote) {
	switch v {
	case VoteYes:
		p.arrived = p.arrived || !p.granted && p.unanswered > 0
		p.granted, p.held, p.gone = true, true, false
	case VoteAbsent, VoteForeign:
		p.lost()
	}
}

// recordRelease reports whether the key must be hunted.
func (p *place) recordRelease(v Vote) (hunt bool) {
	mine := p.granted || p.unanswered > 0
	switch v {
	case VoteYes:
		// One SET is undone. If the node was healed, another may still arrive.
		p.unanswered = int8(max(p.keys()-1, 0))
		p.granted, p.arrived, p.deleting, p.clean = false, false, false, true
		return p.unanswered > 0
	case VoteAbsent, VoteForeign:
		p.lost()
		p.clean = p.clean || p.unanswered == 0
	}
	p.deleting = p.deleting || v == VoteUnknown
	return mine && !p.clean
}

// lost takes note that the node does not hold our value. If it had granted and
// we did not delete it, that is a loss.
func (p *place) lost() {
	if p.granted && !p.deleting {
		p.gone = true
	}
	if p.arrived { // what had arrived is not there any more
		p.unanswered, p.arrived = p.unanswered-1, false
	}
	p.granted = false
}

// isClean reports whether nothing of the claim is left on a quorum of nodes.
func (c *claim) isClean() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	clean := 0
	for i := range c.places {
		if c.places[i].clean {
			clean++
		}
	}
	return clean >= c.client.need
}

// couldHold reports whether so many nodes may have held the claim, before any
// delete of ours, that they were a quorum.
func (c *claim) couldHold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	holders := 0
	for i := range c.places {
		p := &c.places[i]
		setting := p.busy != nil && (p.busy.Op == OpAcquire || p.busy.Op == OpHeal)
		if (p.held || p.unanswered > 0 || setting) && !p.gone {
			holders++
		}
	}
	return holders >= c.client.need
}

// orphaned hunts the claim's key on a node, as o says.
func (c *claim) orphaned(i int, o outcome) {
	c.mu.Lock()
	c.places[i].deleting = true
	c.mu.Unlock()
	c.client.voters[i].hunt(c, o)
}
