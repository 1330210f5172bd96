//go:build unix

package redlock

import (
	"errors"
	"net"
	"syscall"
)

// looker returns a function that reports whether the server has kept an idle
// connection open. Redis says nothing unasked, so the socket has nothing to
// read; an end, an error or a word ("max number of clients reached") mean that
// it is of no use any more. A request sent there would be lost, or be "unknown".
// It is for one goroutine.
func looker(c net.Conn) func() bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return func() bool { return true } // not a socket: nothing to look at
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return func() bool { return false }
	}
	var buf [1]byte
	var open bool
	peek := func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), buf[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		open = errors.Is(err, syscall.EAGAIN)
		return true
	}
	return func() bool { return rc.Read(peek) == nil && open }
}
