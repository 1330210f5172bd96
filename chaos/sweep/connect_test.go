package sweep_test

import (
	"context"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/proxy"
)

var connect = &operation{
	name: "connect",
	variants: []variant{
		{name: "every"},
		{name: "first", first: true},
		{name: "mid", mid: true},
		{name: "cold"}, // an acquisition that has to connect first
	},
	play: func(r *run) {
		if r.variant.name == "cold" {
			r.acquireCold()
			return
		}
		var err error
		r.under(r.connectLimit(), "Connect", func() { err = r.client.Connect(context.Background()) })
		r.verdict("Connect", err, r.wantConnected()...)
		r.heal()
		limit := r.fault.delay
		if r.variant.mid || r.variant.first { // some may still be connecting
			limit = connectTimeout
		}
		r.within(limit, "Connect after the fault", func() { err = r.client.Connect(context.Background()) })
		r.verdict("Connect after the fault", err, nil)
	},
}

func (r *run) wantConnected() []error {
	e := r.fault.connecting
	switch {
	case !r.decisive(e), e == slow:
		return []error{nil}
	case r.variant.mid && (r.fault.Kind == proxy.Hold || r.fault.Kind == proxy.Refuse || r.fault.Kind == proxy.Bandwidth || r.fault.Kind == proxy.Slice):
		return []error{nil, redlock.ErrNoQuorum} // the rest meets no fault
	default:
		return []error{redlock.ErrNoQuorum}
	}
}

func (r *run) connectLimit() time.Duration {
	e := r.fault.connecting
	switch {
	case !r.decisive(e):
		return 2 * r.fault.delay
	case e == slow:
		return 2 * beyond // HELLO and the scripts
	case e == silent:
		return connectTimeout
	default:
		return 0
	}
}

func (r *run) acquireCold() {
	limit, want := r.connectLimit(), []error{nil}
	reached := r.fault.connecting == harmless || r.fault.connecting == slow
	if r.decisive(r.fault.command) || r.decisive(r.fault.connecting) {
		want = []error{redlock.ErrNoQuorum}
		if r.fault.command == silent {
			limit += nodeTimeout
		}
	} else if reached {
		limit += r.fault.delay
	}
	var lock *redlock.Lock
	var err error
	r.under(limit, "TryAcquire", func() { lock, err = r.client.TryAcquire(context.Background(), r.key, leaseTTL) })
	r.either(lock, err)
	r.verdict("TryAcquire", err, want...)
	if lock != nil {
		r.letGo(lock)
	}
	r.heal()
}
