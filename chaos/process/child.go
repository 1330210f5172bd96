package process

import (
	"fmt"
	"os/exec"
)

// A Child is a process of any program, which can be stopped, continued and
// killed as servers can be, and which the kernel kills when this program ends.
// Its methods are safe for concurrent use, but Pause and Resume for one caller
// at a time.
type Child struct{ run *run }

// StartChild starts cmd, whose Wait the Child calls: a pipe for its output has to
// be the caller's own (os.Pipe), since that of StdoutPipe is closed when the
// process ends, with what was not read yet.
func StartChild(cmd *exec.Cmd) (*Child, error) {
	if !supported {
		return nil, fmt.Errorf("process: %s: processes are stopped and killed on Linux only", cmd.Path)
	}
	r, err := spawnCommand(cmd)
	if err != nil {
		return nil, err
	}
	return &Child{r}, nil
}

// Pid returns the process id.
func (c *Child) Pid() int { return c.run.pid() }

// Ended is closed when the process is gone.
func (c *Child) Ended() <-chan struct{} { return c.run.ended }

// Status returns how the process ended, nil for exit status 0. Only after Ended
// was closed does it mean anything.
func (c *Child) Status() error { return c.run.status }

// Kill ends the process with SIGKILL, also a paused one, and returns when it is
// gone. One that has ended already is no error.
func (c *Child) Kill() error { return c.run.kill() }

// Pause stops the process with SIGSTOP and returns when the kernel says that it
// is stopped.
func (c *Child) Pause() error { return c.run.pause() }

// Resume continues it with SIGCONT.
func (c *Child) Resume() error { return c.run.signal(signalContinue) }
