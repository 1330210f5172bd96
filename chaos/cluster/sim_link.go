package cluster

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A simLink is one client's way to one node. As over a real connection, what is
// asked while an answer is outstanding waits and leaves together afterwards;
// messages arrive in the order in which they were sent; and after a command
// that was not answered in time the connection is given up, and the next one's
// messages may overtake its.
type simLink struct {
	sim    *Sim
	node   *simNode
	client int
	number int

	// guarded by sim.mu
	closed bool
	queue  []simWaiting
	flying []*simMessage // sent on this connection, not answered
	conn   *simConn      // the connection
	sent   map[sent]int  // how often
}

// What was sent: commands with one token.
type sent struct {
	op    redlock.Op
	value string
}

// A simConn is a connection.
type simConn struct {
	sim *Sim

	// guarded by sim.mu
	arriving []*simMessage // on their way to the node, in order
	toNode   time.Duration // true time of the latest arrival there
	toClient time.Duration // and here
	timed    bool          // its end is on the agenda, for when an answer is overdue
}

// A simWaiting is a request that was not sent yet.
type simWaiting struct {
	*redlock.Request
	since time.Duration // true time
	order plan.Dice     // among those of one instant: requests of one token stay as they were sent
}

// A simMessage is a request that was sent.
type simMessage struct {
	link    *simLink
	request *redlock.Request
	command redlock.Command // a copy: the request is over before the last copy arrives
	dice    plan.Dice
	conn    *simConn
	limit   time.Duration  // true time: when its time is over
	answer  redlock.Answer // on its way back
}

func (l *simLink) String() string { return l.node.store.String() }

// Connect implements redlock.Node: it answers after a round trip.
func (l *simLink) Connect(ctx context.Context) error {
	dice := l.sim.dice.For(uint64(l.number)).ForText("connect")
	select {
	case <-time.After(dice.In(l.sim.Plan.Network.Delay)):
	case <-ctx.Done():
		return ctx.Err()
	}
	l.sim.mu.Lock()
	defer l.sim.mu.Unlock()
	switch {
	case l.closed:
		return redlock.ErrClosed
	case l.node.down != "":
		return errRefused
	default:
		return nil
	}
}

// Close implements redlock.Node.
func (l *simLink) Close() error {
	l.sim.change(func() { l.closed = true })
	l.breakWith(redlock.ErrClosed)
	return nil
}

// breakWith gives the connection up. What was sent is unknown, what waits is
// not sent.
func (l *simLink) breakWith(err error) {
	l.sim.mu.Lock()
	flying, queue := l.flying, l.queue
	l.flying, l.queue = nil, nil
	l.conn = &simConn{sim: l.sim}
	l.sim.mu.Unlock()
	for i, m := range flying { // a nanosecond apart: they belong to several callers
		l.sim.agenda.after(time.Duration(i), func() {
			m.request.Answer(redlock.Answer{Vote: redlock.VoteUnknown, Err: err})
		})
	}
	for _, w := range queue {
		if w.Begin() {
			w.Answer(redlock.Answer{Vote: redlock.VoteNotSent, Err: err})
		}
	}
}

// Send implements redlock.Node.
func (l *simLink) Send(r *redlock.Request) {
	l.sim.mu.Lock()
	refused := error(nil)
	switch {
	case l.closed:
		refused = redlock.ErrClosed
	case l.node.down != "":
		refused = errRefused
		l.node.showsLocked(l.sim, l.node.down)
	default:
		l.queue = append(l.queue, simWaiting{r, l.sim.Log.Now(), l.sim.dice.ForText(r.Value)})
		l.flushLocked()
	}
	l.sim.mu.Unlock()
	if refused != nil && r.Begin() {
		r.Answer(redlock.Answer{Vote: redlock.VoteNotSent, Err: refused})
	}
}

// flushLocked has the queue leave, unless an answer is outstanding. It leaves a
// moment later, with the client's other queues: what several goroutines send at
// one instant comes in any order, and must leave in the same order in every run,
// as far as nodes allow that.
func (l *simLink) flushLocked() {
	c := l.sim
	if c.leaving[l.client-1] || len(l.flying) > 0 || len(l.queue) == 0 {
		return
	}
	c.leaving[l.client-1] = true
	moment := c.dice.For(uint64(l.client), uint64(c.Log.Now())).In(moments)
	c.agenda.after(moment, func() { c.leave(l.client) })
}

// leave sends what waits for the client's nodes.
func (c *Sim) leave(client int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving[client-1] = false
	for _, l := range c.links {
		if l.client == client && len(l.flying) == 0 {
			l.leaveLocked()
		}
	}
}

func (l *simLink) leaveLocked() {
	queue := l.queue
	l.queue = nil
	slices.SortStableFunc(queue, func(a, b simWaiting) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.order, b.order))
	})
	for _, w := range queue {
		if w.Begin() {
			l.flyLocked(w.Request)
		}
	}
}

// flyLocked sends a request that has begun.
func (l *simLink) flyLocked(r *redlock.Request) {
	about := sent{r.Op, r.Value}
	l.sent[about]++
	if r.Op == redlock.OpExtend || r.Op == redlock.OpHeal {
		e := keyEvent(history.Prolongs, l.node.number, r.Key, r.Value, 0)
		if e.Text = "an extension"; r.Op == redlock.OpHeal {
			e.Text = "a heal"
		}
		l.sim.Log.Add(e)
	}
	m := &simMessage{
		link: l, request: r, conn: l.conn,
		command: redlock.Command{Op: r.Op, Key: r.Key, Value: r.Value, TTL: r.TTL},
		dice:    l.sim.dice.For(uint64(l.client), uint64(l.node.number), uint64(r.Op), uint64(l.sent[about])).ForText(r.Value),
	}
	l.flying = append(l.flying, m)
	now := l.sim.Log.Now()
	// A little later than the client's own limit, which it is the business of
	// whoever sent it to keep, and each at a time of its own.
	m.limit = now + r.Timeout + m.jitter("timeout")
	if !m.conn.timed {
		m.conn.timed = true
		l.sim.agenda.after(m.limit-now, func() { l.expire(m.conn) })
	}

	network, n := &l.sim.Plan.Network, l.node
	delay := m.drawn("there").In(network.Delay)
	if n.strikesLocked(l.sim, plan.LateDeliver) {
		delay += n.late + m.jitter("later")
	} else if m.drawn("delayed").Chance(network.Delayed) {
		delay += m.drawn("late").In(network.Late)
	}
	if n.strikesLocked(l.sim, plan.Duplicate) || m.drawn("duplicate").Chance(network.Duplicate) {
		again := delay + m.drawn("copy").In(network.Late) + m.jitter("copy")
		l.sim.agenda.after(again, m.arriveAgain)
	}
	if n.isCutLocked(l.sim, l.client) || n.strikesLocked(l.sim, plan.DropRequest) || m.drawn("drop").Chance(network.DropRequest) {
		return
	}
	if n.strikesLocked(l.sim, plan.Reset) {
		l.sim.agenda.after(delay, func() { l.endOf(m.conn, errReset) })
		return
	}
	l.conn.toNode = max(now+delay, l.conn.toNode+time.Nanosecond)
	l.conn.arriving = append(l.conn.arriving, m)
	l.sim.agenda.after(l.conn.toNode-now, m.conn.arrive)
}

// strikesLocked reports whether a fault of messages acts on one now.
func (n *simNode) strikesLocked(c *Sim, fault string) bool {
	if n.acts[fault] == 0 {
		return false
	}
	n.showsLocked(c, fault)
	return true
}

// isCutLocked reports whether the client is cut off from the node.
func (n *simNode) isCutLocked(c *Sim, client int) bool {
	if n.cut[client] == 0 {
		return false
	}
	n.showsLocked(c, plan.Partition)
	return true
}

func (m *simMessage) drawn(what string) plan.Dice { return m.dice.ForText(what) }

// jitter keeps apart what would happen at once.
func (m *simMessage) jitter(what string) time.Duration {
	return m.drawn(what).For(1).In(moments)
}

// expire gives the connection up if an answer is overdue.
func (l *simLink) expire(conn *simConn) {
	l.sim.mu.Lock()
	now, next := l.sim.Log.Now(), time.Duration(math.MaxInt64)
	for _, m := range l.flying {
		next = min(next, m.limit)
	}
	overdue := len(l.flying) > 0 && next <= now
	switch {
	case l.conn != conn || overdue:
	case len(l.flying) == 0:
		conn.timed = false
	default:
		l.sim.agenda.after(next-now, func() { l.expire(conn) })
	}
	l.sim.mu.Unlock()
	if overdue {
		l.endOf(conn, redlock.ErrNodeTimeout)
	}
}

// endOf gives up connection conn, if it is still the one in use. What waits is
// sent over the next one.
func (l *simLink) endOf(conn *simConn, err error) {
	l.sim.mu.Lock()
	if l.conn != conn {
		l.sim.mu.Unlock()
		return
	}
	queue := l.queue
	l.queue = nil
	l.sim.mu.Unlock()
	l.breakWith(err)
	for _, w := range queue {
		l.Send(w.Request)
	}
}

// arrive is the arrival of the connection's next request at the node.
func (c *simConn) arrive() {
	c.sim.mu.Lock()
	m := c.arriving[0]
	c.arriving = c.arriving[1:]
	lost := m.arriveLocked(false)
	c.sim.mu.Unlock()
	if lost {
		m.link.endOf(c, errReset)
	}
}

// arriveAgain is the arrival of a copy, whose reply nobody waits for.
func (m *simMessage) arriveAgain() {
	m.link.sim.mu.Lock()
	defer m.link.sim.mu.Unlock()
	m.arriveLocked(true)
}

// arriveLocked reports whether the request was lost because the node is down.
func (m *simMessage) arriveLocked(copied bool) (lost bool) {
	n := m.link.node
	switch {
	case n.down != "":
		n.showsLocked(m.link.sim, n.down)
		return true
	case n.paused:
		n.showsLocked(m.link.sim, plan.Pause)
		n.held = append(n.held, func() { m.carryOutLocked(copied) })
	default:
		m.carryOutLocked(copied)
	}
	return false
}

// carryOutLocked has the node carry the command out, and sends its reply.
func (m *simMessage) carryOutLocked(copied bool) {
	l, n := m.link, m.link.node
	answer := n.execute(l.sim, &m.command)
	network := &l.sim.Plan.Network
	if copied || l.conn != m.conn || n.isCutLocked(l.sim, l.client) ||
		n.strikesLocked(l.sim, plan.DropReply) || m.drawn("mute").Chance(network.DropReply) {
		return
	}
	if n.slow > 0 {
		n.showsLocked(l.sim, plan.Slow)
	}
	m.answer = answer
	now := l.sim.Log.Now()
	delay := m.drawn("back").In(network.Delay) + n.slow
	m.conn.toClient = max(now+delay, m.conn.toClient+time.Nanosecond)
	l.sim.agenda.after(m.conn.toClient-now, m.reply)
}

// reply is the reply's arrival at the client.
func (m *simMessage) reply() {
	l := m.link
	l.sim.mu.Lock()
	if l.conn != m.conn {
		l.sim.mu.Unlock()
		return
	}
	for i, other := range l.flying {
		if other == m {
			l.flying = append(l.flying[:i:i], l.flying[i+1:]...)
			break
		}
	}
	l.flushLocked()
	l.sim.mu.Unlock()
	m.request.Answer(m.answer)
}

// execute carries a command out and records what it changed. sim.mu is held.
func (n *simNode) execute(sim *Sim, c *redlock.Command) (answer redlock.Answer) {
	n.conn.Send(redlock.NewRequest(c, time.Hour, func(a redlock.Answer) { answer = a }))
	switch {
	case answer.Vote == redlock.VoteError:
		n.showsLocked(sim, plan.ErrorReply)
	case answer.Vote != redlock.VoteYes: // nothing changed
	case c.Op == redlock.OpRelease:
		delete(n.kept, c.Key)
		e := keyEvent(history.Deleted, n.number, c.Key, c.Value, 0)
		e.By, _, _ = strings.Cut(c.Value, "/")
		sim.Log.Add(e)
	default:
		_, left, _ := n.store.Get(c.Key)
		n.kept[c.Key] = c.Value
		sim.Log.Add(keyEvent(history.Kept, n.number, c.Key, c.Value, sim.until(n, left)))
	}
	return answer
}
