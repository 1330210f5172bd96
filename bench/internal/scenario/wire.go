package scenario

import (
	"context"

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
	client, err := c.Open(ctx, f.Addrs())
	if err != nil {
		return err
	}
	defer client.Close()
	const goroutines = 128
	pairs := or(e, 4000, 500)
	m := &meter{fleet: f}
	if err := f.Reset(); err != nil {
		return err
	}
	if err := runPairs(ctx, client, "warm", goroutines, pairs); err != nil { // connections, scripts
		return err
	}
	before, err := m.settle(ctx, PairBill(n).Times(pairs))
	if err != nil {
		return err
	}
	if err := runPairs(ctx, client, "wire", goroutines, pairs); err != nil {
		return err
	}
	after, err := m.settle(ctx, PairBill(n).Times(2*pairs))
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
		in.Rounds = append(in.Rounds, float64(after[i].BytesIn-before[i].BytesIn)/float64(pairs))
		out.Rounds = append(out.Rounds, float64(after[i].BytesOut-before[i].BytesOut)/float64(pairs))
		connections.Rounds = append(connections.Rounds, float64(after[i].Clients))
	}
	e.Add(in, out, connections)
	return nil
}
