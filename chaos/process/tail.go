package process

import "sync"

// A Tail is a writer that keeps the end of what was written, such as a process
// prints: its log, or a panic's trace. It is safe for concurrent use.
type Tail struct {
	Size int // bytes kept; 0 means 64 KiB

	mu  sync.Mutex
	end []byte // guarded by mu
}

// Write keeps p, and forgets what that leaves no room for. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	size := t.Size
	if size == 0 {
		size = 64 << 10
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if extra := len(t.end) - size; extra > 0 {
		t.end = append(t.end[:0], t.end[extra:]...)
	}
	return len(p), nil
}

// String returns what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}
