package sweep_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/proxy"
)

var classes = []error{
	redlock.ErrHeld, redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrReleased, redlock.ErrInvalid, redlock.ErrClosed,
	context.Canceled, context.DeadlineExceeded,
}

// verdict checks that err is of one of the classes, and of no other. A nil class
// is success.
func (r *run) verdict(what string, err error, allowed ...error) {
	var found []error
	for _, class := range classes {
		if errors.Is(err, class) {
			found = append(found, class)
		}
	}
	switch {
	case err == nil && slices.Contains(allowed, nil):
	case len(found) == 1 && slices.Contains(allowed, found[0]):
	default:
		r.Errorf("%s: %v, want one of %v", what, err, allowed)
	}
	r.account(err)
}

// account checks what a QuorumError says of the nodes.
func (r *run) account(err error) {
	var e *redlock.QuorumError
	if !errors.As(err, &e) || e.Nodes == nil {
		return
	}
	assert.Equal(r, r.need(), e.Need)
	if assert.Len(r, e.Nodes, r.n) {
		for i, n := range e.Nodes {
			assert.Equal(r, r.nodes[i].String(), n.Node)
		}
	}
}

// either checks that there is a lock or an error.
func (r *run) either(lock *redlock.Lock, err error) {
	if (lock == nil) == (err == nil) {
		r.Errorf("a lock or an error, not %v and %v", lock, err)
	}
}

// want returns the classes that an operation may have whose commands meet the
// effect.
func (r *run) want(e effect) []error {
	switch {
	case !r.decisive(e):
		return []error{nil}
	case r.variant.mid && r.fault.reversible():
		return []error{nil, redlock.ErrNoQuorum}
	default:
		return []error{redlock.ErrNoQuorum}
	}
}

// limit returns how long one round may take whose commands meet the effect.
func (r *run) limit(e effect) time.Duration {
	switch {
	case !r.decisive(e):
		return r.fault.delay // nobody waits for a minority
	case e == silent || r.variant.mid && r.fault.reversible():
		return nodeTimeout
	default:
		return 0
	}
}

// look returns what the server of a node has under the key.
func (r *run) look(node int, key string) entry {
	e, err := r.fleet.servers[node].look(key)
	require.NoError(r, err)
	if e.ttl == -1 {
		r.Errorf("node %d has %q without a TTL", node, key)
	}
	return e
}

// holders returns on how many nodes the lock's key lives at least for so long.
func (r *run) holders(lock *redlock.Lock, left func() time.Duration) int {
	var ttls []time.Duration
	for node := range r.n {
		if e := r.look(node, r.key); strings.HasPrefix(e.value, lock.Token()) {
			ttls = append(ttls, e.ttl)
		}
	}
	count, at := 0, left() // read last: the keys have lived on meanwhile
	for _, ttl := range ttls {
		if ttl >= at {
			count++
		}
	}
	return count
}

// honest checks that a quorum keeps the key for as long as the lock believes, and
// the drift of its TTL longer.
func (r *run) honest(lock *redlock.Lock, ttl time.Duration) {
	drift, err := redlock.DefaultDrift.For(ttl)
	require.NoError(r, err)
	assert.NoError(r, lock.Err(), "held")
	const rounding = 2 * time.Millisecond
	for {
		start, before := time.Now(), lock.Remaining()
		var believed time.Duration
		count := r.holders(lock, func() time.Duration {
			believed = lock.Remaining()
			return believed + drift - rounding
		})
		if believed > before-time.Since(start)+rounding {
			continue // keep-alive has extended it meanwhile
		}
		if count < r.need() {
			r.Errorf("%d nodes keep the key for the %v that the lock believes to have left, and the drift of %v", count, believed, drift)
		}
		if believed <= 0 || believed > ttl-drift {
			r.Errorf("%v are left of a TTL of %v", believed, ttl)
		}
		return
	}
}

// hold returns a lock that is held on every node.
func (r *run) hold(ttl time.Duration) *redlock.Lock {
	var lock *redlock.Lock
	var err error
	require.True(r, until(patience, func() bool {
		if lock, err = r.client.TryAcquire(context.Background(), r.key, ttl); err != nil {
			return false
		}
		everywhere := until(nodeTimeout, func() bool {
			return r.holders(lock, func() time.Duration { return 0 }) == r.n
		})
		if !everywhere {
			err = lock.Release(context.Background())
		}
		return everywhere
	}), "before the fault a lock is held by every node: %v", err)
	r.heardAll()
	return lock
}

// heardAll waits until the client has every answer of what it sent before, so that
// what a fault meets is part of the operation.
func (r *run) heardAll() {
	answers := make(chan redlock.Answer, r.n)
	for _, node := range r.nodes {
		nothing := &redlock.Command{Op: redlock.OpRelease, Key: r.key + "/nothing", Value: "nobody's"}
		node.Send(redlock.NewRequest(nothing, patience, func(a redlock.Answer) { answers <- a }))
	}
	for range r.n {
		require.Equal(r, redlock.VoteAbsent, (<-answers).Vote)
	}
}

// letGo releases a lock whether the fault is still there or not. Where it may
// keep a quorum from confirming that, nothing may be left all the same.
func (r *run) letGo(lock *redlock.Lock) {
	r.delivered()
	err := lock.Release(context.Background())
	if len(r.targets.nodes) > r.spare() {
		r.verdict("release at the end", err, nil, redlock.ErrNoQuorum)
		return
	}
	r.verdict("release at the end", err, nil)
}

// again calls f until it succeeds, as it must once the fault is gone and the
// client has connected anew.
func (r *run) again(what string, f func() error) {
	var err error
	if !until(second+2*nodeTimeout+retryMax+allowance, func() bool { err = f(); return err == nil }) {
		r.Errorf("%s does not succeed after the fault: %v", what, err)
	}
}

// over notes that the operation is over.
func (r *run) over() { r.calm = time.Now() }

const foreignTTL = 10 * time.Minute

func (r *run) foreignKey() string { return r.key + "/foreign" }

// plantForeign puts a key on every node that is none of the lock's business.
func (r *run) plantForeign() {
	for node := range r.n {
		r.plant(node, r.foreignKey())
	}
}

const stranger = "5555555555555555555555555555555555555555/stranger"

// A plant is a key of a stranger.
type plant struct {
	node int
	key  string
}

// A span is a time that is not known more exactly.
type span struct{ from, to time.Time }

// plant makes a stranger the holder of a key on a node.
func (r *run) plant(node int, key string) {
	before := time.Now()
	require.NoError(r, r.fleet.servers[node].direct.Set(context.Background(), key, stranger, foreignTTL).Err())
	r.planted[plant{node, key}] = span{before, time.Now()}
}

// untouched checks that the strangers' keys are as they were.
func (r *run) untouched() {
	for p, at := range r.planted {
		before := time.Now()
		e := r.look(p.node, p.key)
		after := time.Now()
		assert.Equal(r, stranger, e.value, "%v", p)
		const rounding = 2 * time.Millisecond
		if e.ttl < foreignTTL-after.Sub(at.from)-rounding || e.ttl > foreignTTL-before.Sub(at.to)+rounding {
			r.Errorf("%v has a TTL of %v after %v", p, e.ttl, after.Sub(at.from))
		}
	}
}

// uproot deletes a stranger's key.
func (r *run) uproot(key string) {
	for p := range r.planted {
		if p.key == key {
			r.remove(key, p.node)
			delete(r.planted, p)
		}
	}
}

func (r *run) remove(key string, nodes ...int) {
	for _, node := range nodes {
		require.NoError(r, r.fleet.servers[node].direct.Del(context.Background(), key).Err())
	}
}

func (r *run) allNodes() []int {
	var all []int
	for node := range r.n {
		all = append(all, node)
	}
	return all
}

// clean checks that soon after the fault nothing of the lock is left.
func (r *run) clean() {
	// What is still under way may arrive after a look, which then proves nothing.
	// Only time tells: the proxy does not.
	time.Sleep(time.Until(r.calm.Add(r.fault.lingers)))
	limit := max(r.fault.lingers, r.lives) + nodeTimeout + second - time.Since(r.calm)
	dirty := r.allNodes()
	var left []entry
	r.soon(max(limit, 0), "no key is left", func() bool {
		left = left[:0]
		dirty = slices.DeleteFunc(dirty, func(node int) bool {
			e := r.look(node, r.key)
			gone := e.value == "" || e.value == stranger
			if !gone {
				left = append(left, e)
			}
			return gone
		})
		return len(dirty) == 0
	})
	if len(dirty) > 0 {
		r.Errorf("left on nodes %v: %v", dirty, left)
	}
}

// delivered waits until the copies of commands have been delivered: a SET that
// comes again after the release lives for its TTL, which nobody can prevent.
func (r *run) delivered() {
	if r.fault.repeats {
		r.soon(r.fault.lingers, "all copies are delivered", func() bool {
			return !slices.ContainsFunc(r.proxies, func(p *proxy.Proxy) bool { return p.Kept() > 0 })
		})
	}
}

// afterwards checks what must be so when the operation is over and the fault is
// gone.
func (r *run) afterwards() {
	r.clean()
	r.next("another client", r.fleet.others[r.n])
	r.again("an acquisition by the same client", func() error {
		lock, err := r.client.TryAcquire(context.Background(), r.key, leaseTTL)
		r.either(lock, err)
		if err == nil {
			r.honest(lock, leaseTTL)
			r.verdict("release by the same client", lock.Release(context.Background()), nil)
		}
		return err
	})
	r.calm = time.Now()
	r.clean()
	r.untouched()
	if r.fleet.sawImmortal(r.key) {
		r.Errorf("a key without a TTL was seen")
	}
	r.uproot(r.foreignKey())
}

// next checks that the name is free.
func (r *run) next(who string, client *redlock.Client) {
	var lock *redlock.Lock
	var err error
	r.within(0, who+" acquires", func() { lock, err = client.TryAcquire(context.Background(), r.key, leaseTTL) })
	r.either(lock, err)
	if lock == nil {
		r.Errorf("%s cannot acquire: %v", who, err)
		return
	}
	r.honest(lock, leaseTTL)
	r.verdict(who+" releases", lock.Release(context.Background()), nil)
	r.calm = time.Now()
	r.clean()
}
