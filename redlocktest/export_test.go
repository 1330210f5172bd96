package redlocktest

import "time"

// SetPatience shortens the wait for nodes that are known to be silent.
func SetPatience(d time.Duration) { patience = d }

// Keys returns how many keys are in memory, those that have expired included.
func Keys(n *Node) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.keys)
}

// Open returns how many requests have a timer.
func Open(n *Node) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.open)
}
