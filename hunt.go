package redlock

import (
	"container/heap"
	"time"

	"github.com/quorumlock/redlock/clock"
)

// maxHunts bounds the hunted tokens of a node; huntBatch those undone at once.
const (
	maxHunts  = 10_000
	huntBatch = 256
)

// A hunt looks for a key that an attempt nobody holds may have left on a node,
// and deletes it.
//
// While a SET is unanswered, "absent" proves nothing: the SET may still be on
// its way. So the undo is repeated until it deleted the key, or until the key
// would have expired had it been set at the node's first answer since. A SET
// that arrives even later lives for its TTL; no client can prevent that.
type hunt struct {
	value      string
	command    *Command      // the undo
	life       time.Duration // how long the key lives at most once it is set
	unanswered bool          // a SET may still arrive
	keys       int           // how many may turn up, one after the other
	heard      bool          // the node has answered since
	heardAt    time.Duration // when, if heard

	at    time.Duration // when to undo again
	pause time.Duration // from one undo to the next
	age   uint64        // smaller is older
	index int           // in the heap; -1: an undo is under way
}

// over reports whether an answer to the undo, or the time, ends the hunt.
func (h *hunt) over(v Vote, now time.Duration) (OrphanState, bool) {
	if v == VoteYes {
		h.keys--
		if h.keys <= 0 {
			return OrphanDeleted, true
		}
	}
	if v.replied() && !h.heard {
		h.heard, h.heardAt = true, now
	}
	if (v == VoteAbsent || v == VoteForeign) && !h.unanswered {
		return OrphanGone, true
	}
	if h.heard && now-h.heardAt >= h.life {
		return OrphanGone, true
	}
	return OrphanHunted, false
}

// hunts are the hunts on one node, by token and by time. The zero value is
// empty; the voter's mutex guards it.
type hunts struct {
	byValue map[string]*hunt
	queue   huntQueue // those with no undo under way
	timer   clock.Timer
	ages    uint64
}

// add begins a hunt, or brings a known one up to date, and returns the hunt
// that had to be dropped for it, if any.
func (hs *hunts) add(h *hunt) (dropped *hunt, added bool) {
	if known := hs.byValue[h.value]; known != nil {
		known.unanswered = known.unanswered || h.unanswered
		known.keys = max(known.keys, h.keys)
		known.heard = known.heard && h.heard
		known.heardAt = max(known.heardAt, h.heardAt)
		known.life = max(known.life, h.life)
		return nil, false
	}
	if hs.byValue == nil {
		hs.byValue = make(map[string]*hunt)
	}
	if len(hs.byValue) >= maxHunts {
		dropped = hs.oldest()
		hs.remove(dropped)
	}
	hs.ages++
	h.age = hs.ages
	hs.byValue[h.value] = h
	heap.Push(&hs.queue, h)
	return dropped, true
}

// oldest scans all hunts, which happens only when there are far too many.
func (hs *hunts) oldest() *hunt {
	var oldest *hunt
	for _, h := range hs.byValue {
		if oldest == nil || h.age < oldest.age {
			oldest = h
		}
	}
	return oldest
}

func (hs *hunts) remove(h *hunt) {
	delete(hs.byValue, h.value)
	if h.index >= 0 {
		heap.Remove(&hs.queue, h.index)
	}
}

// hurry makes every waiting hunt due: the node answers again.
func (hs *hunts) hurry(now time.Duration) {
	for _, h := range hs.queue {
		h.at, h.pause = min(h.at, now), 0
	}
	heap.Init(&hs.queue)
}

// huntQueue is a heap of hunts, the one due next first.
type huntQueue []*hunt

func (q huntQueue) Len() int           { return len(q) }
func (q huntQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q huntQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *huntQueue) Push(x any) {
	h := x.(*hunt)
	h.index = len(*q)
	*q = append(*q, h)
}

func (q *huntQueue) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	h.index = -1
	return h
}

// hunt begins to look for the claim's key on the node; o says what may turn up.
func (v *voter) hunt(c *claim, o outcome) {
	now := v.client.now()
	h := &hunt{
		value:      c.value,
		command:    &Command{Op: OpRelease, Key: c.key, Value: c.value},
		life:       c.life(),
		unanswered: o.unanswered,
		keys:       o.keys,
		heard:      !o.unanswered, // its expiry has been running ever since
		heardAt:    now,
		at:         now + minPause,
		pause:      minPause,
	}
	v.mu.Lock()
	dropped, added := v.hunts.add(h)
	v.armLocked(now)
	v.mu.Unlock()
	if added {
		v.client.orphans.add(h.value)
		v.client.opts.Trace.orphan(v.name, c.key, OrphanHunted)
	}
	if dropped != nil {
		v.end(dropped, OrphanDropped)
	}
}

// settled tells the hunt for value, if there is one, that its SET has been
// answered after all: from now on "absent" is the truth.
func (v *voter) settled(value string) {
	now := v.client.now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if h := v.hunts.byValue[value]; h != nil {
		h.unanswered = false
		if h.index >= 0 {
			h.at = now
			heap.Fix(&v.hunts.queue, h.index)
		}
		v.armLocked(now)
	}
}

// end tells the client and the world how a hunt ended.
func (v *voter) end(h *hunt, state OrphanState) {
	v.client.orphans.remove(h.value)
	v.client.opts.Trace.orphan(v.name, h.command.Key, state)
}

// armLocked sets the timer to the time of the next undo. v.mu is held.
func (v *voter) armLocked(now time.Duration) {
	hs := &v.hunts
	if len(hs.queue) == 0 || v.client.isClosed() {
		return
	}
	at := hs.queue[0].at
	if v.standing() != answering {
		if v.probe != nil {
			return // its answer arms the timer
		}
		at = max(at, v.probeAt)
	}
	if hs.timer == nil {
		hs.timer = v.client.opts.Clock.AfterFunc(at-now, v.undoDue)
		return
	}
	hs.timer.Reset(at - now)
}

// undoDue sends the undos that are due: one if the node is silent.
func (v *voter) undoDue() {
	now := v.client.now()
	batch := huntBatch
	var requests []*Request

	v.mu.Lock()
	silent := v.standing() != answering
	if silent && (v.probe != nil || now < v.probeAt) {
		v.armLocked(now)
		v.mu.Unlock()
		return
	}
	if silent {
		batch = 1
	}
	for len(requests) < batch && len(v.hunts.queue) > 0 && v.hunts.queue[0].at <= now {
		h := heap.Pop(&v.hunts.queue).(*hunt)
		requests = append(requests, &Request{Command: h.command, Timeout: v.client.opts.NodeTimeout, to: &undo{v, h}})
	}
	if silent && len(requests) > 0 {
		v.probe = requests[0]
	}
	v.armLocked(now)
	v.mu.Unlock()

	for _, r := range requests {
		v.node.Send(r)
	}
}

// An undo receives the answer of one undo of a hunt.
type undo struct {
	voter *voter
	hunt  *hunt
}

func (u *undo) answered(r *Request, a Answer) {
	v, h := u.voter, u.hunt
	now := v.client.now()
	v.heard(r, a)

	v.mu.Lock()
	if v.hunts.byValue[h.value] != h { // dropped meanwhile
		v.mu.Unlock()
		return
	}
	state, over := h.over(a.Vote, now)
	if over {
		v.hunts.remove(h)
	} else {
		h.pause = longer(h.pause)
		h.at = now + h.pause
		heap.Push(&v.hunts.queue, h)
		v.armLocked(now)
	}
	v.mu.Unlock()
	if over {
		v.end(h, state)
	}
}

// stop ends all hunts of a closed client.
func (v *voter) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hunts.timer != nil {
		v.hunts.timer.Stop()
	}
	v.hunts = hunts{}
}
