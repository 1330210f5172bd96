package proxy

import (
	"sync"
	"time"
)

// A message is what a fault may act on.
type message struct {
	conn    uint64   // the number of its connection, from 1
	number  uint64   // of its request on the connection, from 1
	request *request // nil for what has none: see event
	event   bool     // the beginning or the end of a connection
}

// A rule is a fault that was added.
type rule struct {
	Fault
	seed    draw
	removed chan struct{} // closed when it is removed

	mu      sync.Mutex
	tallies map[uint64]*tally // guarded by mu: of each connection, or of all under 0
}

// A tally counts messages that a rule could act on, and those it acted on.
type tally struct{ seen, hits int }

// acts reports whether the rule acts on the message, and counts it. The draw is
// for the rule's further choices.
func (r *rule) acts(m *message, d Direction) (draw, bool) {
	if !r.concerns(m) {
		return 0, false
	}
	chance := r.seed.with(m.conn).with(m.number)
	if d == ToClient {
		chance = chance.with(1)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tallyLocked(m.conn)
	t.seen++
	if t.seen <= r.After || r.Count > 0 && t.hits >= r.Count {
		return 0, false
	}
	if r.Probability > 0 && chance.fraction() >= r.Probability {
		return 0, false
	}
	t.hits++
	return chance.with(2), true
}

func (r *rule) concerns(m *message) bool {
	if m.request == nil {
		return r.Commands == nil && r.Match == nil
	}
	switch {
	case len(r.Commands) > 0:
		if !m.request.isAny(r.Commands) {
			return false
		}
	case r.Kind.ofCommands() && !r.Handshake && m.request.isAny(handshake):
		return false
	}
	return r.Match == nil || r.Match(m.request.args())
}

func (r *rule) tallyLocked(conn uint64) *tally {
	if !r.PerConn {
		conn = 0
	}
	t := r.tallies[conn]
	if t == nil {
		t = &tally{}
		r.tallies[conn] = t
	}
	return t
}

// forget drops what is counted for a connection that has ended.
func (r *rule) forget(conn uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tallies, conn)
}

// delay draws the fault's delay.
func (r *rule) delay(d draw) time.Duration { return d.between(r.Min, r.Max) }

// An effect is what the network does to one message.
type effect struct {
	lost  bool
	due   time.Time         // not delivered before; zero is at once
	gates []<-chan struct{} // nor before all these are closed

	rate int // bytes a second; 0 is no limit
	size int // of pieces; 0 is all at once
	// Before a piece, but the first, from min to max passes.
	pause    draw
	min, max time.Duration
}

// network decides what the network does to the message, and counts it.
func (p *Proxy) network(m *message, d Direction) effect {
	var e effect
	for _, r := range *p.rules.Load() {
		if !r.Kind.ofNetwork() || r.Direction != Both && r.Direction != d ||
			m.event && r.Kind != Blackhole && r.Kind != Hold {
			continue
		}
		if chance, ok := r.acts(m, d); ok {
			p.count(r.Kind)
			r.affect(&e, chance)
		}
	}
	return e
}

func (r *rule) affect(e *effect, chance draw) {
	switch r.Kind {
	case Latency:
		if e.due.IsZero() {
			e.due = time.Now()
		}
		e.due = e.due.Add(r.delay(chance))
	case Bandwidth:
		if e.rate == 0 || r.Rate < e.rate {
			e.rate = r.Rate
		}
	case Slice:
		e.size, e.pause, e.min, e.max = r.Size, chance, r.Min, r.Max
	case Blackhole:
		e.lost = true
	case Hold:
		e.gates = append(e.gates, r.removed)
	}
}

// fate returns the fault of commands that acts on a request, or nil.
func (p *Proxy) fate(m *message) (*rule, draw) {
	for _, r := range *p.rules.Load() {
		if !r.Kind.ofCommands() {
			continue
		}
		if chance, ok := r.acts(m, ToServer); ok {
			return r, chance
		}
	}
	return nil, 0
}
