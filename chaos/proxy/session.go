package proxy

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"syscall"
)

// A session is one connection of a client and the one to the server that belongs
// to it. Four goroutines serve it: a reader and a writer for each direction.
type session struct {
	proxy    *Proxy
	number   uint64
	client   net.Conn
	toServer *lane
	toClient *lane
	done     chan struct{} // closed when the session has ended
	cut      chan struct{} // closed when nothing can be sent to the server any more
	ending   sync.WaitGroup

	// Of the reader of requests only.
	requests uint64
	streams  bool       // replies are not matched to requests any more
	deaf     bool       // what the client sends is lost
	before   []*request // the requests that prepared the connection

	mu         sync.Mutex
	upstream   net.Conn // guarded by mu; nil before it is connected
	slots      []slot   // guarded by mu: replies to come, in order
	mute       bool     // guarded by mu: what the server sends is lost
	hungUp     bool     // guarded by mu: the client was told that nothing follows
	clientGone bool     // guarded by mu
	serverGone bool     // guarded by mu
	ended      bool     // guarded by mu
}

func newSession(p *Proxy, number uint64, client net.Conn) *session {
	return &session{
		proxy:    p,
		number:   number,
		client:   client,
		toServer: newLane(),
		toClient: newLane(),
		done:     make(chan struct{}),
		cut:      make(chan struct{}),
	}
}

// run serves the connection until both sides have ended it.
func (s *session) run() {
	s.ending.Go(s.readRequests)
	s.ending.Go(s.writeRequests)
	s.ending.Go(s.writeReplies)
	s.ending.Wait()
	s.proxy.forget(s)
}

// end closes both connections at once, by a reset or not. It reports whether the
// session had not ended before.
func (s *session) end(reset bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.ended = true
	close(s.done)
	s.cutLocked()
	for _, conn := range []net.Conn{s.client, s.upstream} {
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
	return true
}

// cutLocked stops the writer of requests.
func (s *session) cutLocked() {
	if !s.serverGone {
		s.serverGone = true
		close(s.cut)
	}
}

// writeRequests carries requests to the server, to which it connects first.
func (s *session) writeRequests() {
	// The client never knows that a request was kept, so that nothing which
	// ends the connection may lose it.
	defer func() {
		for _, p := range s.toServer.close() {
			s.proxy.rescue(p)
		}
	}()
	var w *writer
	for {
		if w != nil && w.w.Buffered() > 0 && !s.toServer.ready() {
			_ = w.w.Flush() // the reader of replies sees what is wrong
		}
		p, ok := s.toServer.take(s.cut)
		if !ok {
			return
		}
		switch {
		case p.operation == connect:
			if w = s.connect(); w == nil {
				s.end(true)
				return
			}
		case w == nil: // the client has gone before the server heard of it
			s.end(false)
			return
		case p.operation == finish:
			_ = w.w.Flush()
			s.mu.Lock()
			closeWrite(s.upstream)
			s.mu.Unlock()
		default:
			s.write(w, p)
		}
	}
}

// write sends a request to the server.
func (s *session) write(w *writer, p parcel) {
	err := w.write(&p)
	if !p.late {
		return // the reader of replies sees what is wrong
	}
	if err = errors.Join(err, w.w.Flush()); err != nil {
		s.proxy.rescue(p)
		return
	}
	s.proxy.kept.Add(-1)
}

// connect returns the writer of a new connection to the server, or nil.
func (s *session) connect() *writer {
	conn, err := s.proxy.dial(s.proxy.ctx)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		_ = conn.Close()
		return nil
	}
	s.upstream = conn
	s.ending.Go(func() { s.readReplies(conn) })
	return newWriter(conn, s.cut)
}

// writeReplies carries replies to the client.
func (s *session) writeReplies() {
	w := newWriter(s.client, s.done)
	for {
		if w.w.Buffered() > 0 && !s.toClient.ready() {
			_ = w.w.Flush() // the reader of requests sees that the client has gone
		}
		p, ok := s.toClient.take(s.done)
		if !ok {
			return
		}
		switch p.operation {
		case abort:
			_ = w.w.Flush()
			s.end(true)
		case finish:
			_ = w.w.Flush()
			s.hangUp()
		default:
			_ = w.write(&p)
		}
	}
}

// hangUp tells the client that nothing follows. The connection is closed when
// the client does so or sends more: with bytes on their way to us, the kernel
// would make a reset of it.
func (s *session) hangUp() {
	s.mu.Lock()
	s.hungUp = true
	closeWrite(s.client)
	if s.upstream != nil {
		_ = s.upstream.Close()
	}
	gone := s.clientGone
	s.mu.Unlock()
	if gone {
		s.end(false)
	}
}

// closeWrite tells the other end that nothing follows, if it can be told without
// closing the connection; if not it is closed.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = conn.Close()
}

// A source is the end of a connection that is read. Before it waits for more it
// has the writers write what came of what was read so far: a pipeline that came
// in one piece goes on in one piece.
type source struct {
	net.Conn
	session *session
}

func (s source) Read(b []byte) (int, error) {
	s.session.toServer.wake()
	s.session.toClient.wake()
	return s.Conn.Read(b)
}

// readReplies reads what the server sends until it ends the connection.
func (s *session) readReplies(conn net.Conn) {
	r := bufio.NewReaderSize(source{conn, s}, bufferSize)
	for s.toClient.room(s.done) {
		raw, err := readReply(r, nil, 0)
		if err == nil {
			s.reply(raw)
			continue
		}
		if errors.Is(err, errMalformed) {
			s.tell(raw)
			err = pass(r, s.toClient, s.done, s.tell)
		}
		s.serverEnded(err)
		return
	}
}

// pass takes bytes as they come until there are no more.
func pass(r *bufio.Reader, l *lane, done <-chan struct{}, take func([]byte)) error {
	for l.room(done) {
		raw := make([]byte, bufferSize)
		n, err := r.Read(raw)
		if n > 0 {
			take(raw[:n])
		}
		if err != nil {
			return err
		}
	}
	return errEnded
}

// serverEnded passes on that the server has ended the connection.
func (s *session) serverEnded(err error) {
	s.mu.Lock()
	s.cutLocked()
	op := finish
	if errors.Is(err, syscall.ECONNRESET) {
		op = abort
	}
	s.toClientLocked(&message{conn: s.number, event: true}, parcel{operation: op})
	over := s.mute && s.clientGone
	s.mu.Unlock()
	s.toClient.wake()
	if over {
		s.end(false)
	}
}
