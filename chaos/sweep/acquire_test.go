package sweep_test

import (
	"context"
	"sync"

	"github.com/quorumlock/redlock"
)

var acquire = &operation{
	name: "acquire",
	variants: []variant{
		{name: "set", commands: onSet},
		{name: "every"},
		{name: "first", first: true},
		{name: "mid", mid: true},
		{name: "cancel"},
		{name: "wait"},
	},
	play: func(r *run) {
		switch r.variant.name {
		case "cancel":
			r.acquireCancelled()
		case "wait":
			r.acquireWaiting()
		default:
			r.tryAcquire()
		}
	},
}

func (r *run) tryAcquire() {
	hit := r.meets("SET")
	var lock *redlock.Lock
	var err error
	r.under(r.limit(hit), "TryAcquire", func() {
		lock, err = r.client.TryAcquire(context.Background(), r.key, leaseTTL)
	})
	r.either(lock, err)
	r.verdict("TryAcquire", err, r.want(hit)...)
	if lock != nil {
		r.honest(lock, leaseTTL)
		r.letGo(lock)
	}
	r.heal()
}

// acquireCancelled: the caller goes away while nodes are silent, which must leave
// nothing behind.
func (r *run) acquireCancelled() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var lock *redlock.Lock
	var err error
	done := make(chan struct{})
	r.strike()
	go func() {
		defer close(done)
		lock, err = r.client.TryAcquire(ctx, r.key, leaseTTL)
	}()
	r.hasActed(r.targets.nodes)
	cancel()
	r.within(0, "a cancelled TryAcquire", func() { <-done })
	r.either(lock, err)
	r.verdict("TryAcquire", err, context.Canceled)
	r.heal()
}

// acquireWaiting: the caller waits until the fault is gone.
func (r *run) acquireWaiting() {
	hit := r.meets("SET")
	var lock *redlock.Lock
	var err error
	var healing sync.WaitGroup
	r.strike()
	healing.Go(func() {
		if r.decisive(hit) {
			until(patience, func() bool { return r.heard.decided() > 0 })
		}
		r.awaitActed(second)
		r.heal()
	})
	// An attempt fails, the client connects anew, the next one succeeds.
	limit := r.fault.delay
	if r.decisive(hit) {
		limit = second + 3*nodeTimeout + retryMax
	}
	r.within(limit, "Acquire", func() { lock, err = r.client.Acquire(context.Background(), r.key, leaseTTL) })
	healing.Wait()
	r.hasActed(r.targets.nodes)
	r.either(lock, err)
	if r.decisive(hit) && r.fault.Reply == "NOPERM" {
		r.verdict("Acquire, which waiting cannot help", err, redlock.ErrNoQuorum)
		return
	}
	r.verdict("Acquire", err, nil)
	if lock != nil {
		r.honest(lock, leaseTTL)
		r.letGo(lock)
	}
	r.heal()
}
