package live_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A cable connects clients to one node and fails in ways that a server does not.
// The zero value works.
type cable struct {
	mu     sync.Mutex
	cut    bool          // nothing arrives, in either direction; guarded by mu
	delay  time.Duration // of everything that the node answers; guarded by mu
	drops  int           // replies to SETs to be lost; guarded by mu
	breaks int           // replies to SETs to be replaced by the end of the connection; guarded by mu
}

// through returns the options with the cable between.
func (c *cable) through(o *redis.Options) *redis.Options {
	dial := o.Dialer
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if c.isCut() {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &cabled{Conn: conn, cable: c}, nil
	}
	return o
}

// cables puts a cable before each of the masters.
func cables(masters []master) ([]*cable, []*redis.Options) {
	all, opts := make([]*cable, len(masters)), options(masters)
	for i := range opts {
		all[i] = &cable{}
		opts[i] = all[i].through(opts[i])
	}
	return all, opts
}

// partition cuts the cable or mends it. What was sent while it was cut is lost,
// and so are the connections of that time.
func (c *cable) partition(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

func (c *cable) slow(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = d
}

// swallow loses the replies to the next n SETs.
func (c *cable) swallow(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops = n
}

// hangUp ends the connection instead of the replies to the next n SETs.
func (c *cable) hangUp(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breaks = n
}

func (c *cable) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

type cabled struct {
	net.Conn
	cable *cable

	mu    sync.Mutex
	dead  bool // a part of what was said is lost; guarded by mu
	broke bool // ends instead of the next answer; guarded by mu
}

var setCommand = []byte("$3\r\nset\r\n")

func (c *cabled) Write(b []byte) (int, error) {
	c.cable.mu.Lock()
	cut := c.cable.cut
	swallow, breaks := false, false
	if bytes.Contains(b, setCommand) {
		if c.cable.drops > 0 {
			c.cable.drops--
			swallow = true
		} else if c.cable.breaks > 0 {
			c.cable.breaks--
			breaks = true
		}
	}
	c.cable.mu.Unlock()

	c.mu.Lock()
	c.dead = c.dead || cut || swallow
	c.broke = c.broke || breaks
	lost := c.dead && !swallow
	c.mu.Unlock()
	if lost {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Read blocks until the deadline if what there is to read is lost.
func (c *cabled) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil {
			return n, err
		}
		c.cable.mu.Lock()
		cut, delay := c.cable.cut, c.cable.delay
		c.cable.mu.Unlock()
		c.mu.Lock()
		c.dead = c.dead || cut
		dead, broke := c.dead, c.broke
		c.mu.Unlock()
		switch {
		case dead:
			continue
		case broke:
			c.Close()
			return 0, io.EOF
		}
		time.Sleep(delay)
		return n, nil
	}
}
