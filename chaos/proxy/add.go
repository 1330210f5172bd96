package proxy

import "slices"

// Add makes the fault act from now on, also on open connections, and returns what
// ends that; calling it again does nothing. What is delayed or lost stays so,
// what Hold holds goes on. Add panics with the error of [Fault.Validate].
func (p *Proxy) Add(f Fault) (remove func()) {
	if err := f.Validate(); err != nil {
		panic(err)
	}
	f.Commands = slices.Clone(f.Commands)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added++
	r := &rule{
		Fault:   f,
		seed:    p.seed.with(p.added),
		removed: make(chan struct{}),
		tallies: map[uint64]*tally{},
	}
	p.setLocked(append(slices.Clone(*p.rules.Load()), r))
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.removeLocked(func(other *rule) bool { return other == r })
	}
}

// Heal removes every fault.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(func(*rule) bool { return true })
}

func (p *Proxy) removeLocked(which func(*rule) bool) {
	var left []*rule
	for _, r := range *p.rules.Load() {
		if which(r) {
			close(r.removed)
		} else {
			left = append(left, r)
		}
	}
	p.setLocked(left)
}

// setLocked puts rules in force.
func (p *Proxy) setLocked(rules []*rule) {
	p.rules.Store(&rules)
	refuses := slices.ContainsFunc(rules, func(r *rule) bool { return r.Kind == Refuse })
	switch {
	case !refuses:
		p.openLocked()
	case p.listener != nil:
		p.shutLocked()
		p.count(Refuse)
	}
}
