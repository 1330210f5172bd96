package sweep_test

import (
	"sync/atomic"
	"time"
)

// A machineWatch adds up for how long the machine was too busy to run this process
// when it should have: time limits allow for it.
type machineWatch struct{ lost atomic.Int64 }

var machine machineWatch

// watch runs until stop is closed.
func (w *machineWatch) watch(stop <-chan struct{}) {
	const period, normal = 5 * time.Millisecond, 5 * time.Millisecond
	ticker := time.NewTimer(period)
	defer ticker.Stop()
	for due := time.Now().Add(period); ; due = time.Now().Add(period) {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		if late := time.Since(due); late > normal {
			w.lost.Add(int64(late))
		}
		ticker.Reset(period)
	}
}

// A stopwatch measures time and what the machine lost of it.
type stopwatch struct {
	start time.Time
	lost  int64
}

func startWatch() stopwatch { return stopwatch{time.Now(), machine.lost.Load()} }

// read returns how much time has passed since the start, less what was lost.
func (w stopwatch) read() time.Duration {
	return time.Since(w.start) - time.Duration(machine.lost.Load()-w.lost)
}
