// Package proxy stands in front of a Redis server and fails in the ways of a
// network and of a server, between commands: it reads requests and replies, so
// that it can lose the reply to a SET and nothing else.
//
//	p, err := proxy.Start(server.Addr(), 1)
//	...
//	remove := p.Add(proxy.Fault{Kind: proxy.DropReply, Commands: []string{"SET"}, Count: 1})
//
// It never makes up what TCP could not do: bytes of one connection arrive in
// order or not at all. Every random choice is a function of the seed, the fault
// and the number of the message on its connection, and of nothing else: the same
// faults added in the same order do the same to the same messages.
//
// After SUBSCRIBE, MONITOR, SYNC or CLIENT REPLY, replies cannot be told apart,
// and only the faults of the network act on the connection.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialTimeout bounds a connection to an address.
const dialTimeout = 5 * time.Second

// A Proxy forwards connections from one address to one server. Its methods are
// safe for concurrent use. Use [Start] or [StartDialer].
type Proxy struct {
	seed   draw
	dial   func(context.Context) (net.Conn, error)
	port   *port
	ctx    context.Context // ends with the proxy
	cancel context.CancelFunc

	rules  atomic.Pointer[[]*rule] // a new slice after every change
	counts map[Kind]*atomic.Int64  // the map does not change
	kept   atomic.Int64            // see Kept
	work   sync.WaitGroup          // every goroutine of the proxy

	mu       sync.Mutex
	listener net.Listener          // guarded by mu; nil while connecting is refused
	failed   error                 // guarded by mu: of the listener
	added    uint64                // guarded by mu: faults so far
	accepted uint64                // guarded by mu: connections so far
	sessions map[*session]struct{} // guarded by mu
	closed   bool                  // guarded by mu
}

// Start listens on a free port of 127.0.0.1 and forwards what comes to the
// address, which need not answer yet. The caller must call Close.
func Start(upstream string, seed uint64) (*Proxy, error) {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return StartDialer(func(ctx context.Context) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", upstream)
	}, seed)
}

// StartDialer is Start with the server that dial connects to. It is called once
// for each connection, and again for what is delivered late.
func StartDialer(dial func(context.Context) (net.Conn, error), seed uint64) (*Proxy, error) {
	port, err := reserve()
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{
		seed:     draw(seed),
		dial:     dial,
		port:     port,
		counts:   map[Kind]*atomic.Int64{Refuse: {}},
		sessions: map[*session]struct{}{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.rules.Store(&[]*rule{})
	for _, kinds := range [][]Kind{networkKinds, commandKinds} {
		for _, k := range kinds {
			p.counts[k] = &atomic.Int64{}
		}
	}
	p.mu.Lock()
	p.openLocked()
	err = p.failed
	p.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Addr returns host:port, the same as long as the proxy lives.
func (p *Proxy) Addr() string { return p.port.addr }

// String returns Addr.
func (p *Proxy) String() string { return p.port.addr }

// Counts returns how often each kind of fault has acted: on how many messages, or
// for Refuse how often the port was closed, for Reset connections reset by
// Sever, too. A reply counts as dropped when the server has given it.
func (p *Proxy) Counts() map[Kind]int {
	counts := map[Kind]int{}
	for kind, n := range p.counts {
		if n := n.Load(); n > 0 {
			counts[kind] = int(n)
		}
	}
	return counts
}

func (p *Proxy) count(k Kind) { p.counts[k].Add(1) }

// Kept returns how many requests [LateDeliver] and [Duplicate] have still to
// deliver.
func (p *Proxy) Kept() int { return int(p.kept.Load()) }

// Sever resets every open connection (RST, to the client and to the server), as
// the death of a server does. Requests that LateDeliver keeps are delivered.
func (p *Proxy) Sever() {
	p.mu.Lock()
	sessions := make([]*session, 0, len(p.sessions))
	for s := range p.sessions {
		sessions = append(sessions, s)
	}
	p.mu.Unlock()
	for _, s := range sessions {
		if s.end(true) {
			p.count(Reset)
		}
	}
}

// Close ends the proxy and its connections, and returns when nothing of it is
// running. What was kept is lost. The error is that of a port that could not be
// opened again after Refuse. Calling it again does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.shutLocked()
	err := p.failed
	p.mu.Unlock()

	p.cancel()
	p.mu.Lock()
	sessions := p.sessions
	p.sessions = nil
	p.mu.Unlock()
	for s := range sessions {
		s.end(false)
	}
	p.work.Wait()
	p.port.release()
	return err
}

// openLocked lets clients connect.
func (p *Proxy) openLocked() {
	if p.listener != nil || p.closed {
		return
	}
	// Multipath TCP, Go's default for listeners, would have resets of its own.
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	l, err := config.Listen(p.ctx, "tcp", p.port.addr)
	if err != nil {
		p.failed = fmt.Errorf("proxy: %w", err)
		return
	}
	p.listener = l
	p.work.Go(func() { p.accept(l) })
}

// shutLocked refuses clients.
func (p *Proxy) shutLocked() {
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

func (p *Proxy) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			p.serve(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many open files; it may get better
			sleepUntil(time.Now().Add(10*time.Millisecond), p.ctx.Done())
		}
	}
}

// serve forwards a connection.
func (p *Proxy) serve(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return
	}
	p.accepted++
	s := newSession(p, p.accepted, conn)
	p.sessions[s] = struct{}{}
	p.work.Go(s.run)
}

// forget drops a connection that has ended.
func (p *Proxy) forget(s *session) {
	p.mu.Lock()
	delete(p.sessions, s)
	p.mu.Unlock()
	for _, r := range *p.rules.Load() {
		r.forget(s.number)
	}
}
