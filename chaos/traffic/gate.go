package traffic

import "sync"

// A gate holds up the workers of a client that is paused.
type gate struct {
	caught func() // called when a worker is caught; nil: nobody asks

	mu   sync.Mutex
	open chan struct{} // nil: open; closed to open it; guarded by mu
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = make(chan struct{})
	}
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// pass returns when the gate is open.
func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open != nil {
		<-open
	}
}

// catch is pass where the most harm is done: by a worker that has looked at its
// lock, found it valid, and is about to write.
func (g *gate) catch() {
	g.mu.Lock()
	isShut := g.open != nil
	g.mu.Unlock()
	if isShut && g.caught != nil {
		g.caught()
	}
	g.pass()
}
