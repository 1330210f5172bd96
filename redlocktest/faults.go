package redlocktest

import "time"

// mode is how a node treats what arrives.
type mode uint8

const (
	up   mode = iota
	down      // refuses it
	hung      // keeps it
)

// Down makes the node refuse requests at once, with VoteNotSent and an error
// like "connection refused", as when its process was killed or its network
// rejects packets. Requests that wait for an answer get VoteUnknown and a reset
// connection; what a hung node had not carried out is lost. The keys stay, and
// expire: use Forget for a server that comes back without them.
func (n *Node) Down() { n.turn(to(down)) }

// Up ends Down and Hang. After Hang it does what Resume does.
func (n *Node) Up() { n.turn(to(up)) }

// Hang makes the node silent, like a server stopped by SIGSTOP: it accepts
// requests and keeps them, but carries out and answers nothing, so they get
// VoteUnknown and ErrNodeTimeout after their time-out. When it resumes it
// carries out everything, in order, also what was given up long ago: that is how
// a key comes to be that nobody holds.
func (n *Node) Hang() { n.turn(to(hung)) }

// Resume ends Hang. It carries out what has arrived meanwhile, at today's time:
// a TTL begins now. Requests that have time left are answered, those of them
// that Slow does not delay before Resume returns. Resume does nothing if the
// node does not hang.
func (n *Node) Resume() {
	n.turn(func(now mode) mode {
		if now == hung {
			return up
		}
		return now
	})
}

// turn changes the mode and gives the answers that this brings about.
func (n *Node) turn(next func(now mode) mode) {
	n.mu.Lock()
	n.mode = next(n.mode)
	n.wakeLocked()
	var replies []reply
	switch n.mode {
	case down:
		replies = n.breakLocked(nil, errReset)
		n.held = nil
	case up:
		replies = n.resumeLocked()
	}
	n.mu.Unlock()
	give(replies)
}

func to(m mode) func(mode) mode { return func(mode) mode { return m } }

// resumeLocked carries out what was held.
func (n *Node) resumeLocked() (replies []reply) {
	now := time.Now()
	for _, m := range n.held {
		r := m.request
		if n.carryOutLocked(m, now) {
			replies = append(replies, reply{r, m.reply})
		}
	}
	n.held = nil
	return replies
}

// Slow makes every answer come d later; zero ends it. The command is carried out
// when it arrives, the answer is what is late: one that is later than the
// request's time-out becomes VoteUnknown at the time-out, although the command
// was carried out. Answers under way keep their time.
func (n *Node) Slow(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow = max(d, 0)
}

// DropReplies makes the node carry out the next count commands and never answer
// them: they get VoteUnknown at their time-out. Zero ends it.
func (n *Node) DropReplies(count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop = count
}

// DeliverLate makes the next count requests arrive d late, so that later ones
// overtake them. They get VoteUnknown at their time-out, even if they arrive
// before. One that arrives at a hung node waits there, one that arrives at a
// node that is down is lost, as is one whose connection was closed. Zero ends it
// for later requests.
func (n *Node) DeliverLate(count int, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.late, n.lateBy = count, d
}

// Forget removes all keys, as a flush does, or a restart (between Down and Up)
// of a server that saves nothing.
func (n *Node) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.keys)
}

// Answer makes the node answer every command with VoteError and err, and change
// nothing, as a server does that is loading, out of memory or read-only. Nil
// ends it.
func (n *Node) Answer(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failure = err
}
