package sweep_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock"
)

// A stranger holds a quorum, so that every attempt fails and is undone; undoing is
// also how a client learns who holds.
var undo = &operation{
	name: "undo",
	variants: []variant{
		{name: "script", commands: onScript},
		{name: "every"},
		{name: "first", first: true},
		{name: "mid", mid: true},
	},
	play: func(r *run) {
		held := r.allNodes()[:r.need()]
		for _, node := range held {
			r.plant(node, r.key)
		}
		ttl := leaseTTL
		if r.fault.repeats { // a copy comes after the undo
			ttl = 5 * nodeTimeout
			r.lives = r.fault.lingers + ttl + ttl/100
		}
		want, limit := r.wantHeld(held)
		var lock *redlock.Lock
		var err error
		r.under(limit, "TryAcquire", func() { lock, err = r.client.TryAcquire(context.Background(), r.key, ttl) })
		r.either(lock, err)
		r.verdict("TryAcquire", err, want...)
		if errors.Is(err, redlock.ErrHeld) {
			var e *redlock.QuorumError
			assert.ErrorAs(r, err, &e)
			assert.Equal(r, "stranger", e.Holder())
		}
		r.heal()
		r.clean()
		r.untouched()
		r.uproot(r.key)
	},
}

// wantHeld returns the classes that an attempt may have while a stranger holds
// these nodes, and how long it may take.
func (r *run) wantHeld(held []int) ([]error, time.Duration) {
	const (
		again = 3*nodeTimeout + 8*retryMax // until who may hold has stayed for nodeTimeout
		tries = 8*nodeTimeout + 7*retryMax // all there are
	)
	set, script := r.meets("SET"), r.meets("EVALSHA")
	if r.variant.first { // which is the SET
		script = harmless
	}
	many := len(r.targets.nodes) > r.spare()
	visible := len(slices.DeleteFunc(slices.Clone(held), r.targets.has))
	switch {
	case visible == r.need():
		return []error{redlock.ErrHeld}, r.fault.delay
	case r.variant.mid && (set != harmless || script != harmless), r.fault.name == "cut" && r.variant.commands == nil:
		// When it is removed, and when the client hears of a connection's end,
		// are matters of luck.
		if visible > 0 && !many {
			return []error{redlock.ErrHeld}, again
		}
		return []error{redlock.ErrHeld, redlock.ErrNoQuorum}, tries
	case set == silent && many:
		return []error{redlock.ErrNoQuorum}, nodeTimeout
	case script == harmless && set == silent:
		return []error{redlock.ErrHeld}, again
	case script == harmless:
		return []error{redlock.ErrHeld}, r.fault.delay
	case visible > 0 && r.fault.Reply == "NOPERM" && set == refused && many:
		return []error{redlock.ErrNoQuorum}, 0
	case visible > 0 && r.fault.Reply == "NOPERM" && many:
		// Whether a node whose SET is not waited for counts is a matter of luck.
		return []error{redlock.ErrHeld, redlock.ErrNoQuorum}, again
	case visible > 0:
		return []error{redlock.ErrHeld}, again
	case script == silent:
		return []error{redlock.ErrNoQuorum}, tries
	default:
		return []error{redlock.ErrNoQuorum}, 0
	}
}
