// Command peers measures this module's lock beside other Go clients for locks on
// Redis, each configured as well as it can be, in one run, taking turns.
//
//	cd bench/peers && go run . -quick    a minute or two
//	cd bench/peers && go run .           about thirteen
//
// It is a module of its own, so that nobody who uses the lock downloads the
// others.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/quorumlock/redlock/bench/internal/command"
	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/report"
	"github.com/quorumlock/redlock/bench/internal/scenario"
)

func main() { os.Exit(run()) }

func run() (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := command.Bench{
		Name:   "peers",
		Use:    "cd bench/peers && go run .",
		Out:    "../out",
		Rounds: 3,
		Modules: []string{
			"github.com/redis/go-redis/v9", "github.com/go-redsync/redsync/v4",
			"github.com/redis/rueidis", "github.com/bsm/redislock",
		},
		Scenarios: scenarios(),
	}
	return b.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

func scenarios() []scenario.Scenario {
	ours, patient, limit := scenario.Ours, scenario.PatientOurs, scenario.Limit
	quorums := []contender.Contender{redsyncDefault, redsyncFailFast, redsyncShort, redsyncRueidis}
	single := []contender.Contender{rueidisLock, bsmLock}

	list := func(first ...contender.Contender) func(more ...[]contender.Contender) []contender.Contender {
		return func(more ...[]contender.Contender) []contender.Contender {
			for _, m := range more {
				first = append(first, m...)
			}
			return first
		}
	}
	const pairs, p50 = "pairs/s", "p50"
	return []scenario.Scenario{
		scenario.Price(list(patient)(quorums, single)),
		scenario.Wire(list(patient)(quorums, single)...),
		scenario.Throughput(list(limit, patient)(quorums, single), []scenario.Comparison{
			{Of: ours.Name, To: redsyncDefault.Name, Quantity: pairs, Relation: report.AtLeast, Aims: map[string]float64{"16": 5, "128": 10}},
			{Of: ours.Name, To: redsyncRueidis.Name, Quantity: pairs, Relation: report.AtLeast, Aims: map[string]float64{"16": 3, "128": 4}},
			{Of: ours.Name, To: limit.Name, Quantity: pairs, Relation: report.AtLeast, Aims: map[string]float64{"128": 0.75}},
			{Of: ours.Name, To: redsyncDefault.Name, Quantity: p50, Relation: report.AtMost, Aims: map[string]float64{"1": 0.7}},
			{Of: ours.Name, To: redsyncRueidis.Name, Quantity: p50, Relation: report.AtMost, Aims: map[string]float64{"1": 1.1}},
		}),
		scenario.Faults(list(limit, ours)(quorums), []int{16}),
		scenario.Outage(list(ours)(quorums)),
		scenario.Contention(list(ours)(quorums, single), []int{2, 16}),
		scenario.Hygiene(list(ours)(quorums, single)),
	}
}
