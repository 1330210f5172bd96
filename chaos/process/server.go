// Package process runs Redis and Valkey servers as processes of this machine and
// does to them what happens to servers: they are killed, stopped, continued and
// restarted with or without their data. It also looks into a server without any
// client library, to check what a client did.
//
// No process is left behind, whatever becomes of the program that started it.
package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock/chaos/scratch"
)

// Limits of waiting, far above what a server needs on a busy machine.
const (
	startTimeout = 20 * time.Second
	termTimeout  = 2 * time.Second // for SIGTERM to do
	killTimeout  = 10 * time.Second
	pollEvery    = time.Millisecond
)

// ErrNotRunning is the error of doing something to a process that has ended.
var ErrNotRunning = errors.New("process: the server is not running")

// A Server is a server at one address with one data folder, over all its
// restarts. Its methods are safe for concurrent use. Use [Start] or [Nodes].
type Server struct {
	config Config
	port   *port
	dir    string
	own    *scratch.Folder // dir, if it is a temporary one
	log    Tail
	run    atomic.Pointer[run] // the latest

	mu      sync.Mutex // held by what changes the state, while it waits for the process
	stopped bool       // guarded by mu: Stop was called
}

// Start runs a server and returns once it answers; ctx bounds that wait. The
// caller must call Stop; if he is killed first, the process is too, and what is left
// is a temporary folder that the next Start removes.
func Start(ctx context.Context, config Config) (*Server, error) {
	if err := config.find(); err != nil {
		return nil, err
	}
	s := &Server{config: config, dir: config.Dir}
	var err error
	if s.port, err = reserve(config.Port); err != nil {
		return nil, err
	}
	if s.dir == "" {
		if s.own, err = scratch.New(); err == nil {
			s.dir = s.own.Path()
		}
	}
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// launch starts the process and waits until it answers. If that fails no
// process is left.
func (s *Server) launch(ctx context.Context) error {
	r, err := spawn(&s.config, s.port.number, s.dir, &s.log)
	if err != nil {
		return err
	}
	s.run.Store(r)
	if err := s.ready(ctx, r); err != nil {
		return fmt.Errorf("process: start %s: %w\n%s", s.Addr(), errors.Join(err, r.kill()), s.Log())
	}
	return nil
}

// ready waits until the server answers.
func (s *Server) ready(ctx context.Context, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := answers(s.Addr())
		if err == nil && r.alive() {
			return nil
		}
		select {
		case <-r.ended:
			return fmt.Errorf("%w: %w", ErrNotRunning, r.status)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pollEvery):
		}
	}
}

// Addr returns host:port, the same over all restarts.
func (s *Server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port.number))
}

// String returns Addr.
func (s *Server) String() string { return s.Addr() }

// Dir returns the data folder.
func (s *Server) Dir() string { return s.dir }

// Pid returns the process id, of the last process if none is running.
func (s *Server) Pid() int { return s.run.Load().pid() }

// Alive reports whether the process exists. A paused one does.
func (s *Server) Alive() bool { return s.run.Load().alive() }

// Paused reports whether the kernel has stopped the process.
func (s *Server) Paused() (bool, error) {
	state, err := state(s.Pid())
	return state == 'T', err
}

// Log returns the end of what the server has printed, over all restarts.
func (s *Server) Log() string { return s.log.String() }

// Kill ends the process with SIGKILL and returns when it is gone. A process
// that has ended already is no error.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.Load().kill()
}

// Pause stops the process with SIGSTOP and returns when it is stopped: from then
// on the kernel accepts connections and takes bytes, and nothing is answered.
func (s *Server) Pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.Load().pause()
}

// Resume continues a paused process, which then carries out what has arrived.
// It does nothing to a process that is not paused.
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.Load().signal(signalContinue)
}

// Restart kills the process if there is one, and starts it at the same address,
// with its data folder as the kill left it or, unless keep is true, without
// data. With keep, too, a server without AppendOnly has forgotten everything.
func (s *Server) Restart(keep bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrNotRunning
	}
	if err := s.run.Load().kill(); err != nil {
		return err
	}
	if !keep {
		if err := forget(s.dir); err != nil {
			return err
		}
	}
	return s.launch(context.Background())
}

// forget deletes what servers keep in their folder, and nothing else: it may be
// the caller's.
func forget(dir string) error {
	for _, name := range []string{"appendonlydir", "appendonly.aof", "dump.rdb"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("process: forget: %w", err)
		}
	}
	return nil
}

// Stop ends the process for good: SIGTERM, then SIGKILL if it takes too long. It
// removes the data folder if that is a temporary one. Calling it again does
// nothing.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	err := s.run.Load().terminate()
	s.port.release()
	if s.own != nil {
		err = errors.Join(err, s.own.Remove())
	}
	return err
}
