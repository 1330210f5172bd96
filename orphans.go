package redlock

import (
	"sync"
	"time"
)

// orphans are the tokens of this client that nobody holds and that may still be
// on nodes: being undone, or hunted. Whoever finds one on a node knows that no
// other client is there. Each is counted: an undo and the hunts that it leaves
// behind add it, each for itself.
//
// A token stays for linger after it was removed: an attempt that began before
// may have met it, and hear of it only now. Of a crowd only the last lingerMost
// stay: what is over is forgotten at the next removal, which may be long in coming.
type orphans struct {
	linger time.Duration

	mu     sync.Mutex
	values map[string]orphan // guarded by mu
	gone   []goneOrphan      // removed, the oldest first; guarded by mu
}

// lingerMost bounds the tokens that were removed and stay.
const lingerMost = 10_000

type orphan struct {
	count int
	until time.Time // with count 0
}

type goneOrphan struct {
	value string
	until time.Time
}

func newOrphans(linger time.Duration) *orphans {
	return &orphans{linger: linger, values: make(map[string]orphan)}
}

func (o *orphans) add(value string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.values[value] = orphan{count: o.values[value].count + 1}
}

func (o *orphans) remove(value string) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	left := orphan{count: o.values[value].count - 1}
	if left.count == 0 {
		left.until = now.Add(o.linger)
		o.gone = append(o.gone, goneOrphan{value, left.until})
	}
	o.values[value] = left
	for len(o.gone) > lingerMost || len(o.gone) > 0 && o.gone[0].until.Before(now) {
		g := o.gone[0]
		o.gone[0] = goneOrphan{} // the array stays for a while
		o.gone = o.gone[1:]
		if o.values[g.value] == (orphan{until: g.until}) { // otherwise it was added again
			delete(o.values, g.value)
		}
	}
}

func (o *orphans) has(value string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.values[value]
	return ok
}
