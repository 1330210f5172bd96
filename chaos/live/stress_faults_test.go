package live_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

var stressFor = flag.Duration("stress.for", 5*time.Second, "how long the stress test with faults runs")

// A witness knows who believes to hold one name.
type witness struct {
	name   string
	holder atomic.Pointer[redlock.Lock]
}

// enter notes a new holder. Whoever is noted still must have learnt that he is
// none any more.
func (w *witness) enter(t *testing.T, lock *redlock.Lock) {
	for {
		before := w.holder.Load()
		if before != nil && lock.Err() == nil {
			if err := before.Err(); !assert.Error(t, err, "two hold %q: %v and %v", w.name, before, lock) {
				return
			}
		}
		if w.holder.CompareAndSwap(before, lock) {
			return
		}
	}
}

// leave is called before the release.
func (w *witness) leave(lock *redlock.Lock) { w.holder.CompareAndSwap(lock, nil) }

// check is called by a holder while he believes to be one.
func (w *witness) check(t *testing.T, lock *redlock.Lock) {
	now := w.holder.Load()
	if now != lock && lock.Err() == nil {
		assert.Fail(t, "somebody else has it", "%q: %v while %v holds it", w.name, now, lock)
	}
}

// stress is one run with faults.
type stress struct {
	t       *testing.T
	masters []master
	names   []witness
	ttl     time.Duration // the longest

	calls, answers, grants, lost, ended, failures atomic.Int64
	acquired, released                            latencies
}

// call makes one call and counts that it came back.
func (s *stress) call(f func()) {
	s.calls.Add(1)
	f()
	s.answers.Add(1)
}

const (
	stressTimeout = 100 * time.Millisecond // of a node
	stressHold    = 3 * time.Millisecond
)

// turn is what one goroutine does once.
func (s *stress) turn(client *redlock.Client) {
	w := &s.names[rand.N(len(s.names))]
	ttl := s.ttl/4 + rand.N(3*s.ttl/4)
	patience := time.Second
	if rand.N(4) == 0 {
		patience = rand.N(20 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	try := client.TryAcquire
	if rand.N(2) == 0 {
		try = client.Acquire
	}
	var lock *redlock.Lock
	var err error
	start := time.Now()
	s.call(func() { lock, err = try(ctx, w.name, ttl) })
	took := time.Since(start)
	assert.Equal(s.t, err == nil, lock != nil, "a lock or an error")
	if late := took - patience; late > stressTimeout+time.Second {
		assert.Less(s.t, late, stressTimeout+time.Second+machine.since(start), "past the end of the context")
	}
	if lock == nil {
		s.refused(err)
		return
	}
	w.enter(s.t, lock)
	s.grants.Add(1)
	s.acquired.add(took)
	if rand.N(100) == 0 {
		return // never heard of again
	}
	s.hold(w, lock, ttl)
	w.leave(lock)
	start = time.Now()
	s.call(func() { err = lock.Release(ctx) })
	took = time.Since(start)
	s.released.add(took)
	if took > stressTimeout+time.Second {
		assert.Less(s.t, took, stressTimeout+time.Second+machine.since(start), "Release")
	}
	if err != nil {
		s.refused(err)
	}
}

// refused checks and counts an error.
func (s *stress) refused(err error) {
	switch {
	case errors.Is(err, redlock.ErrLost):
		s.lost.Add(1)
	case errors.Is(err, context.DeadlineExceeded):
		s.ended.Add(1)
	default:
		assert.True(s.t, errors.Is(err, redlock.ErrHeld) || errors.Is(err, redlock.ErrNoQuorum), "%v", err)
		s.failures.Add(1)
	}
}

// hold is what a holder does.
func (s *stress) hold(w *witness, lock *redlock.Lock, ttl time.Duration) {
	work := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end) && lock.Err() == nil; {
			w.check(s.t, lock)
			time.Sleep(min(d, 20*time.Millisecond))
		}
		w.check(s.t, lock)
	}
	switch what := rand.N(100); {
	case what == 0: // sleeps past the end
		time.Sleep(ttl)
		w.check(s.t, lock)
	case what == 1: // is kept alive past the first end
		if err := lock.KeepAlive(redlock.KeepAlive{Every: ttl / 8}); err == nil {
			work(ttl + rand.N(ttl/2))
		}
	case what < 20:
		for range 1 + rand.N(3) {
			w.check(s.t, lock)
			var err error
			s.call(func() { err = lock.Extend(context.Background(), ttl) })
			if err != nil {
				s.refused(err)
			}
			work(rand.N(stressHold))
		}
	default:
		work(rand.N(stressHold))
	}
}

// A disaster befalls the masters while something lasts, and ends.
type disaster struct {
	name    string
	quorum  bool // is left
	happens func(s *stress, roles roles, last func())
}

// roles say which masters can have what, so that the record of each proves
// something: one is always there, two hang, two are killed.
type roles struct{ steady, hanging, killed []master }

var disasters = []disaster{
	{"calm", true, func(_ *stress, _ roles, last func()) { last() }},
	{"one hangs", true, func(_ *stress, r roles, last func()) { hang(r.hanging[:1], last) }},
	{"two hang", true, func(_ *stress, r roles, last func()) { hang(r.hanging, last) }},
	{"one is killed", true, func(_ *stress, r roles, last func()) { kill(r.killed[:1], last) }},
	{"two are killed", true, func(_ *stress, r roles, last func()) { kill(r.killed, last) }},
	{"one hangs, one is killed", true, func(_ *stress, r roles, last func()) {
		hang(r.hanging[1:], func() { kill(r.killed[1:], last) })
	}},
	{"two hang, one is killed", false, func(_ *stress, r roles, last func()) {
		kill(r.killed[:1], func() { hang(r.hanging, last) })
	}},
	{"hangs come and go", true, func(_ *stress, r roles, last func()) {
		again(last, func() {
			hang(r.hanging[rand.N(2):][:1], func() { time.Sleep(rand.N(2 * stressTimeout)) })
			time.Sleep(rand.N(stressTimeout))
		})
	}},
	{"connections and scripts are lost", true, func(s *stress, _ roles, last func()) {
		again(last, func() {
			m := s.masters[rand.N(5)]
			for _, id := range connections(m) { // not the record's
				_, _ = m.Try("CLIENT", "KILL", "ID", id)
			}
			m.Do("SCRIPT", "FLUSH")
			time.Sleep(rand.N(30 * time.Millisecond))
		})
	}},
}

func hang(masters []master, last func()) {
	for _, m := range masters {
		m.Hang()
	}
	last()
	for _, m := range masters {
		m.Resume()
	}
}

func kill(masters []master, last func()) {
	for _, m := range masters {
		m.Down()
	}
	last()
	for _, m := range masters {
		m.Up()
	}
}

// again repeats f while something lasts.
func again(last, f func()) {
	over := make(chan struct{})
	go func() { last(); close(over) }()
	for {
		select {
		case <-over:
			return
		default:
			f()
		}
	}
}

// strike makes a disaster happen until the callers have been served in spite of
// it.
func (s *stress) strike(d disaster, r roles) {
	d.happens(s, r, func() {
		granted := s.grants.Load()
		time.Sleep(300*time.Millisecond + rand.N(200*time.Millisecond))
		for start := time.Now(); d.quorum && s.grants.Load() == granted; time.Sleep(time.Millisecond) {
			if time.Since(start) > bound {
				assert.Fail(s.t, "no progress", "while %s", d.name)
				return
			}
		}
	})
}

// Everything at once: some hundred callers on a few names, and masters that hang,
// die and come back with what they knew. At the end nothing is left, nobody was
// told nothing or twice, and no two have ever believed to hold one name.
func TestStressWithFaultsLeavesNothingAndNeverTwoHolders(t *testing.T) {
	process.Need(t)
	run := *stressFor
	if testing.Short() {
		run = min(run, 2*time.Second)
	}
	before := runtime.NumGoroutine()
	masters := startServers(t, 5, process.Config{AppendOnly: true})
	s := &stress{t: t, masters: masters, names: make([]witness, 64), ttl: 1500 * time.Millisecond}
	for i := range s.names {
		s.names[i].name = fmt.Sprint("name ", i)
	}
	order := rand.Perm(5)
	at := func(i int) master { return masters[order[i]] }
	roles := roles{steady: []master{at(0)}, hanging: []master{at(1), at(2)}, killed: []master{at(3), at(4)}}
	logs := monitor(t, append(roles.steady, roles.hanging...))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var clients []*redlock.Client
	var wg sync.WaitGroup
	for i := range 4 {
		client := newClient(t, named(masters), &redlock.Options{
			NodeTimeout: stressTimeout, RetryMax: 200 * time.Millisecond, Owner: fmt.Sprint("server-", i),
		})
		clients = append(clients, client)
		for range 64 {
			wg.Go(func() {
				for ctx.Err() == nil {
					s.turn(client)
					time.Sleep(rand.N(60 * time.Millisecond))
				}
			})
		}
	}
	start := time.Now()
	happened := map[string]int{}
	for n := 0; time.Since(start) < run; n++ {
		d := disasters[n%len(disasters)]
		if n >= len(disasters) {
			d = disasters[rand.N(len(disasters))]
		}
		happened[d.name]++
		s.strike(d, roles)
	}
	cancel()
	wg.Wait()
	took := time.Since(start)
	t.Logf("%v: %d calls, %d grants (%.0f/s), %d lost, %d ended, %d failed; acquired %v; released %v",
		took.Round(time.Millisecond), s.calls.Load(), s.grants.Load(), float64(s.grants.Load())/took.Seconds(),
		s.lost.Load(), s.ended.Load(), s.failures.Load(), &s.acquired, &s.released)
	t.Logf("faults: %v", happened)
	assert.Equal(t, s.calls.Load(), s.answers.Load())
	assert.Greater(t, s.grants.Load(), int64(run/time.Second)*20, "too little traffic")

	eventuallyClean(t, masters, s.ttl+stressTimeout+2*time.Second)
	for i, log := range logs {
		m := append(roles.steady, roles.hanging...)[i]
		seen := replay(t, m, log.read(), true)
		t.Logf("%v: %+v", m, seen)
		assert.Positive(t, seen.deletes)
		if i == 0 {
			assert.Zero(t, seen.late, "it has always answered")
		}
	}
	for _, client := range clients {
		for _, m := range masters {
			untilCounted(t, client, m)
		}
		require.NoError(t, client.Close())
	}
	closeLogs(t, logs)
	for i, m := range masters {
		require.NoError(t, m.(*processMaster).Stop(), i)
	}
	goroutinesBack(t, before, stressTimeout+time.Second)
}

func closeLogs(t *testing.T, logs []log) {
	t.Helper()
	for _, l := range logs {
		require.NoError(t, l.m.Close())
	}
}
