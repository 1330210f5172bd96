package cluster

import (
	"container/heap"
	"sync"
	"time"
)

// An agenda does what is due, in the order of time, and at one time in the order
// of entry, in a goroutine of its own, which Close ends. (A timer each would do,
// but with a goroutine each, whose stack has to grow first: a quarter of a
// simulation's cost.) What is due must not wait for time to pass. The zero value
// is not ready: use newAgenda.
type agenda struct {
	timer *time.Timer // what the goroutine waits for
	over  chan struct{}

	mu      sync.Mutex
	entries entries // guarded by mu: the next first
	made    int     // guarded by mu
}

func newAgenda() *agenda {
	a := &agenda{timer: time.NewTimer(time.Hour), over: make(chan struct{})}
	go a.run()
	return a
}

// close ends the agenda: nothing more is done. It must be called once.
func (a *agenda) close() { close(a.over) }

type entry struct {
	at     time.Duration // the bubble's
	number int
	do     func()
}

// after enters what is due once d has passed.
func (a *agenda) after(d time.Duration, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made++
	e := &entry{bubble{}.Now() + d, a.made, do}
	heap.Push(&a.entries, e)
	if a.entries[0] == e {
		a.timer.Reset(d)
	}
}

func (a *agenda) run() {
	for {
		select {
		case <-a.over:
			return
		case <-a.timer.C:
		}
		for do := a.next(); do != nil; do = a.next() {
			do()
		}
	}
}

// next takes what is due. If nothing is it sets the timer for what comes next.
func (a *agenda) next() (do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.entries) == 0 {
		return nil
	}
	if wait := a.entries[0].at - (bubble{}).Now(); wait > 0 {
		a.timer.Reset(wait)
		return nil
	}
	return heap.Pop(&a.entries).(*entry).do
}

// entries are a heap.
type entries []*entry

func (e entries) Len() int { return len(e) }

func (e entries) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].number < e[j].number
}

func (e entries) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *entries) Push(x any) { *e = append(*e, x.(*entry)) }

func (e *entries) Pop() any {
	old := *e
	last := len(old) - 1
	x := old[last]
	old[last], *e = nil, old[:last]
	return x
}
