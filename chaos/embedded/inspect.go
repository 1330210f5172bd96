package embedded

import (
	"bufio"
	"io"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// tickLocked moves the node's time to now. It is called before every command and
// every look, and at no other time: a key expires exactly at the end of its TTL
// (Redis keeps it up to 1 ms longer), and none in the middle of a script.
//
// It costs a walk over all keys. miniredis' own ClockTTL does too, but follows
// the wall clock, moves on in the middle of a script, and forgets that a step
// back makes keys live longer.
func (n *Node) tickLocked() {
	now := n.clock.Now()
	if now == n.last {
		return
	}
	n.redis.FastForward(now - n.last)
	n.redis.SetTime(n.origin.Add(now)) // for TIME and PEXPIREAT
	n.last = now
}

// doLocked carries out a command of the node itself.
func (n *Node) doLocked(command ...string) {
	n.redis.Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), command)
}

// Get returns the string under key in database 0, and whether there is one.
// Like the other ways to look into a node it works while the node is down or
// hangs.
func (n *Node) Get(key string) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tickLocked()
	value, err := n.redis.DB(0).Get(key)
	return value, err == nil
}

// PTTL returns how long key in database 0 will live, and whether there is such
// a key. Zero means without end.
func (n *Node) PTTL(key string) (time.Duration, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tickLocked()
	db := n.redis.DB(0)
	return db.TTL(key), db.Exists(key)
}

// Keys returns the keys in database 0, sorted.
func (n *Node) Keys() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tickLocked()
	return n.redis.DB(0).Keys()
}

// Len returns how many keys database 0 has.
func (n *Node) Len() int { return len(n.Keys()) }
