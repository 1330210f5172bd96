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
)

// Start carries out a job in a process of its own, which runs this program
// again, and tells every result as it comes. The program has to call Work first
// thing if IsWorker. The error says which seed the process failed at, and how.
func Start(ctx context.Context, job Job, tell func(Result)) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := json.Marshal(job)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), workerVariable+"=1")
	cmd.Stdin = bytes.NewReader(data)
	cmd.WaitDelay = time.Second
	var errs tail
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
		return fmt.Errorf("simulate: seed %d: %w\n%s", seed, errors.Join(err, errFailed), errs.Bytes())
	}
}

var errFailed = errors.New("the simulation failed")

// A tail keeps the end of what is written.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	const most = 64 << 10
	if t.Len() > most {
		t.Next(t.Len() - most/2)
	}
	return t.Buffer.Write(p)
}
