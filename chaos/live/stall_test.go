package live_test

import (
	"sync"
	"time"
)

// A stallWatch finds out when the machine is too busy to run this process: then
// time limits say nothing about the lock.
type stallWatch struct {
	mu     sync.Mutex
	stalls []stall // guarded by mu
}

type stall struct{ from, to time.Time }

const (
	stallPeriod = 5 * time.Millisecond
	shortStall  = 10 * time.Millisecond // and anything less is the normal course of things
)

var machine stallWatch

// watch runs until stop is closed.
func (w *stallWatch) watch(stop <-chan struct{}) {
	for last := time.Now(); ; {
		select {
		case <-stop:
			return
		default:
		}
		time.Sleep(stallPeriod)
		now := time.Now()
		if now.Sub(last) > stallPeriod+shortStall {
			w.mu.Lock()
			w.stalls = append(w.stalls, stall{last, now})
			w.mu.Unlock()
		}
		last = now
	}
}

// since returns how much time was lost from then on.
func (w *stallWatch) since(then time.Time) (lost time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.stalls) - 1; i >= 0 && w.stalls[i].to.After(then); i-- {
		lost += w.stalls[i].to.Sub(w.stalls[i].from)
	}
	return lost
}
