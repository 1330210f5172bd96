package sweep_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
)

var keepAlive = &operation{
	name: "keep-alive",
	variants: []variant{
		{name: "script", commands: onScript},
		{name: "every"},
		{name: "first", first: true},
		{name: "mid", mid: true},
	},
	play: func(r *run) {
		const (
			ttl    = 2 * time.Second
			margin = ttl / 10
			every  = ttl / 10
		)
		lock := r.hold(ttl)
		hit := r.meets("EVALSHA")
		r.strike()
		require.NoError(r, lock.KeepAlive(redlock.KeepAlive{Every: every}))
		switch {
		case !r.decisive(hit):
			r.soon(lock.Remaining()-margin, "two extensions", func() bool {
				succeeded, _ := r.heard.extensions()
				return succeeded >= 2
			})
			r.hasActed(r.targets.nodes)
			_, failed := r.heard.extensions()
			assert.Zero(r, failed, "failed extensions")
		case r.variant.first || r.variant.mid:
			r.hasActed(r.targets.nodes)
			if r.variant.mid {
				r.heal()
			}
			r.soon(lock.Remaining(), "an extension after the fault", func() bool {
				succeeded, _ := r.heard.extensions()
				return succeeded >= 1
			})
		default:
			r.within(lock.Remaining()-margin, "loss", func() { <-lock.Done() })
			r.hasActed(r.targets.nodes)
			assert.LessOrEqual(r, lock.Remaining(), margin, "left when it is lost")
			assert.ErrorIs(r, lock.Err(), redlock.ErrLost)
			assert.ErrorIs(r, lock.Err(), redlock.ErrNoQuorum, "the reason")
			succeeded, failed := r.heard.extensions()
			assert.Zero(r, succeeded, "extensions")
			assert.GreaterOrEqual(r, failed, 2, "it is tried again")
			r.heal()
			r.verdict("release of a lost lock", lock.Release(context.Background()), nil, redlock.ErrLost, redlock.ErrNoQuorum)
			r.over()
			return
		}
		r.honest(lock, ttl)
		r.heal()
		r.letGo(lock)
		r.over()
	},
}
