// Package load makes goroutines do the same thing again and again, and measures
// how long it takes and what it costs.
package load

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Load says who does what for how long.
type Load struct {
	Goroutines int
	WarmUp     time.Duration // before measuring: connections, scripts, suspicion of nodes
	For        time.Duration // turns are begun for so long
	Steps      int           // of a turn
	Names      string        // the first letters of the names

	// Work is one turn. It calls Lap after each step. A turn that fails is
	// counted, and the steps that it made are measured all the same.
	Work func(ctx context.Context, w *Worker) error
}

// A Worker is one of the goroutines.
type Worker struct {
	Name string // of this turn, different from all others

	names []byte
	turn  int64
	last  time.Time
	step  int
	times [][]time.Duration // by step; while measuring
	on    bool
}

// Lap ends a step of the turn.
func (w *Worker) Lap() {
	now := time.Now()
	if w.on {
		w.times[w.step] = append(w.times[w.step], now.Sub(w.last))
	}
	w.last = now
	w.step++
}

// Skip leaves out a step of the turn.
func (w *Worker) Skip() { w.step++ }

// A Result is what was measured. A turn is measured if it was begun while
// measuring, and the time ends with the last of them: slow turns count as well,
// and there is one of every worker.
type Result struct {
	Turns  int // that were measured
	Failed int // of them
	Error  error
	Took   time.Duration
	CPU    time.Duration // of this process
	Allocs uint64
	Steps  []*hdrhistogram.Histogram // times in ns
	Whole  *hdrhistogram.Histogram   // of turns
}

// longest is the longest time that a histogram can hold.
const longest = 5 * time.Minute

// Run runs the load. Its error is ctx's.
func Run(ctx context.Context, l Load) (Result, error) {
	var measuring, over atomic.Bool
	var failed, turns atomic.Int64
	var firstError atomic.Pointer[error]
	workers := make([]*Worker, l.Goroutines)
	var all sync.WaitGroup
	for i := range workers {
		w := &Worker{names: append([]byte(l.Names), strconv.Itoa(i)+"-"...), times: make([][]time.Duration, l.Steps+1)}
		for s := range w.times {
			w.times[s] = make([]time.Duration, 0, 1024)
		}
		workers[i] = w
		all.Go(func() {
			measured := false // every worker has at least one turn that counts
			for ctx.Err() == nil && (!over.Load() || !measured) {
				w.on = measuring.Load()
				err := w.do(ctx, l.Work)
				if !w.on {
					continue
				}
				measured = true
				turns.Add(1)
				if err != nil {
					failed.Add(1)
					firstError.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wait(ctx, l.WarmUp)
	before := now()
	measuring.Store(true)
	wait(ctx, l.For)
	over.Store(true)
	all.Wait()
	after := now()

	r := Result{
		Turns: int(turns.Load()), Failed: int(failed.Load()),
		Took: after.at.Sub(before.at), CPU: after.cpu - before.cpu, Allocs: after.allocs - before.allocs,
	}
	if err := firstError.Load(); err != nil {
		r.Error = *err
	}
	for s := range l.Steps + 1 {
		h := hdrhistogram.New(int64(time.Microsecond), int64(longest), 3)
		for _, w := range workers {
			for _, d := range w.times[s] {
				_ = h.RecordValue(int64(min(d, longest))) // fits
			}
		}
		r.Steps = append(r.Steps, h)
	}
	r.Whole, r.Steps = r.Steps[l.Steps], r.Steps[:l.Steps]
	return r, ctx.Err()
}

// do makes one turn.
func (w *Worker) do(ctx context.Context, work func(context.Context, *Worker) error) error {
	w.turn++
	w.Name = string(strconv.AppendInt(w.names[:len(w.names):len(w.names)], w.turn, 10))
	w.step, w.last = 0, time.Now()
	began := w.last
	err := work(ctx, w)
	if w.on {
		whole := len(w.times) - 1
		w.times[whole] = append(w.times[whole], time.Since(began))
	}
	return err
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// A moment is what the process had used by then.
type moment struct {
	at     time.Time
	cpu    time.Duration
	allocs uint64
}

func now() moment {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return moment{time.Now(), processTime(), m.Mallocs}
}
