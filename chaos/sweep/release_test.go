package sweep_test

import (
	"context"

	"github.com/quorumlock/redlock"
)

var release = &operation{
	name: "release",
	variants: []variant{
		{name: "script", commands: onScript},
		{name: "every"},
		{name: "first", first: true},
		{name: "mid", mid: true},
	},
	play: func(r *run) {
		lock := r.hold(leaseTTL)
		hit := r.meets("EVALSHA")
		var err error
		r.under(r.limit(hit), "Release", func() { err = lock.Release(context.Background()) })
		r.verdict("Release", err, r.want(hit)...)
		r.verdict("Err", lock.Err(), redlock.ErrReleased)
		r.heal()
		r.clean() // by itself, confirmed or not
		if err != nil {
			r.again("the release", func() error {
				err := lock.Release(context.Background())
				// A lost answer to our own delete is never a loss.
				r.verdict("Release", err, nil, redlock.ErrNoQuorum)
				return err
			})
		}
		r.verdict("Release once more", lock.Release(context.Background()), redlock.ErrReleased)
	},
}
