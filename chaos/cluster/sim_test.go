package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/redlocktest"
)

const ms = time.Millisecond

func newSim(t *testing.T, p *plan.Plan) (*cluster.Sim, *history.Recorder) {
	if p.TTLs == nil {
		p.TTLs = []time.Duration{time.Second}
	}
	start := time.Now()
	log := history.NewRecorder(func() time.Duration { return time.Since(start) })
	sim := cluster.NewSim(cluster.Setup{Plan: p, Seed: 1, Log: log, Simulated: true})
	t.Cleanup(func() { require.NoError(t, sim.Close()) })
	return sim, log
}

// What the simulation proves counts as much as its nodes are nodes.
func TestASimulatedNodeConforms(t *testing.T) {
	redlocktest.Conform(t, func(t *testing.T) redlock.Node {
		sim, _ := newSim(t, &plan.Plan{Nodes: 1, Clients: 1, Network: plan.Network{Delay: plan.Span{Min: ms / 10, Max: ms}}})
		nodes, _ := sim.Client(1)
		return nodes[0]
	})
}

// ask sends one command and waits for its answer.
func ask(n redlock.Node, op redlock.Op, value string, ttl time.Duration) redlock.Answer {
	answer := make(chan redlock.Answer, 1)
	c := &redlock.Command{Op: op, Key: "job-1", Value: value, TTL: ttl}
	n.Send(redlock.NewRequest(c, 50*ms, func(a redlock.Answer) { answer <- a }))
	return <-answer
}

// value returns a value as clients make it.
func value(client int) string { return fmt.Sprintf("%040d/%s", client, history.Owner(client)) }

func TestASimulationSaysWhichFaultItCannotDo(t *testing.T) {
	sim, _ := newSim(t, &plan.Plan{Nodes: 1, Clients: 1})
	for _, f := range plan.Faults {
		if f.OfClients && f.Name != plan.ClientClockJump && f.Name != plan.ClientClockRate {
			continue // the traffic's
		}
		step := &plan.Step{Fault: f.Name, Rate: 1, By: ms, Reply: "LOADING"}
		_, err := sim.Begin(step, 1)
		require.Equal(t, errors.Is(err, cluster.ErrCannot), sim.Can(f.Name) != nil, f.Name)
	}
	require.ErrorIs(t, sim.Can(plan.Cut), cluster.ErrCannot)
}

func TestEveryFaultDoesWhatItSays(t *testing.T) {
	for fault, want := range map[string]struct {
		step   plan.Step
		during redlock.Vote // of an acquisition while it acts
		after  redlock.Vote // of another client's, when it has ended
	}{
		plan.Kill:          {during: redlock.VoteNotSent, after: redlock.VoteYes},
		plan.RestartForget: {during: redlock.VoteNotSent, after: redlock.VoteYes},
		plan.RestartLate:   {during: redlock.VoteNotSent, after: redlock.VoteYes},
		plan.Pause:         {during: redlock.VoteUnknown, after: redlock.VoteForeign}, // it arrives after all
		plan.Partition:     {during: redlock.VoteUnknown, after: redlock.VoteYes},
		plan.DropRequest:   {during: redlock.VoteUnknown, after: redlock.VoteYes},
		plan.DropReply:     {during: redlock.VoteUnknown, after: redlock.VoteForeign},
		plan.LateDeliver:   {step: plan.Step{By: 60 * ms}, during: redlock.VoteUnknown, after: redlock.VoteForeign},
		plan.Slow:          {step: plan.Step{By: 60 * ms}, during: redlock.VoteUnknown, after: redlock.VoteForeign},
		plan.Reset:         {during: redlock.VoteUnknown, after: redlock.VoteYes},
		plan.ErrorReply:    {step: plan.Step{Reply: "OOM"}, during: redlock.VoteError, after: redlock.VoteYes},
		plan.Duplicate:     {during: redlock.VoteYes, after: redlock.VoteForeign},
	} {
		t.Run(fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, log := newSim(t, &plan.Plan{Nodes: 1, Clients: 2, Network: plan.Network{Delay: plan.Span{Min: ms / 10, Max: ms}}})
				one, _ := sim.Client(1)
				two, _ := sim.Client(2)
				step := want.step
				step.Fault, step.Nodes = fault, []int{1}
				end, err := sim.Begin(&step, 1)
				require.NoError(t, err)
				require.Equal(t, want.during, ask(one[0], redlock.OpAcquire, value(1), time.Minute).Vote)
				time.Sleep(100 * ms)
				end()
				require.Equal(t, 1, log.Counts()[history.Seen])
				time.Sleep(100 * ms)
				require.Equal(t, want.after, ask(two[0], redlock.OpAcquire, value(2), time.Minute).Vote)
			})
		})
	}
}

func TestForgettingAndClocksEndKeysAndSaySo(t *testing.T) {
	for _, step := range []plan.Step{
		{Fault: plan.Flush}, {Fault: plan.ClockJump, By: time.Hour},
		{Fault: plan.RestartForget}, {Fault: plan.ClockRate, Rate: 1e6},
	} {
		t.Run(step.Fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, log := newSim(t, &plan.Plan{Nodes: 1, Clients: 1})
				nodes, _ := sim.Client(1)
				require.Equal(t, redlock.VoteYes, ask(nodes[0], redlock.OpAcquire, value(1), time.Minute).Vote)
				kept := lastKept(log)
				require.InDelta(t, time.Minute, kept.Until-kept.At, 1)
				require.Equal(t, 1, kept.Client)

				end, err := sim.Begin(&step, 1)
				require.NoError(t, err)
				time.Sleep(10 * ms)
				end()
				require.LessOrEqual(t, lastKept(log).Until, log.Now())
				require.Positive(t, log.Counts()[history.Seen])
				sim.Inspect(context.Background(), []string{"job-1"})
				require.Zero(t, log.Counts()[history.Found])
			})
		})
	}
}

func lastKept(log *history.Recorder) (last history.Event) {
	for _, e := range log.Events() {
		if e.Kind == history.Kept {
			last = e
		}
	}
	return last
}

// Messages of one connection keep their order, whatever their delays.
func TestNothingOvertakesOnAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, _ := newSim(t, &plan.Plan{Nodes: 1, Clients: 1, Network: plan.Network{Delay: plan.Span{Min: ms / 10, Max: 10 * ms}}})
		nodes, _ := sim.Client(1)
		for i := range 50 {
			answers := make(chan redlock.Answer, 2)
			send := func(op redlock.Op, ttl time.Duration) {
				c := &redlock.Command{Op: op, Key: "job-1", Value: value(i), TTL: ttl}
				nodes[0].Send(redlock.NewRequest(c, 50*ms, func(a redlock.Answer) { answers <- a }))
			}
			send(redlock.OpAcquire, time.Minute)
			time.Sleep(ms / 10)
			send(redlock.OpRelease, 0)
			require.Equal(t, redlock.VoteYes, (<-answers).Vote, "the SET")
			require.Equal(t, redlock.VoteYes, (<-answers).Vote, "the DEL after it")
		}
	})
}

// Members that a plan gives a client are all that it knows.
func TestAClientHasItsMembersOnly(t *testing.T) {
	sim, _ := newSim(t, &plan.Plan{Nodes: 5, Clients: 2, Members: [][]int{{1, 2}, nil}})
	one, _ := sim.Client(1)
	two, _ := sim.Client(2)
	require.Len(t, one, 2)
	require.Len(t, two, 5)
	require.Equal(t, "node-2", one[1].String())
}
