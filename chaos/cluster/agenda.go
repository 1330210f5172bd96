package cluster

import (
	"container/heap"
	"sync"
	"time"
)

// An agenda does what is due, in the order of time, and at one time in the order
// of entry, in a goroutine of its own, which close ends. (A timer each would do,
// but with a goroutine each, whose stack has to grow first: a quarter of a
// simulation's cost.) What is due must not wait for time to pass. The zero value
// is not ready: use newAgenda.
type agenda struct {
	timer *time.Timer   // what the goroutine waits for
	ended chan struct{} // closed when it has

	mu      sync.Mutex
	entries entries // guarded by mu: the next first
	made    int     // guarded by mu
	over    bool    // guarded by mu: nothing more is done
}

func newAgenda() *agenda {
	a := &agenda{timer: time.NewTimer(time.Hour), ended: make(chan struct{})}
	go a.run()
	return a
}

// close ends the agenda and waits for that.
func (a *agenda) close() {
	a.mu.Lock()
	a.over = true
	a.timer.Reset(0)
	a.mu.Unlock()
	<-a.ended
}

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
	defer close(a.ended)
	for {
		<-a.timer.C
		do, over := a.next()
		for ; do != nil; do, over = a.next() {
			do()
		}
		if over {
			return
		}
	}
}

// next takes what is due. If nothing is it sets the timer for what comes next.
func (a *agenda) next() (do func(), over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || len(a.entries) == 0 {
		return nil, a.over
	}
	if wait := a.entries[0].at - (bubble{}).Now(); wait > 0 {
		a.timer.Reset(wait)
		return nil, false
	}
	return heap.Pop(&a.entries).(*entry).do, false
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
