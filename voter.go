package redlock

import (
	"errors"
	"sync"
	"time"
)

// A voter is a node with what its client knows of it: whether it answers, and
// which keys of its own the client may have left there.
//
// A node is suspect after a command that was not answered in time. The others
// decide without it wherever they can, and it gets one request at a time, the
// probe, until it answers; the pause between two probes doubles up to a second.
// A node that fails at once (a refused connection) is down: asking it costs
// nothing, but it cannot help the others to a quorum, and hunts probe it too.
type voter struct {
	client *Client
	node   Node
	name   string

	mu      sync.Mutex
	suspect bool          // guarded by mu
	down    bool          // guarded by mu
	probe   *Request      // under way on a silent node; guarded by mu
	probeAt time.Duration // no probe before; guarded by mu
	pause   time.Duration // from one probe to the next; guarded by mu
	hunts   hunts         // guarded by mu
}

const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// longer returns the pause after one of d.
func longer(d time.Duration) time.Duration {
	return min(max(2*d, minPause), maxPause)
}

// state returns whether the node is suspect, and whether it can be expected to
// vote.
func (v *voter) state() (suspect, able bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.suspect, !v.suspect && !v.down
}

// admit reports whether r may be sent although the others suffice: always if
// the node is not suspect, as its probe if none is under way or due.
func (v *voter) admit(r *Request) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.suspect {
		return true
	}
	if v.probe != nil || v.client.now() < v.probeAt {
		return false
	}
	v.probe = r
	return true
}

// heard takes note of what came of a request.
func (v *voter) heard(r *Request, a Answer) {
	switch {
	case a.Vote.replied():
		v.hasAnswered(r)
	case errors.Is(a.Err, ErrNodeTimeout):
		v.isSilent(r, true)
	case a.Err == errWithdrawn, a.Err == errSuspect, a.Err == errNothing,
		errors.Is(a.Err, ErrNodeBusy), errors.Is(a.Err, ErrClosed): // says nothing of the node
		v.mu.Lock()
		v.probed(r)
		v.mu.Unlock()
	default:
		v.isSilent(r, false)
	}
}

func (v *voter) hasAnswered(r *Request) {
	v.mu.Lock()
	v.probed(r)
	cleared := v.suspect
	if v.suspect || v.down {
		now := v.client.now()
		v.suspect, v.down, v.pause = false, false, 0
		v.hunts.hurry(now)
		v.armLocked(now)
	}
	v.mu.Unlock()
	if cleared {
		v.client.opts.Trace.suspect(v.name, false)
	}
}

// isSilent takes note that r got no reply: late, because the node did not answer
// in time, which makes it suspect, or because it failed at once, which makes it
// down: waiting for it costs nothing.
func (v *voter) isSilent(r *Request, late bool) {
	now := v.client.now()
	v.mu.Lock()
	changed := v.suspect != late
	if changed || v.suspect == v.down {
		v.pause, v.probeAt = 0, now
	}
	v.suspect, v.down = late, !late
	if v.probed(r) {
		v.pause = longer(v.pause)
		v.probeAt = now + v.pause
	}
	v.armLocked(now)
	v.mu.Unlock()
	if changed {
		v.client.opts.Trace.suspect(v.name, late)
	}
}

// probed reports whether r was the probe, which it is no more. v.mu is held.
func (v *voter) probed(r *Request) bool {
	if v.probe != r || r == nil {
		return false
	}
	v.probe = nil
	return true
}
