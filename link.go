package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A link is one connection: a go-redis client that is asked for no second one.
// A client of its own for each keeps go-redis from dialing, retrying or
// switching connections behind our back.
type link struct {
	client *redis.Client
	conn   *redis.Conn
	pipe   redis.Pipeliner
	look   func() bool // whether the socket is still open

	mu     sync.Mutex  // go-redis may dial in a goroutine of its own
	closed bool        // guarded by mu
	raw    net.Conn    // the socket, below TLS; guarded by mu
	forget func() bool // stops closing raw at the end of the lane's life; guarded by mu
}

// attach takes the connection that was dialed, and reports false if it came too
// late and is closed.
func (k *link) attach(life context.Context, c net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		c.Close()
		return false
	}
	raw := socket(c)
	k.raw, k.look = raw, looker(raw)
	k.forget = context.AfterFunc(life, func() { raw.Close() })
	return true
}

// do sends commands as one pipeline, or a single one directly. What came of them
// is in them.
func (k *link) do(ctx context.Context, cmds []redis.Cmder) {
	if len(cmds) == 1 {
		k.conn.Process(ctx, cmds[0]) //nolint:errcheck // the command has it
		return
	}
	k.pipe.BatchProcess(ctx, cmds...) //nolint:errcheck // only queues
	_, err := k.pipe.Exec(ctx)
	if err == nil || slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil }) {
		return
	}
	for _, cmd := range cmds { // go-redis v9.16 leaves them blank where it got no connection
		cmd.SetErr(err)
	}
}

// close closes the socket first: a TLS goodbye to a server that hangs takes
// seconds.
func (k *link) close() {
	k.mu.Lock()
	k.closed = true
	if k.raw != nil {
		k.forget()
		k.raw.Close()
	}
	k.mu.Unlock()
	k.conn.Close()
	k.client.Close()
}

// A dialing is one attempt to connect.
type dialing struct {
	since time.Time
	done  chan struct{} // closed when err is set
	err   error
}

// dialLocked starts an attempt to connect, and returns the latest. One at a time
// does, unless it takes suspiciously long: a server that was out of reach when
// it began may have come back and know nothing of it. l.mu is held.
func (l *lane) dialLocked() *dialing {
	l.startLocked() // it closes the connection in the end
	d := l.dialing
	if d == nil || l.dials < maxDials && time.Since(d.since) >= maxRedial {
		d = &dialing{since: time.Now(), done: make(chan struct{})}
		l.dialing = d
		l.dials++
		go l.dial(d)
	}
	return d
}

func (l *lane) dial(d *dialing) {
	k, err := l.open()
	l.mu.Lock()
	l.dials--
	if l.dialing == d {
		l.dialing = nil
	}
	switch {
	case err == nil && l.life.Err() != nil:
		k.close()
		d.err = ErrClosed
	case l.link != nil: // another attempt made it
		if err == nil {
			k.close()
		}
	case err == nil:
		l.link, l.failed = k, nil
		l.pause, l.redial = 0, time.Time{}
		close(l.linked)
	default:
		d.err, l.failed = err, err
		l.pause = min(max(2*l.pause, minRedial), maxRedial)
		l.redial = time.Now().Add(l.pause)
	}
	l.mu.Unlock()
	close(d.done)
	l.notify()
}

// open makes a connection: dial, TLS, HELLO, AUTH, SELECT, and the scripts, so
// that the first lock need not send them.
func (l *lane) open() (*link, error) {
	ctx, cancelAll := context.WithTimeout(l.life, l.connectTimeout)
	defer cancelAll()
	k := &link{}
	var failed atomic.Pointer[error] // of the dial: go-redis may wait and forget it
	var ready atomic.Bool            // the handshake is through
	opt := *l.options
	opt.Dialer = func(dialCtx context.Context, network, addr string) (net.Conn, error) {
		dialCtx, cancel := context.WithCancel(dialCtx)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)() // go-redis may dial under a context of its own
		c, err := l.options.Dialer(dialCtx, network, addr)
		if err != nil {
			failed.CompareAndSwap(nil, &err)
			cancelAll()
			return nil, err
		}
		if !k.attach(l.life, c) {
			return nil, net.ErrClosed
		}
		return c, nil
	}
	opt.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		if hook := l.options.OnConnect; hook != nil {
			if err := hook(ctx, conn); err != nil {
				return fmt.Errorf("OnConnect: %w", err)
			}
		}
		ready.Store(true)
		return nil
	}
	k.client = redis.NewClient(&opt)
	k.conn = k.client.Conn()
	k.pipe = k.conn.Pipeline()
	cmds := []redis.Cmder{
		redis.NewStringCmd(ctx, "script", "load", extendSource),
		redis.NewStringCmd(ctx, "script", "load", releaseSource),
	}
	k.do(ctx, cmds)
	err := cmds[0].Err()
	// A user who may not load scripts has a connection, and so has a server that
	// is loading its data: it says so itself when it is asked.
	if ready.Load() && (err == nil || isReply(err) && !redis.HasErrorPrefix(err, "NOAUTH")) {
		return k, nil
	}
	k.close()
	dialing := failed.Load()
	switch {
	case l.life.Err() != nil:
		return nil, ErrClosed
	case dialing != nil:
		err = *dialing
	case err == nil:
		err = errors.New("go-redis has none, and does not say why")
	}
	return nil, fmt.Errorf("connecting: %w", err)
}

// socket returns what is below TLS.
func socket(c net.Conn) net.Conn {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		return secure.NetConn()
	}
	return c
}

// connect waits until the lane has a connection, or an attempt to get one has
// failed.
func (l *lane) connect(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if l.life.Err() != nil {
		l.mu.Unlock()
		return ErrClosed
	}
	if l.link != nil {
		l.mu.Unlock()
		return nil
	}
	d, linked := l.dialLocked(), l.linked
	l.mu.Unlock()
	select {
	case <-linked:
		return nil
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lose gives up a connection.
func (l *lane) lose(k *link) {
	l.mu.Lock()
	if l.link == k {
		l.link, l.linked = nil, make(chan struct{})
	}
	l.mu.Unlock()
	k.close()
}
