package traffic

import (
	"context"
	"sync"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// healed tells when the healed run has gone on for long enough: every name was
// granted since, and the run had enough traffic to prove something.
type healed struct {
	floors plan.Floors

	mu        sync.Mutex
	missing   map[string]bool // names not granted since; nil: not healed yet; guarded by mu
	grants    int             // in the whole run; guarded by mu
	claims    map[claim]int   // calls under way, and locks; guarded by mu
	contended int             // calls that found a claim of another client; guarded by mu
	enough    chan struct{}   // closed when it is
	isOver    bool            // enough is closed; guarded by mu
}

// A claim is what a client has to a name.
type claim struct {
	client int
	name   string
}

func newHealed(f plan.Floors) *healed {
	return &healed{floors: f, claims: map[claim]int{}, enough: make(chan struct{})}
}

func (h *healed) begin(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = map[string]bool{}
	for _, name := range names {
		h.missing[name] = true
	}
}

// follow takes note of what a client did.
func (h *healed) follow(e *history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	its := claim{e.Client, e.Name}
	switch e.Kind {
	case history.Begin:
		for c, n := range h.claims {
			if n > 0 && c.name == its.name && c.client != its.client {
				h.contended++
				break
			}
		}
		h.claims[its]++
	case history.Failed, history.Release, history.Lost:
		h.claims[its]--
	case history.Crash:
		for c := range h.claims {
			if c.client == its.client {
				delete(h.claims, c)
			}
		}
	}
}

// granted takes note of a grant, after so many attempts.
func (h *healed) granted(name string, attempts int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grants++
	if h.missing == nil || h.isOver {
		return
	}
	delete(h.missing, name)
	if len(h.missing) == 0 && h.grants >= h.floors.Grants && attempts >= h.floors.Attempts && h.contended >= h.floors.Contended {
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
