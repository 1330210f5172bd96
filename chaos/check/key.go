package check

import (
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A key is a token's key on a node, from when it was set until it was deleted,
// replaced or had run out, as far as the node was watched.
type key struct {
	span
	node        int
	name, token string
	client      int
}

// keys returns all keys that nodes kept, by the time at which they ended.
func (x *index) keys() []key {
	type place struct {
		node int
		name string
	}
	var all []key
	open := map[place]*key{}
	end := func(p place, at time.Duration) {
		if k := open[p]; k != nil {
			k.to = min(k.to, at)
			all = append(all, *k)
			delete(open, p)
		}
	}
	for i := range x.events {
		e := &x.events[i]
		p := place{e.Node, e.Name}
		switch e.Kind {
		case history.Kept:
			until := e.Until
			if until == 0 {
				until = x.last
			}
			if k := open[p]; k != nil && k.token == e.Token && k.to >= e.At {
				k.to = until
				continue
			}
			end(p, e.At)
			open[p] = &key{span{e.At, until}, e.Node, e.Name, e.Token, e.Client}
		case history.Deleted:
			if k := open[p]; k != nil && k.token == e.Token {
				end(p, e.At)
			}
		}
	}
	for p := range open {
		end(p, x.last)
	}
	return all
}
