package sweep_test

import (
	"context"

	"github.com/stretchr/testify/assert"
)

var extend = &operation{
	name: "extend",
	variants: []variant{
		{name: "script", commands: onScript},
		{name: "every"},
		{name: "first", first: true},
		{name: "mid", mid: true},
	},
	play: func(r *run) {
		const longer = 2 * leaseTTL
		lock := r.hold(leaseTTL)
		hit := r.meets("EVALSHA")
		before := lock.Remaining()
		var err error
		r.under(r.limit(hit), "Extend", func() { err = lock.Extend(context.Background(), longer) })
		r.verdict("Extend", err, r.want(hit)...)
		if err == nil {
			assert.Greater(r, lock.Remaining(), leaseTTL, "extended")
			r.honest(lock, longer)
		} else {
			assert.LessOrEqual(r, lock.Remaining(), before, "not extended")
			r.honest(lock, leaseTTL)
		}
		r.heal()
		r.again("an extension", func() error { return lock.Extend(context.Background(), longer) })
		r.honest(lock, longer)
		r.letGo(lock)
		r.over()
	},
}
