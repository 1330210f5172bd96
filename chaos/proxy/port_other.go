//go:build !linux

package proxy

import "net"

// A port is a TCP port of 127.0.0.1 that was free. While the listener is closed
// somebody else may take it, which Close then says.
type port struct{ addr string }

func reserve() (*port, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &port{addr: l.Addr().String()}, l.Close()
}

func (p *port) release() {}
