package check

import (
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// An episode is a fault that acts, from its Fault to its Heal.
type episode struct {
	blow
	from, to time.Duration
	seen     bool // somebody saw that it took effect
}

// A blow is what strikes whom: a node, a client, the connection of both, or with
// neither the whole network.
type blow struct {
	fault        string
	node, client int
}

func (b blow) ofClient() bool { return b.node == 0 && b.client != 0 }

func blowOf(e *history.Event) blow { return blow{e.Fault, e.Node, e.Client} }

func (x *index) strike(e *history.Event) {
	b := blowOf(e)
	x.striking[b] = append(x.striking[b], len(x.episodes))
	x.struck[b] = len(x.episodes)
	// A look at a node need not know which of its connections is struck.
	x.struck[blow{b.fault, b.node, -1}] = len(x.episodes)
	x.episodes = append(x.episodes, episode{blow: b, from: e.At})
}

func (x *index) heal(e *history.Event) {
	b := blowOf(e)
	if open := x.striking[b]; len(open) > 0 {
		x.episodes[open[0]].to = e.At
		x.striking[b] = open[1:]
	}
}

func (x *index) endAll(at time.Duration) {
	for _, open := range x.striking {
		for _, i := range open {
			x.episodes[i].to = at
		}
	}
	clear(x.striking)
}

func (x *index) see(e *history.Event) {
	b := blowOf(e)
	i, ok := x.struck[b]
	if !ok && b.node != 0 {
		i, ok = x.struck[blow{b.fault, b.node, -1}]
	}
	if ok {
		x.episodes[i].seen = true
	}
}

// troubled returns when faults acted on nodes or the network.
func (x *index) troubled() spans {
	var all []span
	for i := range x.episodes {
		if e := &x.episodes[i]; !e.ofClient() {
			all = append(all, span{e.from, e.to})
		}
	}
	return union(all, 0)
}

// unwell returns when faults acted on clients alone: all of them, and by client.
func (x *index) unwell() (all crowd, of map[int]*crowd) {
	of = map[int]*crowd{}
	for i := range x.episodes {
		e := &x.episodes[i]
		if !e.ofClient() {
			continue
		}
		if of[e.client] == nil {
			of[e.client] = &crowd{}
		}
		all.add(span{e.from, e.to})
		of[e.client].add(span{e.from, e.to})
	}
	all.sort()
	for _, c := range of {
		c.sort()
	}
	return all, of
}

// lastTrouble returns when the last fault of nodes or the network ended, and no
// client crashes any more: what they left behind begins to run out then.
func (x *index) lastTrouble() time.Duration {
	var last time.Duration
	for i := range x.episodes {
		if e := &x.episodes[i]; !e.ofClient() {
			last = max(last, e.to)
		}
	}
	for i := range x.events {
		if x.events[i].Kind == history.Crash {
			last = max(last, x.events[i].At)
		}
	}
	return last
}
