package sweep_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock"
)

var heal = &operation{
	name: "heal",
	variants: []variant{
		{name: "set", commands: onSet},
		{name: "released", commands: onSet}, // while nodes are being healed
		{name: "every"},
		{name: "apart"}, // others forget than those that have the fault
		{name: "lost"},  // so many forget that the lock is lost
	},
	play: func(r *run) {
		const longer = 2 * leaseTTL
		lock := r.hold(leaseTTL)
		forgetful := r.forgetful()
		r.remove(r.key, forgetful...)
		want, limit := r.wantExtended(forgetful)
		r.strike()
		var err error
		r.within(limit, "Extend", func() { err = lock.Extend(context.Background(), longer) })
		r.verdict("Extend", err, want...)
		r.hasActed(r.struck(forgetful))

		switch r.variant.name {
		case "released":
			r.letGo(lock)
			r.heal()
			return
		case "lost":
			r.heal()
			r.again("learning of the loss", func() error {
				if lock.Err() != nil || errors.Is(lock.Extend(context.Background(), longer), redlock.ErrLost) {
					return nil
				}
				return errors.New("held")
			})
			for _, node := range forgetful {
				assert.Empty(r, r.look(node, r.key).value, "nobody gives node %d back a key that is lost", node)
			}
			r.verdict("release of a lost lock", lock.Release(context.Background()), redlock.ErrLost)
			r.over()
			return
		}
		r.heal()
		r.again("healing", func() error {
			if err := lock.Extend(context.Background(), longer); err != nil {
				return err
			}
			if r.holders(lock, func() time.Duration { return 0 }) < r.n {
				return errors.New("not on every node")
			}
			return nil
		})
		r.honest(lock, longer)
		r.letGo(lock)
		r.over()
	},
}

// forgetful returns the nodes that lose the key.
func (r *run) forgetful() []int {
	inside := r.targets.nodes
	outside := slices.DeleteFunc(r.allNodes(), r.targets.has)
	switch r.variant.name {
	case "apart":
		return outside[:min(len(outside), r.spare())]
	case "lost":
		return append(outside, inside...)[:r.spare()+1]
	default:
		return inside[:min(len(inside), r.spare())]
	}
}

// struck returns the nodes on which the fault can act.
func (r *run) struck(forgetful []int) []int {
	if r.variant.commands == nil || r.fault.ofPort() {
		return r.targets.nodes
	}
	return forgetful // they are healed
}

// wantExtended returns the classes that an extension may have after nodes have
// lost the key, and how long it may take.
func (r *run) wantExtended(forgetful []int) ([]error, time.Duration) {
	hit := r.meets("EVALSHA")
	yes, denied := 0, 0
	for node := range r.n {
		switch {
		case r.targets.has(node) && hit != harmless:
		case slices.Contains(forgetful, node):
			denied++
		default:
			yes++
		}
	}
	switch {
	case yes >= r.need():
		return []error{nil}, r.fault.delay
	case denied > r.spare() && (hit == harmless || hit == silent):
		return []error{redlock.ErrLost}, r.fault.delay
	case denied > r.spare(): // failures may decide before all who deny are heard
		return []error{redlock.ErrLost, redlock.ErrNoQuorum}, 0
	case hit == silent:
		return []error{redlock.ErrNoQuorum}, nodeTimeout
	default:
		return []error{redlock.ErrNoQuorum}, 0
	}
}
