package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// Wire returns the scenario of what clients put on the wire.
func Wire(clients ...contender.Contender) Scenario {
	return Scenario{
		Name:  "wire",
		Title: "Bytes and connections, for a client and a node",
		About: "Bytes that a node received and sent for one lock that is acquired and released, name and TTL of 10 and 5 characters, " +
			"and the connections that a client keeps to a node, with 128 goroutines at work.",
		Run: func(ctx context.Context, e *Env) error {
			if e.Kind == fleet.Embedded {
				e.Say("left out: nodes in this process do not count bytes")
				return nil
			}
			for _, n := range or(e, NodeCounts, []int{5}) {
				for _, c := range clients {
					if err := e.wireOf(ctx, c, n); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

func (e *Env) wireOf(ctx context.Context, c contender.Contender, n int) error {
	if c.Nodes > 0 {
		n = c.Nodes
	}
	e.Say("%s, %d nodes", c.Name, n)
	f, err := fleet.Start(ctx, e.Kind, n)
	if err != nil {
		return err
	}
	defer f.Close()
	// What a client costs that does as much again, less what it costs, leaves
	// out connecting and looking.
	pairs := or(e, 4000, 500)
	once, err := wireTotals(ctx, c, f, pairs)
	if err != nil {
		return err
	}
	twice, err := wireTotals(ctx, c, f, 2*pairs)
	if err != nil {
		return err
	}
	params := []report.Param{report.P("N", n)}
	in := report.Sample{Subject: c.Name, Case: params, Quantity: "bytes received", Unit: report.Bytes}
	out := report.Sample{Subject: c.Name, Case: params, Quantity: "bytes sent", Unit: report.Bytes}
	connections := report.Sample{Subject: c.Name, Case: params, Quantity: "connections"}
	if c.Connections > 0 {
		connections.Want = report.Equals(float64(c.Connections))
	}
	for i := range f.Nodes {
		in.Rounds = append(in.Rounds, float64(twice[i].BytesIn-once[i].BytesIn)/float64(pairs))
		out.Rounds = append(out.Rounds, float64(twice[i].BytesOut-once[i].BytesOut)/float64(pairs))
		connections.Rounds = append(connections.Rounds, float64(twice[i].Clients))
	}
	e.Add(in, out, connections)
	return nil
}

// wireTotals returns what the nodes counted for a client that makes so many
// pairs, and how many connections it had.
func wireTotals(ctx context.Context, c contender.Contender, f *fleet.Fleet, pairs int) ([]fleet.Stats, error) {
	if err := f.Reset(); err != nil {
		return nil, err
	}
	client, err := c.Open(ctx, f.Addrs())
	if err != nil {
		return nil, err
	}
	err = runPairs(ctx, client, "wire", 128, pairs)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	working, err := f.Stats()
	if err := errors.Join(err, client.Close()); err != nil {
		return nil, err
	}
	stats, err := f.Stats()
	for i := range stats {
		stats[i].Clients = working[i].Clients
	}
	return stats, err
}

// runPairs acquires and releases so many locks, each with a name of its own, in
// so many goroutines.
func runPairs(ctx context.Context, client contender.Client, names string, goroutines, pairs int) error {
	var next atomic.Int64
	var g errgroup.Group
	for range goroutines {
		g.Go(func() error {
			for {
				i := next.Add(1)
				if i > int64(pairs) {
					return nil
				}
				l, err := client.Acquire(ctx, fmt.Sprintf("%s-%05d", names, i), ttl)
				if err != nil {
					return err
				}
				if err := l.Release(ctx); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}
