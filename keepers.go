package redlock

import (
	"container/heap"
	"sync"
	"time"
)

// keepersLimit bounds the automatic extensions of a client that are under way at
// once. Ten thousand locks acquired in one second are due in one second too: all
// together they would wait longer in the nodes' queues than NodeTimeout, and
// fail together, although each has most of its TTL left to wait in.
const keepersLimit = 512

// keepers are the automatic extensions of a client: those under way, and the
// locks that wait for their turn, the next to be lost first.
type keepers struct {
	mu      sync.Mutex
	running int          // guarded by mu
	waiting waitingLocks // guarded by mu
}

// begin reports whether l may be extended now. If not it waits, and a later end
// returns it.
func (k *keepers) begin(l *Lock) bool {
	lostAt := l.lossTime()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running >= keepersLimit {
		heap.Push(&k.waiting, waitingLock{l, lostAt})
		return false
	}
	k.running++
	return true
}

// end ends an extension. It returns the lock that is next, or nil.
func (k *keepers) end() *Lock {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) == 0 {
		k.running--
		return nil
	}
	return heap.Pop(&k.waiting).(waitingLock).lock
}

type waitingLock struct {
	lock   *Lock
	lostAt time.Duration
}

// waitingLocks are a heap by lostAt.
type waitingLocks []waitingLock

func (w waitingLocks) Len() int           { return len(w) }
func (w waitingLocks) Less(i, j int) bool { return w[i].lostAt < w[j].lostAt }
func (w waitingLocks) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waitingLocks) Push(x any)        { *w = append(*w, x.(waitingLock)) }

func (w *waitingLocks) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last] = waitingLock{}
	*w = (*w)[:last]
	if last == 0 {
		*w = nil // a crowd has come and gone
	}
	return x
}
