// Command bench measures what a lock costs: commands on the servers by number of
// nodes, time, throughput and memory, in good times and with nodes that fail. It
// predicts by formula what can be predicted, and says where the servers counted
// something else.
//
//	go run ./bench -quick    under a minute, to see that all is as predicted
//	go run ./bench           under fifteen, for figures worth quoting
//
// It exits with 0 if all is as predicted, 1 if something is not, 2 if it could
// not measure.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/quorumlock/redlock/bench/internal/command"
	"github.com/quorumlock/redlock/bench/internal/scenario"
)

func main() { os.Exit(run()) }

func run() (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := command.Bench{
		Name:      "client",
		Use:       "go run ./bench",
		Out:       "bench/out",
		Rounds:    5,
		Modules:   []string{"github.com/redis/go-redis/v9"},
		Scenarios: scenario.All,
	}
	return b.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
}
