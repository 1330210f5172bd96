package cluster

import "github.com/quorumlock/redlock/chaos/plan"

// takesTurns reports whether the fault changes a server's state, so that no other
// such fault may act on the server meanwhile: a container, say, takes its time to
// start, and only what runs can be paused.
func takesTurns(fault string) bool {
	switch fault {
	case plan.Kill, plan.RestartForget, plan.RestartLate, plan.Pause, plan.Cut, plan.Flush:
		return true
	default:
		return false
	}
}

// Begin implements [Cluster]. It waits until the server has recovered from what
// struck it before, which may take longer than the plan allowed for.
func (c *proxied) Begin(s *plan.Step, target int) (end func(), err error) {
	if !takesTurns(s.Fault) {
		return c.begin(s, target)
	}
	turn := &c.turns[target-1]
	turn.Lock()
	heal, err := c.begin(s, target)
	if err != nil {
		turn.Unlock()
		return nil, err
	}
	return func() { heal(); turn.Unlock() }, nil
}
