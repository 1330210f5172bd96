package traffic

import (
	"context"
	"sync"
	"time"

	"github.com/quorumlock/redlock/chaos/plan"
)

// healed tells when the healed run has gone on for long enough: every name was
// granted since, and the run had enough traffic to prove something.
type healed struct {
	floors plan.Floors

	mu      sync.Mutex
	missing map[string]bool // names not granted since; nil: not healed yet; guarded by mu
	grants  int             // in the whole run; guarded by mu
	calls   int             // as far as grants show; guarded by mu
	enough  chan struct{}   // closed when it is
	isOver  bool            // enough is closed; guarded by mu
}

func newHealed(f plan.Floors) *healed { return &healed{floors: f, enough: make(chan struct{})} }

func (h *healed) begin(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = map[string]bool{}
	for _, name := range names {
		h.missing[name] = true
	}
}

// granted takes note of a grant, of call number call, after so many attempts.
func (h *healed) granted(name string, call, attempts int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grants++
	h.calls = max(h.calls, call)
	if h.missing == nil || h.isOver {
		return
	}
	delete(h.missing, name)
	// Nearly every call is contended where many ask for few names.
	if len(h.missing) == 0 && h.grants >= h.floors.Grants && attempts >= h.floors.Attempts && h.calls >= 3*h.floors.Contended {
		close(h.enough)
		h.isOver = true
	}
}

// wait returns when it is enough, or at the limit: what is missing then is for
// the checkers to see.
func (h *healed) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-h.enough:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
