package scenario

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// Held measures what locks cost that are held and kept alive.
var Held = Scenario{
	Name:  "held",
	Title: "Locks held and kept alive, five nodes",
	About: "Locks acquired by one client as fast as it can, and held at once, extended every third of their TTL, for three TTLs. Bytes and goroutines are those of the whole client process, " +
		"less what it had before the first lock; goroutines are the median of readings during that time.",
	Run: func(ctx context.Context, e *Env) error {
		for _, h := range or(e,
			[]holding{{1_000, 5 * time.Second}, {10_000, 10 * time.Second}, {100_000, 30 * time.Second}},
			[]holding{{1_000, time.Second}},
		) {
			if err := e.held(ctx, h); err != nil {
				return err
			}
		}
		return nil
	},
}

// A holding is so many locks.
type holding struct {
	locks int
	ttl   time.Duration
}

func (e *Env) held(ctx context.Context, h holding) error {
	e.Say("%d locks, TTL %v: acquire", h.locks, h.ttl)
	f, err := fleet.Start(ctx, e.Kind, 5)
	if err != nil {
		return err
	}
	defer f.Close()
	var lost, failed atomic.Int64
	client, err := redlock.New(fleet.Options(f.Addrs()), &redlock.Options{
		Trace: &redlock.Trace{
			Lost: func(string, error) { lost.Add(1) },
			Extended: func(_ context.Context, _ string, _ time.Duration, err error) {
				if err != nil {
					failed.Add(1)
				}
			},
		},
	})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Connect(ctx); err != nil {
		return err
	}
	before := footprint()
	locks, err := acquireAll(ctx, client, h)
	if err != nil {
		return err
	}
	after := footprint()

	e.Say("%d locks, TTL %v: keep alive", h.locks, h.ttl)
	if err := f.Reset(); err != nil {
		return err
	}
	began := time.Now()
	goroutines, err := watchGoroutines(ctx, 3*h.ttl)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	stats, err := f.Stats()
	if err != nil {
		return err
	}
	gone, again := lost.Load(), failed.Load()
	_ = client.Close() // all are lost now; the servers end with the scenario
	runtime.KeepAlive(locks)

	var perNode []float64
	for _, s := range stats {
		perNode = append(perNode, float64(s.Locking())/took)
	}
	params := []report.Param{report.P("locks", h.locks), report.P("TTL", h.ttl)}
	each := func(v float64) []float64 { return []float64{v / float64(h.locks)} }
	e.Add(
		report.Sample{Case: params, Quantity: "bytes each", Unit: report.Bytes, Rounds: each(after.bytes - before.bytes), Want: report.Aim(report.AtMost, 1024)},
		report.Sample{Case: params, Quantity: "goroutines each", Rounds: each(max(goroutines-before.goroutines, 0)), Want: report.Aim(report.AtMost, 0.01)},
		report.Sample{Case: params, Quantity: "commands/s a node", Unit: report.Rate, Rounds: perNode},
		report.Sample{Case: params, Quantity: "extensions failed", Rounds: []float64{float64(again)}},
		report.Sample{Case: params, Quantity: "lost", Rounds: []float64{float64(gone)}, Want: report.Aim(report.Exactly, 0)},
	)
	return nil
}

// acquireAll acquires the locks and keeps them alive.
func acquireAll(ctx context.Context, client *redlock.Client, h holding) ([]*redlock.Lock, error) {
	locks := make([]*redlock.Lock, h.locks)
	var g errgroup.Group
	g.SetLimit(64)
	for i := range locks {
		g.Go(func() (err error) {
			if locks[i], err = client.Acquire(ctx, fmt.Sprintf("held-%06d", i), h.ttl); err != nil {
				return err
			}
			return locks[i].KeepAlive(redlock.KeepAlive{})
		})
	}
	return locks, g.Wait()
}

// A mark is what this process uses.
type mark struct{ bytes, goroutines float64 }

func footprint() mark {
	for range 2 { // the second frees what the first's finalizers let go
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return mark{float64(m.HeapAlloc + m.StackInuse), float64(runtime.NumGoroutine())}
}

// watchGoroutines returns the median number of goroutines during d.
func watchGoroutines(ctx context.Context, d time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var readings report.Sample
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-tick.C:
			readings.Rounds = append(readings.Rounds, float64(runtime.NumGoroutine()))
		case <-ctx.Done():
			tick.Stop()
			if context.Cause(ctx) != context.DeadlineExceeded { //nolint:errorlint // this context's own, as it is
				return 0, context.Cause(ctx)
			}
			return readings.Median(), nil
		}
	}
}
