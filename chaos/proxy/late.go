package proxy

import (
	"bufio"
	"context"
	"net"
)

// rescue delivers a request over a connection of its own if it has to be
// delivered. It is called from goroutines that Close waits for.
func (p *Proxy) rescue(out parcel) {
	if !out.late {
		return
	}
	p.work.Go(func() {
		defer p.kept.Add(-1)
		if !out.wait(p.ctx.Done()) {
			return
		}
		conn, err := p.dial(p.ctx)
		if err != nil {
			return // the server is down, and so would be the one it was sent to
		}
		defer conn.Close()
		defer context.AfterFunc(p.ctx, func() { _ = conn.Close() })()
		var requests [][]byte
		for _, q := range out.before {
			requests = append(requests, q.raw)
		}
		deliverTo(conn, append(requests, out.raw))
	})
}

// deliverTo sends requests and waits for the replies, all at once, so that a
// server that hangs has them when it goes on.
func deliverTo(conn net.Conn, requests [][]byte) {
	buffers := net.Buffers(requests)
	if _, err := buffers.WriteTo(conn); err != nil {
		return
	}
	r := bufio.NewReader(conn)
	for left := len(requests); left > 0; {
		raw, err := readReply(r, nil, 0)
		if err != nil {
			return
		}
		if raw[0] != '>' {
			left--
		}
	}
}
