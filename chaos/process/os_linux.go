package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

const supported = true

const (
	signalStop     = syscall.SIGSTOP
	signalContinue = syscall.SIGCONT
)

// dieWithParent makes the kernel kill the process when the thread that starts
// it ends, be it by a panic, by SIGKILL or by os.Exit of its process.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// state returns the state of a process as ps shows it: 'T' is stopped, 'Z' has
// ended.
func state(pid int) (byte, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// "PID (NAME) STATE ...", where NAME may have blanks and brackets.
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 || len(stat) < end+3 {
		return 0, fmt.Errorf("process: cannot read %q", stat)
	}
	return stat[end+2], nil
}

// A port is a TCP port of 127.0.0.1 that this process has bound but does not
// listen on. The kernel gives it to nobody else, neither as a free port nor as
// the near end of a connection, while the server's own bind succeeds, again
// after every restart: both sockets have SO_REUSEADDR, and only one listens.
type port struct {
	number int
	socket int
}

// reserve binds a port: number, or a free one if that is zero.
func reserve(number int) (*port, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{socket: socket}
	if err = p.bind(number); err != nil {
		p.release()
		return nil, fmt.Errorf("process: port %d: %w", number, err)
	}
	return p, nil
}

func (p *port) bind(number int) error {
	reuse := func() error {
		return os.NewSyscallError("setsockopt", syscall.SetsockoptInt(p.socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	}
	if number != 0 { // a chosen port may have old connections in TIME_WAIT
		if err := reuse(); err != nil {
			return err
		}
	}
	if err := syscall.Bind(p.socket, &syscall.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(p.socket)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	p.number = name.(*syscall.SockaddrInet4).Port
	return reuse() // only now, so that no two reservations get one free port
}

func (p *port) release() { _ = syscall.Close(p.socket) }
