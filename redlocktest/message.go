package redlocktest

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorumlock/redlock"
)

// A message is a command on its way through a node: from its arrival until it
// was both answered and carried out, or lost. The node's mutex guards it.
type message struct {
	conn     *conn
	request  *redlock.Request // nil once it is answered or about to be
	deadline time.Time        // for its answer
	command  Record           // without what came of it
	number   int              // of its record

	reply    redlock.Answer // what the timer is going to answer
	timer    *time.Timer    // until the answer
	delivery *time.Timer    // until a late message arrives; nil: it is here
	mute     bool           // the reply stays ErrNodeTimeout
}

// A reply is an answer to be given once no lock is held.
type reply struct {
	request *redlock.Request
	answer  redlock.Answer
}

func give(replies []reply) {
	for _, r := range replies {
		r.request.Answer(r.answer)
	}
}

// arriveLocked takes a request that has begun. If it can be answered now it
// returns the answer.
func (n *Node) arriveLocked(c *conn, r *redlock.Request) (answer redlock.Answer, now bool) {
	at := time.Now()
	command := Record{Op: r.Op, Key: r.Key, Value: r.Value, TTL: r.TTL, Arrived: at}
	m := &message{
		conn:     c,
		request:  r,
		deadline: at.Add(r.Timeout),
		command:  command,
		number:   n.log.add(command),
		reply:    redlock.Answer{Vote: redlock.VoteUnknown, Err: redlock.ErrNodeTimeout},
	}
	switch {
	case n.late > 0:
		n.late--
		m.mute = true
		m.delivery = time.AfterFunc(n.lateBy, func() { n.deliver(m) })
	case n.mode == hung:
		n.held = append(n.held, m)
	default:
		if n.carryOutLocked(m, at) {
			return m.reply, true
		}
	}
	if m.timer == nil {
		n.waitLocked(m, r.Timeout)
	}
	return redlock.Answer{}, false
}

// carryOutLocked executes the command and reports whether m.reply is to be given
// now: then m is done. Otherwise its timer gives what answer there is.
func (n *Node) carryOutLocked(m *message, now time.Time) bool {
	answer := n.executeLocked(&m.command)
	n.log.done(m.number, answer, now)
	if m.request == nil || m.mute {
		return false
	}
	if n.drop > 0 {
		n.drop--
		m.mute = true
		return false
	}
	if n.slow > m.deadline.Sub(now) {
		return false
	}
	m.reply = answer
	if n.slow == 0 {
		n.takeLocked(m)
		return true
	}
	n.waitLocked(m, n.slow)
	return false
}

// waitLocked sets the time of the answer, m.reply.
func (n *Node) waitLocked(m *message, d time.Duration) {
	n.open[m] = struct{}{}
	if m.timer != nil {
		m.timer.Reset(d)
		return
	}
	m.timer = time.AfterFunc(d, func() {
		n.mu.Lock()
		r := n.takeLocked(m)
		n.mu.Unlock()
		if r != nil {
			r.Answer(m.reply)
		}
	})
}

// takeLocked returns the request for its one answer, nil if another took it.
func (n *Node) takeLocked(m *message) *redlock.Request {
	r := m.request
	m.request = nil
	if m.timer != nil {
		m.timer.Stop()
	}
	if m.delivery == nil {
		delete(n.open, m)
	}
	return r
}

// deliver is the arrival of a late message.
func (n *Node) deliver(m *message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m.delivery == nil { // its connection was closed
		return
	}
	m.delivery = nil
	if m.request == nil {
		delete(n.open, m)
	}
	switch n.mode {
	case up:
		n.carryOutLocked(m, time.Now()) // answers nothing: m is mute
	case hung:
		n.held = append(n.held, m)
	case down: // lost
	}
}

// breakLocked breaks a connection, nil for all: what waits for an answer on it
// is to be answered with err. Closing one also loses what is late on it.
func (n *Node) breakLocked(c *conn, err error) []reply {
	broken := make([]*message, 0, len(n.open))
	for m := range n.open {
		if c == nil || m.conn == c {
			broken = append(broken, m)
		}
	}
	slices.SortFunc(broken, func(a, b *message) int { return cmp.Compare(a.number, b.number) })
	var replies []reply
	for _, m := range broken {
		if c != nil && m.delivery != nil {
			m.delivery.Stop()
			m.delivery = nil
		}
		if r := n.takeLocked(m); r != nil {
			replies = append(replies, reply{r, redlock.Answer{Vote: redlock.VoteUnknown, Err: err}})
		}
	}
	return replies
}
