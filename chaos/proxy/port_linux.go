package proxy

import (
	"net"
	"os"
	"strconv"
	"syscall"
)

// A port is a free TCP port of 127.0.0.1 that is bound but not listened on: while
// the listener is closed, the kernel gives it to nobody else, neither as a free
// port nor as the near end of a connection. A listener's own bind succeeds all
// the same, since both sockets have SO_REUSEADDR and only one listens.
type port struct {
	addr   string
	socket int
}

func reserve() (*port, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{socket: socket}
	if err := p.bind(); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

func (p *port) bind() error {
	if err := syscall.Bind(p.socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(p.socket)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	p.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	// Only now, so that no two reservations get one free port.
	err = syscall.SetsockoptInt(p.socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	return os.NewSyscallError("setsockopt", err)
}

func (p *port) release() { _ = syscall.Close(p.socket) }
