package main

import "sync"

// A ledger is the store that the job writes to. It records which period is done,
// and by whom: the lock cannot know that, it only keeps two from working on it at
// the same time. In a real store done and settle are reads and writes of one
// transaction.
//
// The ledger also watches over the promise, which a real store need not.
type ledger struct {
	mu       sync.Mutex
	doneBy   map[string]string // server by period; guarded by mu
	working  int               // how many are at it; guarded by mu
	runs     int               // how many have been; guarded by mu
	overlaps int               // how many began while another was at it; guarded by mu
}

// done returns who has done the period; "" if nobody has.
func (l *ledger) done(period string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doneBy[period]
}

// begin counts a run and returns what ends it. by is "" if it did not finish.
func (l *ledger) begin(period string) (end func(by string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs++
	if l.working > 0 {
		l.overlaps++
	}
	l.working++
	return func(by string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.working--
		if by == "" {
			return
		}
		if l.doneBy == nil {
			l.doneBy = make(map[string]string)
		}
		l.doneBy[period] = by
	}
}

// counts returns how many worked, and how many of them while another did.
func (l *ledger) counts() (runs, overlaps int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs, l.overlaps
}
