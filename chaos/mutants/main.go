// Command mutants plants bugs in the lock, one at a time, and shows that the
// chaos suite finds each of them: a suite that lets one survive has a hole.
//
//	go run ./chaos/mutants              all of them
//	go run ./chaos/mutants -list        what they break, and which checks may find it
//	go run ./chaos/mutants -run undo    those whose name matches
//
// The repository's files stay as they are: a mutant is built with go build
// -overlay. Its exit status is 0 if every mutant was killed, 1 if one survived or
// was not reached, 2 if it could not run: a mutant that does not fit the source
// any more, or a suite that finds something in the lock as it is.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Exit statuses.
const (
	exitAllKilled = iota
	exitSurvived
	exitCannotRun
)

func main() {
	s, status, done := parse(os.Args[1:], os.Stdout, os.Stderr)
	if done {
		os.Exit(status)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status, err := s.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		status = exitCannotRun
	}
	os.Exit(status)
}
