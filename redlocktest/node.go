package redlocktest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/clock"
)

// Errors that a real server or its network would cause.
var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset by peer")
	errExpire  = errors.New("ERR invalid expire time")
)

// Node is a [redlock.Node] that keeps its keys in memory, like one Redis master
// without a network between. Its faults can be switched at any time, also while
// requests are under way.
//
// A key expires at a time on the node's own clock that is fixed when the key is
// set: a clock that is stepped or runs fast ends it early, one that is slow or
// set back late. Delays and time-outs are the network's, and follow real time.
//
// A command arrives in the moment in which it is sent. Commands that arrive are
// carried out in that order, except where DeliverLate says otherwise. While
// nothing delays a node it answers before Send returns. A node has no
// goroutine; it has a timer only for a request that waits.
//
// The Node itself is one connection, closed by Close. The nodes of several
// clients of one lock are several connections to the same Node: see
// [Node.Conn].
type Node struct {
	name  string
	clock clock.Clock
	own   *conn

	mu sync.Mutex // guards all below

	keys    map[string]entry
	sweepAt int // how many keys make looking for expired ones worth it
	log     journal

	mode    mode
	changed chan struct{} // closed when mode changes or a connection is closed
	slow    time.Duration // by how much answers are late
	drop    int           // answers still to be dropped
	late    int           // commands still to be delivered late
	lateBy  time.Duration // by how much
	failure error         // the answer to every command; nil: none

	open map[*message]struct{} // those that a timer is set for
	held []*message            // arrived while the node hangs, in order
}

// An entry is a key's value and when it expires.
type entry struct {
	value   string
	expires time.Duration // on the node's clock
}

const never = time.Duration(math.MaxInt64)

// NewNode returns an empty node that is up. Its keys expire on c; nil stands for
// [clock.System].
func NewNode(name string, c clock.Clock) *Node {
	if c == nil {
		c = clock.System()
	}
	n := &Node{
		name:    name,
		clock:   c,
		keys:    make(map[string]entry),
		changed: make(chan struct{}),
		open:    make(map[*message]struct{}),
	}
	n.own = &conn{node: n}
	return n
}

// Nodes returns count new nodes, "node-1" and so on.
func Nodes(count int) []*Node {
	nodes := make([]*Node, count)
	for i := range nodes {
		nodes[i] = NewNode(fmt.Sprintf("node-%d", i+1), nil)
	}
	return nodes
}

// String returns the name.
func (n *Node) String() string { return n.name }

// Connect returns nil if the node is up, at once an error if it is down, and
// waits for the end of ctx or of the silence if it hangs.
func (n *Node) Connect(ctx context.Context) error { return n.own.Connect(ctx) }

// Send implements [redlock.Node].
func (n *Node) Send(r *redlock.Request) { n.own.Send(r) }

// Close closes the connection that the Node is, as a client does when it is
// closed. Requests that wait for their answer get VoteUnknown and ErrClosed, those
// that are sent later VoteNotSent. What DeliverLate holds back of them is lost,
// what a hung node has accepted is not. The keys, and connections made by Conn,
// stay. A second Close does nothing.
func (n *Node) Close() error { return n.own.Close() }

// executeLocked carries out one command, as redlock.Op says.
func (n *Node) executeLocked(c *Record) redlock.Answer {
	if n.failure != nil {
		return redlock.Answer{Vote: redlock.VoteError, Err: n.failure}
	}
	switch c.Op {
	case redlock.OpAcquire, redlock.OpExtend, redlock.OpHeal:
		if c.TTL < time.Millisecond {
			return redlock.Answer{Vote: redlock.VoteError, Err: errExpire}
		}
	case redlock.OpRelease:
	default:
		return redlock.Answer{Vote: redlock.VoteError, Err: fmt.Errorf("%w: %v", redlock.ErrUnsupported, c.Op)}
	}

	now := n.clock.Now()
	found, ok := n.keys[c.Key]
	if ok && now >= found.expires {
		delete(n.keys, c.Key)
		ok = false
	}
	create := c.Op == redlock.OpAcquire || c.Op == redlock.OpHeal
	switch {
	case !ok && !create:
		return redlock.Answer{Vote: redlock.VoteAbsent}
	case ok && (create || found.value != c.Value):
		return redlock.Answer{Vote: redlock.VoteForeign, Value: found.value}
	case create:
		n.putLocked(c.Key, entry{c.Value, later(now, c.TTL)}, now)
	case c.Op == redlock.OpExtend:
		n.keys[c.Key] = entry{c.Value, max(found.expires, later(now, c.TTL))}
	default:
		delete(n.keys, c.Key)
	}
	return redlock.Answer{Vote: redlock.VoteYes}
}

// putLocked sets a key. It also throws out the expired ones now and then, so
// that keys that nobody asks for again do not pile up.
func (n *Node) putLocked(key string, e entry, now time.Duration) {
	n.keys[key] = e
	if len(n.keys) <= n.sweepAt {
		return
	}
	for key, e := range n.keys {
		if now >= e.expires {
			delete(n.keys, key)
		}
	}
	n.sweepAt = 2*len(n.keys) + 1000
}

// later returns the time ttl after now, or never if that is too far.
func later(now, ttl time.Duration) time.Duration {
	if now > never-ttl {
		return never
	}
	return now + ttl
}

// Get returns the value of a key that is there, and how long it is still going
// to be on the node's clock, -1 if it does not expire. Looking changes nothing,
// whatever the clock says: only a command removes an expired key for good, so
// one that nobody asked for is back when the clock is set back.
func (n *Node) Get(key string) (value string, left time.Duration, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock.Now()
	e, ok := n.keys[key]
	switch {
	case !ok || now >= e.expires:
		return "", 0, false
	case e.expires == never:
		return e.value, -1, true
	default:
		return e.value, e.expires - now, true
	}
}

// Set puts a value under a key, whatever was there, as another program might.
// With a ttl of zero or less it does not expire.
func (n *Node) Set(key, value string, ttl time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock.Now()
	e := entry{value, never}
	if ttl > 0 {
		e.expires = later(now, ttl)
	}
	n.putLocked(key, e, now)
}

// Delete removes a key, whoever set it.
func (n *Node) Delete(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.keys, key)
}

// Len returns how many keys are there.
func (n *Node) Len() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, live := n.clock.Now(), 0
	for _, e := range n.keys {
		if now < e.expires {
			live++
		}
	}
	return live
}
