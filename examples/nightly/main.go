// Command nightly is the job that several servers start at the same time, told
// as a story.
//
// Three servers contend for the lock of one job. One gets it and works, longer
// than the lock's TTL, while the lock is extended and a node dies; the two others
// skip. A fourth server starts when the job has finished. It gets the lock, since
// nobody holds it, finds in the store that the period is done, and does nothing:
// a lock stops overlap, not repetition.
//
//	go run ./examples/nightly
//	go run ./examples/nightly -nodes redis://127.0.0.1:7101,redis://127.0.0.1:7102,redis://127.0.0.1:7103
//
// Without -nodes the nodes are inside the process and nothing needs to be
// installed. The exit status is 1 if the job was not done exactly once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	redis.SetLogger(silent{})
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "nightly:", err)
		os.Exit(1)
	}
}

// errUsage: the arguments are wrong, and the user was told.
var errUsage = errors.New("wrong usage")

// silent drops what go-redis would log: every dial that a dead node refuses.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// run tells the story on out. It returns an error that wraps errBroken if the
// job was not done exactly once.
func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("nightly", flag.ContinueOnError)
	flags.SetOutput(out)
	urls := flags.String("nodes", "", "URLs of independent Redis masters, with commas between (default: five nodes inside this process)")
	job := flags.String("job", "settle:2026-06-30", "name of the job and its period, which is the lock's name")
	if err := flags.Parse(args); err != nil {
		return errors.Join(errUsage, err)
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(out, "unexpected argument %q\n", flags.Arg(0))
		flags.Usage()
		return errUsage
	}

	fleet := newFleet(*urls)
	defer fleet.stop()
	return tell(ctx, newStory(out), fleet, *job)
}
