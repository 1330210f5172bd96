package redlock

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A voter is a node with what its client knows of it: whether it answers, and
// which keys of its own the client may have left there.
//
// A node is suspect after a command that was not answered in time. The others
// decide without it wherever they can, and it gets one request at a time, the
// probe, until it answers; the pause between two probes doubles up to a second.
// A node that fails at once (a refused connection) is down: asking it costs
// nothing, but it cannot help the others to a quorum. Hunts probe both.
type voter struct {
	client *Client
	node   Node
	name   string

	state atomic.Uint32 // a standing; changed with mu held

	mu      sync.Mutex
	probe   *Request      // under way on a silent node; guarded by mu
	probeAt time.Duration // no probe before; guarded by mu
	pause   time.Duration // from one probe to the next; guarded by mu
	hunts   hunts         // guarded by mu
}

// A standing is what a client thinks of a node.
type standing uint32

const (
	answering standing = iota // as far as is known
	suspect
	down
)

func (v *voter) standing() standing { return standing(v.state.Load()) }

const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// longer returns the pause after one of d.
func longer(d time.Duration) time.Duration {
	return min(max(2*d, minPause), maxPause)
}

// admit reports whether r may be sent although the others suffice: always if
// the node is not suspect, as its probe if none is under way or due.
func (v *voter) admit(r *Request) bool {
	if v.standing() != suspect {
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.standing() != suspect {
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
		v.hasAnswered()
	case errors.Is(a.Err, ErrNodeTimeout):
		v.isSilent(r, suspect)
	case isOurs(a.Err):
		v.mu.Lock()
		v.probed(r)
		v.mu.Unlock()
	default:
		v.isSilent(r, down)
	}
}

// isOurs reports whether an answer's error says nothing of the node.
func isOurs(err error) bool {
	for _, ours := range []error{errWithdrawn, errSuspect, errNothing, ErrNodeBusy, ErrClosed} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}

func (v *voter) hasAnswered() {
	if v.standing() == answering {
		return
	}
	v.mu.Lock()
	was := v.standing()
	if was != answering {
		now := v.client.now()
		v.state.Store(uint32(answering))
		v.probe, v.pause = nil, 0 // also if the probe is still under way: it probes nothing any more
		v.hunts.hurry(now)
		v.armLocked(now)
	}
	v.mu.Unlock()
	if was == suspect {
		v.client.opts.Trace.suspect(v.name, false)
	}
}

// isSilent takes note that r got no reply: the node did not answer in time,
// which makes it suspect, or failed at once, which makes it down.
func (v *voter) isSilent(r *Request, becomes standing) {
	now := v.client.now()
	v.mu.Lock()
	was := v.standing()
	if was != becomes {
		v.state.Store(uint32(becomes))
		v.pause, v.probeAt = 0, now
	}
	if v.probed(r) {
		v.pause = longer(v.pause)
		v.probeAt = now + v.pause
	}
	v.armLocked(now)
	v.mu.Unlock()
	if (was == suspect) != (becomes == suspect) {
		v.client.opts.Trace.suspect(v.name, becomes == suspect)
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
