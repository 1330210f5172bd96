// Command chaos attacks the lock and judges what comes of it.
//
//	go run ./chaos                                  the default attack, in under a minute
//	go run ./chaos -list                            faults, plans and what each is expected to show
//	go run ./chaos -matrix                          every assumption kept, and broken
//	go run ./chaos -backend sim -schedules 100000   many short schedules in simulated time
//	go run ./chaos -plan clock-jump -seed 1         one plan
//	go run ./chaos -replay FILE                     a plan or a history again
//
// Its exit status is 0 if everything was as promised, 1 after a violation, 2 if
// it could not run, 3 if it ran and proved nothing.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock/chaos/simulate"
	"github.com/quorumlock/redlock/chaos/traffic"
)

// Exit statuses.
const (
	exitAsPromised = iota
	exitViolation
	exitCannotRun
	exitProvedNothing
)

func main() {
	if simulate.IsWorker() {
		simulate.Work()
	}
	if traffic.IsClient() {
		traffic.Client()
	}
	redis.SetLogger(silent{}) // what go-redis says of faults that were asked for
	s, status, done := parse(os.Args[1:], os.Stdout, os.Stderr)
	if !done {
		status = s.main()
	}
	os.Exit(status)
}

// main runs until the end or an interrupt, and returns the exit status.
func (s *settings) main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	status, err := s.run(ctx)
	if err != nil {
		fmt.Fprintln(s.err, "chaos:", err)
		return exitCannotRun
	}
	return status
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
