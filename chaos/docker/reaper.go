package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// reaperEnv makes a program that links this package a reaper of the run that it
// names.
const reaperEnv = "REDLOCK_DOCKER_REAPER"

// A reaper is a process that removes what an engine has made once the engine's
// process is gone: after a panic or SIGKILL nothing else could. It lives in a
// session of its own, so that Ctrl-C does not reach it, and notices the end by its
// standard input.
type reaper struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

const dismissed = '.' // what a reaper is sent that has nothing to do

func startReaper(run string) (*reaper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("docker: reaper: %w", err)
	}
	r := &reaper{cmd: exec.Command(self)}
	r.cmd.Env = append(os.Environ(), reaperEnv+"="+run)
	r.cmd.Stderr = os.Stderr
	detach(r.cmd)
	if r.stdin, err = r.cmd.StdinPipe(); err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("docker: reaper: %w", err)
	}
	return r, nil
}

// dismiss ends the reaper and returns when it has ended.
func (r *reaper) dismiss() error {
	if r.cmd.ProcessState != nil {
		return nil
	}
	_, err := r.stdin.Write([]byte{dismissed})
	err = errors.Join(err, r.stdin.Close(), r.cmd.Wait())
	if err != nil {
		return fmt.Errorf("docker: reaper: %w", err)
	}
	return nil
}

// A program becomes a reaper before its main function or its tests, whichever
// program it is: no caller has to remember it.
func init() {
	if run := os.Getenv(reaperEnv); run != "" {
		os.Exit(reap(run))
	}
}

const (
	reapFor   = time.Minute     // at most
	reapQuiet = 3 * time.Second // so long nothing may appear any more
	reapEvery = 100 * time.Millisecond
)

// reap waits for the end of its parent and removes what there is of the run, also
// what requests that were under way make of it.
func reap(run string) (status int) {
	parting, _ := io.ReadAll(os.Stdin)
	if len(parting) > 0 {
		return 0
	}
	pool, err := connect()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), reapFor)
	defer cancel()
	quiet := time.Now()
	for time.Since(quiet) < reapQuiet && ctx.Err() == nil {
		found, failed := remove(ctx, pool.Client, run)
		if err = failed; found > 0 || err != nil {
			quiet = time.Now()
		}
		time.Sleep(reapEvery)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
