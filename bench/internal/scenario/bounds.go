package scenario

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// Bounds counts commands where there is no exact formula.
var Bounds = Scenario{
	Name:  "bounds",
	Title: "Commands with contention, and with a node that fails",
	About: "What can be withdrawn before it leaves is not sent, so these are bounds. Contenders: clients that each wait for the same lock, " +
		"hold it for a millisecond, and come again; no more than one command a node for every attempt, and one for its undo or release. " +
		"One node down or hung: no more than without the fault; what a hung node finds when it goes on is counted, the hunt for lost keys too.",
	Run: func(ctx context.Context, e *Env) error {
		for _, n := range []int{3, 5} {
			for _, contenders := range []int{2, 16, 128} {
				if err := e.boundContended(ctx, n, contenders); err != nil {
					return err
				}
			}
		}
		for _, n := range []int{3, 5, 7} {
			for _, fault := range []string{"one down", "one hung"} {
				if err := e.boundFault(ctx, n, fault); err != nil {
					return err
				}
			}
		}
		return nil
	},
}

// boundContended lets clients contend for one lock.
func (e *Env) boundContended(ctx context.Context, n, contenders int) error {
	e.Say("%d nodes, %d contenders", n, contenders)
	f, err := fleet.Start(ctx, e.Kind, n)
	if err != nil {
		return err
	}
	defer f.Close()
	var attempts, grants atomic.Int64
	opts := &redlock.Options{
		NodeTimeout: patient, // a time-out would add to the bill
		Trace: &redlock.Trace{Attempt: func(context.Context, string, int, time.Duration, error) {
			attempts.Add(1)
		}},
	}
	if err := f.Reset(); err != nil {
		return err
	}
	over := make(chan struct{})
	time.AfterFunc(or(e, 2*time.Second, 200*time.Millisecond), func() { close(over) })
	errs := make([]error, contenders)
	var all sync.WaitGroup
	for i := range contenders {
		all.Go(func() { errs[i] = contend(ctx, f, opts, &grants, over) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	stats, err := f.Stats()
	if err != nil {
		return err
	}
	params := []report.Param{report.P("N", n), report.P("what", fmt.Sprint(contenders, " contenders"))}
	e.addBound(params, stats, AttemptsBill(n, int(attempts.Load())))
	e.Add(
		report.Sample{Case: params, Quantity: "locks", Rounds: []float64{float64(grants.Load())}},
		report.Sample{Case: params, Quantity: "attempts a lock", Rounds: []float64{float64(attempts.Load()) / float64(grants.Load())}},
	)
	return nil
}

// contend takes the lock again and again until it is over. Nobody's wait is
// broken off, so that every attempt is decided and counted.
func contend(ctx context.Context, f *fleet.Fleet, opts *redlock.Options, grants *atomic.Int64, over <-chan struct{}) error {
	client, err := redlock.New(fleet.Options(f.Addrs()), opts)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		l, err := client.Acquire(ctx, "wanted", time.Minute)
		if err != nil {
			return err
		}
		grants.Add(1)
		time.Sleep(time.Millisecond) // the work
		if err := l.Release(ctx); err != nil {
			return err
		}
		select {
		case <-over:
			shutdown, cancel := context.WithTimeout(ctx, patient)
			defer cancel()
			return client.Shutdown(shutdown) // waits for its undos
		default:
		}
	}
}

// boundFault counts what locks cost while the last node fails.
func (e *Env) boundFault(ctx context.Context, n int, fault string) error {
	e.Say("%d nodes, %s", n, fault)
	f, err := fleet.Start(ctx, e.Kind, n)
	if err != nil {
		return err
	}
	defer f.Close()
	client, err := redlock.New(fleet.Options(f.Addrs()), &redlock.Options{NodeTimeout: time.Second})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Connect(ctx); err != nil {
		return err
	}
	bad, counting := f.Nodes[n-1], n
	hung := fault == "one hung"
	if hung {
		err = bad.Pause()
	} else {
		counting-- // what is down cannot count, and gets nothing
		err = bad.Kill()
	}
	if err != nil {
		return err
	}
	f.Nodes = f.Nodes[:counting]
	defer func() { f.Nodes = append(f.Nodes[:counting], bad)[:n] }()
	// The hung node's counts began with the process.
	for _, node := range f.Nodes[:n-1] {
		if err := node.Reset(); err != nil {
			return err
		}
	}
	locks := or(e, 2000, 300)
	for i := range locks {
		l, err := client.TryAcquire(ctx, fmt.Sprint("lock-", i), time.Minute)
		if err != nil {
			return err
		}
		if err := l.Release(ctx); err != nil {
			return err
		}
	}
	if hung {
		if err := bad.Resume(); err != nil {
			return err
		}
	}
	gone, err := until(ctx, patient, func() (bool, error) {
		keys, err := f.Keys()
		return keys == 0, err
	})
	if err != nil {
		return err
	}
	if !gone {
		return fmt.Errorf("keys are left %v after %s", patient, fault)
	}
	shutdown, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	if err := client.Shutdown(shutdown); err != nil {
		return err
	}
	stats, err := f.Stats()
	if err != nil {
		return err
	}
	params := []report.Param{report.P("N", n), report.P("what", fault)}
	e.addBound(params, stats, PairBill(counting).Times(locks))
	e.Add(report.Sample{Case: params, Quantity: "locks", Rounds: []float64{float64(locks)}})
	return nil
}

// addBound adds what was counted and what it may have been at most.
func (e *Env) addBound(params []report.Param, stats []fleet.Stats, most Bill) {
	var total float64
	var nodes []float64
	for _, s := range stats {
		total += float64(s.Locking())
		nodes = append(nodes, float64(s.Locking()))
	}
	e.Add(
		report.Sample{Case: params, Quantity: "commands", Rounds: []float64{total}, Want: report.Max(float64(most.Total()))},
		report.Sample{Case: params, Quantity: "bound", Rounds: []float64{float64(most.Total())}},
		report.Sample{Case: params, Quantity: "one node", Rounds: nodes, Want: report.Max(float64(most.Total() / len(stats)))},
	)
}
