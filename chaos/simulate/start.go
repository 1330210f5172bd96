package simulate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/quorumlock/redlock/chaos/process"
)

// Start carries out a job in a process of its own, which runs this program
// again, and tells every result as it comes. The program has to call Work first
// thing if IsWorker. The error says which seed the process failed at, and how.
func Start(ctx context.Context, job Job, tell func(Result)) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return StartProgram(ctx, program, nil, job, tell)
}

// StartProgram is Start with another program than this one, which must do the
// same with jobs, and variables added to its environment.
func StartProgram(ctx context.Context, program string, env []string, job Job, tell func(Result)) error {
	data, err := json.Marshal(job)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(append(os.Environ(), env...), workerVariable+"=1")
	cmd.Stdin = bytes.NewReader(data)
	cmd.WaitDelay = time.Second
	var errs process.Tail // written by the process, and below
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var seed uint64
	results := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Result
		if json.Unmarshal(lines.Bytes(), &r) != nil || lines.Bytes()[0] != '{' {
			_, _ = errs.Write(append(lines.Bytes(), '\n')) // what package testing prints
			continue
		}
		if seed = r.Seed; !r.Begun {
			results++
			tell(r)
		}
	}
	err = errors.Join(lines.Err(), cmd.Wait())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && results == job.Count:
		return nil
	default:
		return &FailedError{seed, err, errs.String()}
	}
}

// A FailedError is a process that did not carry out its job to the end.
type FailedError struct {
	Seed   uint64 // of the schedule that it failed at
	Err    error  // nil: it ended as if all was well
	Output string // the end of what it printed: a panic's trace, or what package testing says
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("simulate: seed %d failed: %v\n%s", e.Seed, e.Err, e.Output)
}

func (e *FailedError) Unwrap() error { return e.Err }
