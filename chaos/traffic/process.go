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
	nodes  []redlock.Node
	client *redlock.Client
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	ready     chan struct{} // closed by makeReady
	makeReady func()        // after the first acquisition, which waits for connections

	mu    sync.Mutex
	dead  bool                 // guarded by mu
	holds map[string]*heldLock // by token; guarded by mu
	named map[string]*heldLock // by name: the latest grant, also after it was given up; guarded by mu
}

// A heldLock is a lock that its process believes to hold.
type heldLock struct {
	lock  *redlock.Lock
	call  int
	until time.Duration // true time
}

// newProcess makes a process of the client, whose workers begin with work.
func newProcess(r *run, number, life int) *process {
	p := &process{run: r, number: number, life: life, holds: map[string]*heldLock{}, named: map[string]*heldLock{}, ready: make(chan struct{})}
	p.makeReady = sync.OnceFunc(func() { close(p.ready) })
	p.ctx, p.cancel = context.WithCancel(context.Background())
	nodes, clock := r.cluster.Client(number)
	options := r.options
	options.Clock = clock
	options.KeyPrefix = r.plan.KeyPrefix
	options.Owner = history.Owner(number)
	options.Trace = &redlock.Trace{Extended: p.extended, Attempt: p.attempted}
	client, err := redlock.NewFrom(nodes, &options)
	if err != nil {
		panic(err) // a plan that passed Validate makes options that do
	}
	p.nodes, p.client = nodes, client
	return p
}

// begin implements [life].
func (p *process) begin() error {
	for i := range p.run.plan.Traffic.Workers {
		p.work.Go(func() { p.runWorker(i + 1) })
	}
	return nil
}

// rest implements [life].
func (p *process) rest() { p.work.Wait() }

// leave implements [life].
func (p *process) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.client.Shutdown(ctx) // what it could not release runs out
	p.cancel()
}

// pause implements [life]: its workers wait where they would begin or write.
func (p *process) pause() (resume func(), err error) {
	p.run.log.Add(history.Event{Kind: history.Stall, Client: p.number})
	p.run.gates[p.number-1].shut()
	p.run.log.Add(history.Event{Kind: history.Seen, Client: p.number, Fault: plan.PauseClient})
	return func() {
		p.run.log.Add(history.Event{Kind: history.Wake, Client: p.number})
		p.run.gates[p.number-1].reopen()
	}, nil
}

// turned implements [life]: its clock is the cluster's, and was set already.
func (p *process) turned(turn) error {
	p.announceAll()
	return nil
}

// crash implements [life].
func (p *process) crash() error {
	p.mu.Lock()
	p.dead = true
	p.run.crashed(p.number)
	p.mu.Unlock()
	// Its connections first: nothing more is sent, whoever in it hears of the end
	// before others.
	for _, n := range p.nodes {
		_ = n.Close()
	}
	p.cancel()
	_ = p.client.Close()
	return nil
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
		p.run.healed.follow(&e)
	}
}

// granted takes note of a lock.
func (p *process) granted(lock *redlock.Lock, call int) *heldLock {
	h := &heldLock{lock: lock, call: call}
	now, remaining := p.left(h)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds[lock.Token()], p.named[lock.Name()] = h, h
	p.announceLocked(h, now, remaining)
	p.run.healed.granted(lock.Name(), int(p.run.attempts.Load()))
	return h
}

// attempted is told of every attempt.
func (p *process) attempted(context.Context, string, int, time.Duration, error) {
	p.run.attempts.Add(1)
}

// left returns how long h is still valid, as its client sees it, and a time at
// which it was: no later than the client's look, so that the end which follows
// from both is no later than the client's. Between two readings a process may be
// stopped; then it looks again, unless that happens all the time.
func (p *process) left(h *heldLock) (now, remaining time.Duration) {
	const quick = time.Millisecond
	for range 10 {
		now = p.run.log.Now()
		remaining = h.lock.Remaining()
		if p.run.log.Now()-now < quick {
			break
		}
	}
	return now, remaining
}

// announceLocked records until when the process believes in h, of which at the
// time now so much remained.
func (p *process) announceLocked(h *heldLock, now, remaining time.Duration) {
	rate := p.run.cluster.ClientRate(p.number)
	h.until = now + time.Duration(float64(remaining)/rate)
	p.recordLocked(history.Event{
		Kind: history.Holds, Name: h.lock.Name(), Token: h.lock.Token(), Call: h.call, Until: h.until,
	})
}

// extended is told of every extension, also of one after the release, which the
// history is to show. Of a lock that is held less may remain by now, so it is
// asked again; where nothing does, its loss says so.
func (p *process) extended(_ context.Context, name string, remaining time.Duration, err error) {
	if err != nil {
		return
	}
	p.mu.Lock()
	h := p.named[name]
	isHeld := h != nil && p.holds[h.lock.Token()] == h
	if h != nil && !isHeld {
		p.announceLocked(h, p.run.log.Now(), remaining)
	}
	p.mu.Unlock()
	if isHeld {
		if now, left := p.left(h); left > 0 {
			p.announce(h, now, left)
		}
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
		now, remaining := p.left(h)
		p.announce(h, now, remaining)
	}
}

// announce says anew until when the process believes in h, if it still does.
func (p *process) announce(h *heldLock, now, remaining time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds[h.lock.Token()] == h {
		p.announceLocked(h, now, remaining)
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

// dice returns the process's own.
func (p *process) dice() plan.Dice {
	return p.run.dice.For(uint64(p.number), uint64(p.life))
}
