package proxy

import (
	"bufio"
	"errors"
	"slices"
	"time"
)

// readRequests reads what the client sends until it ends the connection.
func (s *session) readRequests() {
	begin := &message{conn: s.number, event: true}
	if e := s.proxy.network(begin, ToServer); e.lost {
		s.deaf = true
	} else {
		s.toServer.put(parcel{operation: connect, effect: e})
	}
	r := bufio.NewReaderSize(source{s.client, s}, bufferSize)
	for s.toServer.room(s.done) {
		q, err := readRequest(r)
		if err == nil {
			s.request(q)
			continue
		}
		if errors.Is(err, errMalformed) {
			s.streams = true
			s.request(&request{raw: q.raw})
			_ = pass(r, s.toServer, s.done, func(raw []byte) { s.request(&request{raw: raw}) })
		}
		break
	}
	s.clientEnded()
}

// clientEnded passes on that the client has ended the connection, behind all that
// it has sent. No fault loses it: the server sees nothing in it that matters,
// and connections would be left over.
func (s *session) clientEnded() {
	s.mu.Lock()
	s.clientGone = true
	over := s.serverGone && s.mute || s.hungUp
	s.mu.Unlock()
	s.toServer.put(parcel{operation: finish}) // unless the server has ended it
	if over {
		s.end(false)
	}
	s.toServer.wake()
}

// request takes one request from the client.
func (s *session) request(q *request) {
	s.mu.Lock()
	over := s.hungUp || s.ended
	s.mu.Unlock()
	if over {
		s.end(false)
		return
	}
	s.requests++
	if s.deaf {
		return
	}
	m := &message{conn: s.number, number: s.requests, request: q}
	out := parcel{raw: q.raw, effect: s.proxy.network(m, ToServer)}
	s.streams = s.streams || q.isAny(streaming)
	switch {
	case out.lost:
		s.deaf = true
	case s.streams || len(q.ends) == 0:
		s.toServer.put(out)
	default:
		r, chance := s.proxy.fate(m)
		if r == nil {
			s.forward(m, out, nil)
		} else {
			s.meet(r, chance, m, out)
		}
		if q.isAny(handshake[:3]) { // HELLO, AUTH, SELECT
			s.prepares(q)
		}
	}
}

// forward sends a request to the server; r says what becomes of the reply.
func (s *session) forward(m *message, out parcel, r *rule) {
	s.expect(slot{message: m, rule: r})
	if !s.toServer.put(out) {
		s.proxy.rescue(out)
	}
}

// meet does to a request what the fault says.
func (s *session) meet(r *rule, chance draw, m *message, out parcel) {
	switch r.Kind {
	case DropRequest:
		s.proxy.count(r.Kind)
		s.deaf = true
	case Reset:
		s.proxy.count(r.Kind) // before the client can see it
		s.end(true)
	case ErrorReply:
		s.proxy.count(r.Kind)
		s.expect(slot{message: m, rule: r, raw: r.errorReply()})
	case LateDeliver:
		s.proxy.count(r.Kind)
		s.forward(m, s.keep(out, r.delay(chance)), nil)
	case Duplicate:
		s.proxy.count(r.Kind)
		s.forward(m, out, nil)
		if d := r.delay(chance); d > 0 {
			s.proxy.rescue(s.keep(out, d))
		} else {
			s.forward(m, out, r)
		}
	case EOFAfterApply, Cut:
		// Whether the server would carry out what follows in a pipeline would
		// be a matter of luck.
		s.deaf = true
		s.forward(m, out, r)
	case DropReply:
		s.forward(m, out, r)
	}
}

// keep returns the request as one that is delivered d later, whatever becomes of
// its connection.
func (s *session) keep(out parcel, d time.Duration) parcel {
	s.proxy.kept.Add(1)
	if out.due.IsZero() {
		out.due = time.Now()
	}
	out.due = out.due.Add(d)
	out.late, out.before = true, s.before
	return out
}

// prepares notes a request that prepares the connection, instead of an earlier one
// of its name. Those that were noted before are not changed.
func (s *session) prepares(q *request) {
	s.before = slices.DeleteFunc(slices.Clone(s.before), func(b *request) bool { return b.name == q.name })
	s.before = append(s.before, q)
}
