package cluster

import (
	"fmt"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A detachable is a server with a network of its own, which can be taken away.
type detachable interface {
	cut() error
	join() error
	isCut() (bool, error)
}

// errNoNetwork is why a network cannot be taken away.
var errNoNetwork = fmt.Errorf("%s: %w: the nodes have no network of their own; %s does it in front of them", plan.Cut, ErrCannot, plan.Partition)

// canCut returns why the servers' networks cannot be taken away.
func (c *proxied) canCut() error {
	if _, ok := c.servers[0].(detachable); !ok {
		return errNoNetwork
	}
	return nil
}

// cut takes the server's network away from the server, not from the proxies: they
// meet what clients of a machine that lost its network do.
func (c *proxied) cut(s *plan.Step, node int) (end func(), err error) {
	server, ok := c.servers[node-1].(detachable)
	if !ok {
		return nil, c.canCut()
	}
	if err := server.cut(); err != nil {
		return nil, err
	}
	if cut, err := server.isCut(); err == nil && cut {
		c.seen(history.Event{Node: node, Fault: s.Fault}, "it runs and has no network")
	}
	return func() { c.report(server.join()) }, nil
}
