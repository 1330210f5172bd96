package proxy

// A slot is a reply that the client waits for.
type slot struct {
	*message
	rule *rule  // of the fault that acts on it, or nil
	raw  []byte // the reply, if it does not come from the server
}

// expect puts a slot behind the others.
func (s *session) expect(next slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots = append(s.slots, next)
	s.settleLocked()
}

// settleLocked sends replies that do not come from the server and whose turn it
// is.
func (s *session) settleLocked() {
	for len(s.slots) > 0 && s.slots[0].raw != nil {
		s.answerLocked(s.nextLocked(), nil)
	}
}

func (s *session) nextLocked() slot {
	next := s.slots[0]
	s.slots[0] = slot{}
	s.slots = s.slots[1:]
	return next
}

// reply takes one reply from the server.
func (s *session) reply(raw []byte) {
	if raw[0] == '>' { // unasked
		s.tell(raw)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.slots) == 0 { // streams
		s.tellLocked(raw)
		return
	}
	s.answerLocked(s.nextLocked(), raw)
	s.settleLocked()
}

// tell passes on what belongs to no request.
func (s *session) tell(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellLocked(raw)
}

func (s *session) tellLocked(raw []byte) {
	s.toClientLocked(&message{conn: s.number}, parcel{raw: raw})
}

// answerLocked does with a reply what the fault of its request says.
func (s *session) answerLocked(to slot, raw []byte) {
	switch {
	case s.mute && to.rule != nil && to.rule.Kind != DropReply: // nothing to act on
	case to.rule == nil:
		s.toClientLocked(to.message, parcel{raw: raw})
	case to.rule.Kind == ErrorReply:
		s.toClientLocked(to.message, parcel{raw: to.raw})
	case to.rule.Kind == Duplicate: // the second reply
	case to.rule.Kind == DropReply:
		s.proxy.count(DropReply)
		s.mute = true
	case to.rule.Kind == EOFAfterApply:
		s.proxy.count(EOFAfterApply)
		s.closeLocked(to.message)
	case to.rule.Kind == Cut:
		s.proxy.count(Cut)
		s.toClientLocked(to.message, parcel{raw: raw})
		s.closeLocked(to.message)
	}
}

// closeLocked ends the connection to the client, behind all that was sent.
func (s *session) closeLocked(m *message) {
	s.toClientLocked(&message{conn: m.conn, number: m.number, event: true}, parcel{operation: finish})
	s.mute = true
}

// toClientLocked puts into the client's lane what the network does not lose.
func (s *session) toClientLocked(m *message, p parcel) {
	if s.mute {
		return
	}
	if p.effect = s.proxy.network(m, ToClient); p.lost {
		s.mute = true
		return
	}
	s.toClient.put(p)
}
