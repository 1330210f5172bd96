package redlock

import "sync"

// orphans are the tokens of this client that nobody holds and that may still be
// on nodes: being undone, or hunted. Whoever finds one on a node knows that no
// other client is there. Each is counted: an undo and the hunts that it leaves
// behind add it, each for itself.
type orphans struct {
	mu     sync.Mutex
	values map[string]int // guarded by mu
}

func (o *orphans) add(value string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.values == nil {
		o.values = make(map[string]int)
	}
	o.values[value]++
}

func (o *orphans) remove(value string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.values[value] > 1 {
		o.values[value]--
		return
	}
	delete(o.values, value)
}

func (o *orphans) has(value string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.values[value] > 0
}
