package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// keys finds whose key each node kept when.
func (t *tracks) keys(h *history.History) {
	owners := map[string]int{}
	for i := range h.Events {
		if e := &h.Events[i]; e.Token != "" && e.Client > 0 {
			owners[e.Token] = e.Client
		}
	}
	open := map[int]*bar{} // by node: a node keeps one key of a name
	end := func(node int, at time.Duration, ended string) {
		b := open[node]
		if b == nil {
			return
		}
		delete(open, node)
		if at >= b.to {
			at, ended = b.to, "ran out by its clock"
		}
		b.to, b.ended = max(at, b.from), ended
		b.title = fmt.Sprintf("node %d keeps the key of %s, %s to %s, %s; token %s", node,
			somebody(b.owner), instant(b.from), instant(b.to), ended, short(b.token))
		n := t.node(node)
		n.keys = append(n.keys, *b)
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Name != t.name {
			continue
		}
		b := open[e.Node]
		until := max(e.Until, e.At)
		if e.Until == 0 { // it has no TTL
			until = t.end
		}
		switch {
		case e.Kind == history.Kept && b != nil && b.token == e.Token && e.At <= b.to:
			b.to = until
		case e.Kind == history.Kept:
			// A former key that nobody deleted is gone all the same: the node
			// would not have taken this one.
			end(e.Node, e.At, "gone then at the latest")
			owner := cmp.Or(owners[e.Token], ownerIn(e.Token))
			open[e.Node] = &bar{span: span{e.At, until}, token: e.Token, owner: owner}
		case e.Kind == history.Deleted && b != nil && b.token == e.Token:
			end(e.Node, e.At, "deleted")
		}
	}
	for node := range open {
		end(node, t.end, "to the end of the run")
	}
	for _, n := range t.nodes {
		byTime(n.keys)
	}
}

// ownerIn returns the client whose name is part of token, or 0.
func ownerIn(token string) int {
	_, owner, _ := strings.Cut(token, "/")
	var client int
	if _, err := fmt.Sscanf(owner, "client-%d", &client); err != nil || history.Owner(client) != owner {
		return 0
	}
	return client
}
