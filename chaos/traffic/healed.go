package traffic

import (
	"context"
	"sync"
	"time"
)

// healed tells when every name was granted after the healing.
type healed struct {
	mu      sync.Mutex
	missing map[string]bool // guarded by mu; nil: not healed yet
	all     chan struct{}   // closed when none is missing
}

func newHealed() *healed { return &healed{all: make(chan struct{})} }

func (h *healed) begin(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = map[string]bool{}
	for _, name := range names {
		h.missing[name] = true
	}
}

func (h *healed) granted(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.missing[name] {
		return
	}
	delete(h.missing, name)
	if len(h.missing) == 0 {
		close(h.all)
	}
}

// wait returns when none is missing, or at the limit: what is missing then is
// for the checkers to see.
func (h *healed) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-h.all:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
