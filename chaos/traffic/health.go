package traffic

import "runtime"

// Health is what a process uses, when it is at rest.
type Health struct {
	Goroutines int    `json:"goroutines"`
	Heap       uint64 `json:"heap"` // bytes that are in use after a collection
}

// ownHealth returns that of this process.
func ownHealth() Health {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Health{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc}
}
