package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/bench/internal/report"
	"github.com/quorumlock/redlock/quorum"
	"github.com/quorumlock/redlock/redlocktest"
)

// Down are the parts of time for which a node is down that the tables show.
var Down = []float64{0.001, 0.01}

// Available is the closed form: the part of time in which at least a quorum of n
// nodes is up, if each is down for a part of time, independently.
func Available(n int, down float64) float64 {
	lacking := 0.0 // summed from the smallest: 1 minus it keeps its digits
	for failed := n; failed > n-quorum.Majority(n); failed-- {
		lacking += choose(n, failed) * math.Pow(down, float64(failed)) * math.Pow(1-down, float64(n-failed))
	}
	return 1 - lacking
}

// choose returns how many sets of k there are among n.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// Availability compares the closed form with what the client does.
var Availability = Scenario{
	Name:  "availability",
	Title: "Availability, by number of nodes",
	About: "The part of time in which a lock can be had, if every node is down for a part of time, independently of the others. " +
		"Closed form: the probability that a quorum is up. The rest is measured, with the client on nodes in memory: with every set of nodes down, and again hung, each set weighted with its probability; " +
		"and in many attempts with nodes down at random. \"Wrong\" counts outcomes other than: a lock exactly where a quorum is up.",
	Run: func(ctx context.Context, e *Env) error {
		for _, n := range NodeCounts {
			e.Say("%d nodes", n)
			if err := e.availabilityOf(ctx, n); err != nil {
				return err
			}
		}
		return nil
	},
}

const microsecondsAYear = 365.25 * 24 * 3600 * 1e6

func (e *Env) availabilityOf(ctx context.Context, n int) error {
	need := quorum.Majority(n)
	down, wrongDown, err := everySet(ctx, n, (*redlocktest.Node).Down)
	if err != nil {
		return err
	}
	hung, wrongHung, err := everySet(ctx, n, (*redlocktest.Node).Hang)
	if err != nil {
		return err
	}
	for _, p := range Down {
		params := []report.Param{report.P("N", n), report.P("each node down", fmt.Sprintf("%g %%", 100*p))}
		add := func(quantity string, unit report.Unit, v float64, want *report.Want) {
			e.Add(report.Sample{Case: params, Quantity: quantity, Unit: unit, Rounds: []float64{v}, Want: want})
		}
		random, wrong, err := sampleDown(ctx, n, p, or(e, 50_000, 5_000))
		if err != nil {
			return err
		}
		add("quorum", report.Number, float64(need), nil)
		add("failures survived", report.Number, float64(n-need), nil)
		add("closed form", report.Nines, Available(n, p), nil)
		add("without, a year", report.Time, (1-Available(n, p))*microsecondsAYear, nil)
		add("every set down", report.Nines, weigh(down, n, p), nil)
		add("every set hung", report.Nines, weigh(hung, n, p), nil)
		add("at random", report.Nines, random, nil)
		add("wrong", report.Number, float64(wrongDown+wrongHung+wrong), report.Equals(0))
	}
	return nil
}

// everySet tries to get a lock with every set of n nodes failed, and returns
// with which it could be had, and how many outcomes were wrong.
func everySet(ctx context.Context, n int, fail func(*redlocktest.Node)) (had []bool, wrong int, err error) {
	had = make([]bool, 1<<n) // by set: bit i is node i
	for set := range had {
		nodes := redlocktest.Nodes(n)
		for i, node := range nodes {
			if set&(1<<i) != 0 {
				fail(node)
			}
		}
		client, err := openMemory(nodes)
		if err != nil {
			return nil, 0, err
		}
		had[set], err = tryOnce(ctx, client)
		if err := errors.Join(err, client.Close()); err != nil {
			return nil, 0, err
		}
		if had[set] != (n-bits.OnesCount(uint(set)) >= quorum.Majority(n)) {
			wrong++
		}
	}
	return had, wrong, nil
}

// weigh returns the probability of the sets of failed nodes with which a lock
// was had.
func weigh(had []bool, n int, down float64) float64 {
	lacking := 0.0
	for set, ok := range had {
		if failed := bits.OnesCount(uint(set)); !ok {
			lacking += math.Pow(down, float64(failed)) * math.Pow(1-down, float64(n-failed))
		}
	}
	return 1 - lacking
}

// sampleDown makes so many attempts, each with every node down with the
// probability given, and returns the part that got a lock, and how many did
// that should not have, or did not that should.
func sampleDown(ctx context.Context, n int, down float64, attempts int) (part float64, wrong int, err error) {
	nodes := redlocktest.Nodes(n)
	client, err := openMemory(nodes)
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	dice := rand.New(rand.NewPCG(1, uint64(n)))
	locks := 0
	for range attempts {
		up := 0
		for _, node := range nodes {
			if dice.Float64() < down {
				node.Down()
			} else {
				node.Up()
				up++
			}
		}
		ok, err := tryOnce(ctx, client)
		if err != nil {
			return 0, 0, err
		}
		if ok {
			locks++
		}
		if ok != (up >= quorum.Majority(n)) {
			wrong++
		}
	}
	return float64(locks) / float64(attempts), wrong, nil
}

func openMemory(nodes []*redlocktest.Node) (*redlock.Client, error) {
	conns := make([]redlock.Node, len(nodes))
	for i, n := range nodes {
		conns[i] = n.Conn()
	}
	return redlock.NewFrom(conns, &redlock.Options{
		NodeTimeout:    20 * time.Millisecond, // hung nodes are many, and waited for
		ConnectTimeout: 20 * time.Millisecond,
	})
}

// tryOnce reports whether a lock can be had.
func tryOnce(ctx context.Context, client *redlock.Client) (bool, error) {
	l, err := client.TryAcquire(ctx, "available", time.Minute)
	switch {
	case errors.Is(err, redlock.ErrNoQuorum):
		return false, nil
	case err != nil:
		return false, err
	}
	_ = l.Release(ctx) // a node that is down cannot confirm
	return true, nil
}
