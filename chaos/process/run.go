package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// A run is one process. The methods of a nil run, which never started, do as
// those of an ended one.
type run struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process is gone
	status error         // how it ended; read after ended is closed
}

// spawn starts a server.
func spawn(config *Config, port int, dir string, log *Tail) (*run, error) {
	args := slices.Concat(config.command(), config.arguments(port, dir))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), config.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = time.Second // of a child of the server's that holds its output open
	return spawnCommand(cmd)
}

// spawnCommand starts the process.
//
// The kernel kills it with SIGKILL when its parent is gone, and takes for its
// parent the thread that forked, not the whole program. Go ends threads when it
// likes, so the process is started from one that is kept for it: the goroutine
// is locked to its thread and waits there for the process to end.
func spawnCommand(cmd *exec.Cmd) (*run, error) {
	r := &run{cmd: cmd, ended: make(chan struct{})}
	dieWithParent(r.cmd)

	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := r.cmd.Start()
		started <- err
		if err == nil {
			r.status = r.cmd.Wait()
			close(r.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	return r, nil
}

func (r *run) pid() int {
	if r == nil {
		return 0
	}
	return r.cmd.Process.Pid
}

func (r *run) alive() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

func (r *run) signal(signal os.Signal) error {
	if !r.alive() {
		return ErrNotRunning
	}
	if err := r.cmd.Process.Signal(signal); errors.Is(err, os.ErrProcessDone) {
		return ErrNotRunning
	} else if err != nil {
		return fmt.Errorf("process: %w", err)
	}
	return nil
}

// end sends a signal and waits until the process is gone. One that is gone
// already is no error.
func (r *run) end(signal os.Signal, timeout time.Duration) error {
	if err := r.signal(signal); err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	if r == nil {
		return nil
	}
	select {
	case <-r.ended:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("process: %d still runs %v after signal %q", r.pid(), timeout, signal)
	}
}

func (r *run) kill() error { return r.end(os.Kill, killTimeout) }

// terminate asks the process to end, and kills it if it does not.
func (r *run) terminate() error {
	_ = r.signal(signalContinue) // a stopped process takes no SIGTERM
	if err := r.end(syscall.SIGTERM, termTimeout); err != nil {
		return r.kill()
	}
	return nil
}

// pause returns when the process is stopped.
func (r *run) pause() error {
	if err := r.signal(signalStop); err != nil {
		return err
	}
	deadline := time.After(killTimeout)
	for {
		if s, err := state(r.pid()); err == nil && s == 'T' {
			return nil
		}
		select {
		case <-r.ended:
			return ErrNotRunning
		case <-deadline:
			return fmt.Errorf("process: %d is not stopped %v after SIGSTOP", r.pid(), killTimeout)
		case <-time.After(pollEvery):
		}
	}
}
