package scenario

import (
	"context"
	"fmt"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// Price returns the scenario of what a lock costs the servers, whoever the client.
func Price(clients []contender.Contender) Scenario {
	return Scenario{
		Name:  "price",
		Title: "Commands for one lock, by number of nodes",
		About: "Commands that a client sent to all nodes together for one lock that is acquired and released, nobody else wanting it (MONITOR), " +
			"and all that the nodes carried out for it, what scripts call included (INFO commandstats). " +
			"Clients that do not wait for all nodes may take back what has not left when the others have decided.",
		Run: func(ctx context.Context, e *Env) error {
			for _, n := range NodeCounts {
				for _, c := range clients {
					if c.Nodes > 0 && c.Nodes != n {
						continue
					}
					e.Say("%d nodes, %s", n, c.Name)
					if err := e.priceOf(ctx, c, n); err != nil {
						return fmt.Errorf("%s, %d nodes: %w", c.Name, n, err)
					}
				}
			}
			return nil
		},
	}
}

func (e *Env) priceOf(ctx context.Context, c contender.Contender, n int) error {
	f, err := fleet.Start(ctx, e.Kind, n)
	if err != nil {
		return err
	}
	defer f.Close()
	client, err := c.Open(ctx, f.Addrs())
	if err != nil {
		return err
	}
	defer client.Close()
	const locks = 100
	if err := runPairs(ctx, client, "warm", 1, 10); err != nil { // connections, scripts
		return err
	}
	if _, err := (&meter{fleet: f}).settle(ctx, PairBill(n).Times(10)); err != nil {
		return err
	}
	m, err := startMeter(f)
	if err != nil {
		return err
	}
	defer m.close()
	if err := runPairs(ctx, client, "price", 1, locks); err != nil {
		return err
	}
	stats, err := m.settle(ctx, PairBill(n).Times(locks))
	if err != nil {
		return err
	}
	sent, err := m.sent()
	if err != nil {
		return err
	}
	var all int64
	for _, s := range stats {
		for name, calls := range s.Calls {
			if !ofLooking[name] {
				all += calls
			}
		}
	}
	params := []report.Param{report.P("N", n)}
	e.Add(
		report.Sample{Subject: c.Name, Case: params, Quantity: "sent for a lock", Rounds: []float64{float64(sent) / locks}},
		report.Sample{Subject: c.Name, Case: params, Quantity: "carried out", Rounds: []float64{float64(all) / locks}},
	)
	return nil
}

// ofLooking are the commands of who counts.
var ofLooking = map[string]bool{"info": true, "config|resetstat": true, "monitor": true, "echo": true}
