package traffic

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A process is one run of a client, until the end or until it crashes. Everything
// it does is recorded under mu, so that a dead process records nothing.
type process struct {
	run    *run
	number int // the client's
	life   int // how many processes the client had before
	client *redlock.Client
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	ready     chan struct{} // closed by makeReady
	makeReady func()        // after the first acquisition, which waits for connections

	mu    sync.Mutex
	dead  bool                 // guarded by mu
	holds map[string]*heldLock // by token; guarded by mu
	named map[string]string    // by name: the token of the latest grant; guarded by mu
}

// A heldLock is a lock that its process believes to hold.
type heldLock struct {
	lock  *redlock.Lock
	call  int
	until time.Duration // true time
}

// start starts a process of the client.
func (r *run) start(number, life int) *process {
	p := &process{run: r, number: number, life: life, holds: map[string]*heldLock{}, named: map[string]string{}, ready: make(chan struct{})}
	p.makeReady = sync.OnceFunc(func() { close(p.ready) })
	p.ctx, p.cancel = context.WithCancel(context.Background())
	nodes, clock := r.cluster.Client(number)
	options := r.options
	options.Clock = clock
	options.Owner = history.Owner(number)
	options.Trace = &redlock.Trace{Extended: p.extended, Attempt: p.attempted}
	client, err := redlock.NewFrom(nodes, &options)
	if err != nil {
		panic(err) // a plan that passed Validate makes options that do
	}
	p.client = client
	for i := range r.plan.Traffic.Workers {
		p.work.Go(func() { p.runWorker(i + 1) })
	}
	return p
}

// crash ends the process without a word.
func (p *process) crash() {
	p.mu.Lock()
	p.dead = true
	p.run.log.Add(history.Event{Kind: history.Crash, Client: p.number})
	p.mu.Unlock()
	p.cancel()
	_ = p.client.Close()
}

// record records e unless the process is dead.
func (p *process) record(e history.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recordLocked(e)
}

func (p *process) recordLocked(e history.Event) {
	if !p.dead {
		e.Client = p.number
		p.run.log.Add(e)
	}
}

// granted takes note of a lock.
func (p *process) granted(lock *redlock.Lock, call int) *heldLock {
	h, remaining := &heldLock{lock: lock, call: call}, lock.Remaining()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds[lock.Token()], p.named[lock.Name()] = h, lock.Token()
	p.announceLocked(h, remaining)
	p.run.healed.granted(lock.Name(), call, int(p.run.attempts.Load()))
	return h
}

// attempted is told of every attempt.
func (p *process) attempted(context.Context, string, int, time.Duration, error) {
	p.run.attempts.Add(1)
}

// announceLocked records until when the process believes in h.
func (p *process) announceLocked(h *heldLock, remaining time.Duration) {
	rate := p.run.cluster.ClientRate(p.number)
	h.until = p.run.log.Now() + time.Duration(float64(remaining)/rate)
	p.recordLocked(history.Event{
		Kind: history.Holds, Name: h.lock.Name(), Token: h.lock.Token(), Call: h.call, Until: h.until,
	})
}

// extended is told of every extension.
func (p *process) extended(_ context.Context, name string, remaining time.Duration, err error) {
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.holds[p.named[name]]; h != nil {
		p.announceLocked(h, remaining)
	}
}

// announceAll says anew until when the process believes in what it holds: its
// clock was changed.
func (p *process) announceAll() {
	p.mu.Lock()
	held := slices.Collect(maps.Values(p.holds))
	p.mu.Unlock()
	slices.SortFunc(held, func(a, b *heldLock) int { return cmp.Compare(a.call, b.call) })
	for _, h := range held {
		remaining := h.lock.Remaining()
		p.mu.Lock()
		if p.holds[h.lock.Token()] == h {
			p.announceLocked(h, remaining)
		}
		p.mu.Unlock()
	}
}

// untilOf returns the end of h as it was last announced.
func (p *process) untilOf(h *heldLock) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return h.until
}

// givesUp records that the process does not believe in h any more.
func (p *process) givesUp(h *heldLock, kind history.Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	token := h.lock.Token()
	if p.holds[token] != h {
		return
	}
	delete(p.holds, token)
	p.recordLocked(history.Event{Kind: kind, Name: h.lock.Name(), Token: token})
}

// classOf returns an error's class, and the owner that it names as the holder.
func classOf(err error) (class, holder string) {
	switch {
	case err == nil:
		return history.OK, ""
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		class = history.Context
	case errors.Is(err, redlock.ErrHeld):
		class = history.IsHeld
	case errors.Is(err, redlock.ErrNoQuorum):
		class = history.NoQuorum
	case errors.Is(err, redlock.ErrLost):
		class = history.IsLost
	case errors.Is(err, redlock.ErrReleased):
		class = history.WasDone
	case errors.Is(err, redlock.ErrClosed):
		class = history.Closed
	default:
		class = history.Invalid
	}
	var q *redlock.QuorumError
	if class == history.IsHeld && errors.As(err, &q) {
		holder = q.Holder()
	}
	return class, holder
}

// A gate holds up the workers of a client that is paused.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // nil: open; closed to open it
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = make(chan struct{})
	}
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// pass returns when the gate is open.
func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open != nil {
		<-open
	}
}

// dice returns the process's own.
func (p *process) dice() plan.Dice {
	return p.run.dice.For(uint64(p.number), uint64(p.life))
}
