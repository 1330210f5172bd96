//go:build unix

package redlock

import (
	"errors"
	"syscall"
)

// alive reports whether the server has kept an idle connection open. Redis says
// nothing unasked, so the socket has nothing to read; an end, an error or a
// word ("max number of clients reached") mean that it is of no use any more. A
// request sent there would be lost, or be "unknown".
func (k *link) alive() bool {
	sc, ok := k.raw.(syscall.Conn)
	if !ok {
		return true // not a socket: nothing to look at
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	var buf [1]byte
	alive := false
	err = rc.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), buf[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		alive = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && alive
}
