package redlock

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// laneQueue bounds the requests that wait in a lane. OpRelease is taken beyond
// it: a key that is not deleted costs others its whole TTL.
const laneQueue = 65_536

// pipelineLimit bounds the requests of one pipeline, which share one deadline.
const pipelineLimit = 1000

// Pauses between attempts to connect, after a failure or while one takes long,
// and how many may be under way at once.
const (
	minRedial = 20 * time.Millisecond
	maxRedial = time.Second
	maxDials  = 5
)

// A lane is one connection to a Redis master with one sender, which takes all
// that has come while its last pipeline was under way and sends it as the next.
// So a lane has as few system calls as the load allows, and commands leave in
// the order in which they came.
//
// Connecting is detached from requests. A request waits for a connection that is
// being made, until its time is over, unless the last attempt to connect has
// failed: then it is answered at once.
type lane struct {
	options        *redis.Options
	connectTimeout time.Duration
	life           context.Context // ends with the node

	mu      sync.Mutex
	queue   []queued      // guarded by mu
	next    time.Time     // the first deadline in the queue, or before; guarded by mu
	link    *link         // the connection; nil: none; guarded by mu
	linked  chan struct{} // closed when there is one; guarded by mu
	dialing *dialing      // the latest attempt to connect under way; nil: none; guarded by mu
	dials   int           // how many are under way; guarded by mu
	failed  error         // the last attempt's error, if it failed; guarded by mu
	redial  time.Time     // no attempt before; guarded by mu
	pause   time.Duration // from one failed attempt to the next; guarded by mu
	running bool          // the sender runs; guarded by mu

	pipeline pipeline // the sender's

	wake chan struct{} // has room for one; tells the sender that something changed
}

type queued struct {
	r        *Request
	deadline time.Time
}

func newLane(life context.Context, opt *redis.Options, connectTimeout time.Duration) *lane {
	return &lane{
		options: opt, connectTimeout: connectTimeout, life: life,
		linked: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// send queues a request.
func (l *lane) send(r *Request) {
	q := queued{r, r.sentAt().Add(r.Timeout)}
	l.mu.Lock()
	var refused error
	switch {
	case l.life.Err() != nil:
		refused = ErrClosed
	case len(l.queue) >= laneQueue && r.Op != OpRelease:
		refused = ErrNodeBusy
	default:
		if len(l.queue) == 0 || q.deadline.Before(l.next) {
			l.next = q.deadline
		}
		l.queue = append(l.queue, q)
		l.startLocked()
	}
	l.mu.Unlock()
	if refused != nil {
		r.Answer(Answer{Vote: VoteNotSent, Err: refused})
		return
	}
	l.notify()
}

func (l *lane) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// startLocked starts the sender with the lane's first use. l.mu is held.
func (l *lane) startLocked() {
	if !l.running {
		l.running = true
		go l.run()
	}
}

// run is the sender.
func (l *lane) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []queued
	for l.life.Err() == nil {
		k, next, failed := l.state()
		switch {
		case failed != nil:
			l.answerAll(failed)
		case k != nil && !next.IsZero() && !k.look():
			l.lose(k) // nothing was sent on it: the requests wait for another
		case k != nil && !next.IsZero():
			// Whoever is about to send gets the chance to: larger pipelines,
			// fewer system calls.
			runtime.Gosched()
			batch = l.take(batch)
			l.exchange(k, batch)
			clear(batch)
		default:
			l.rest(timer, next)
		}
	}
	l.answerAll(ErrClosed)
	l.mu.Lock()
	k := l.link
	l.mu.Unlock()
	if k != nil {
		l.lose(k)
	}
}

// state returns the connection, if there is one, the first deadline of a
// request, if there is one, and why requests cannot even wait, if so. It sees to
// it that a connection is being made if one is wanted.
func (l *lane) state() (k *link, next time.Time, failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return l.link, time.Time{}, nil
	}
	if l.link == nil {
		if !time.Now().Before(l.redial) {
			l.dialLocked()
		}
		failed = l.failed
	}
	return l.link, l.next, failed
}

// rest waits until something changes, or a request's time is over.
func (l *lane) rest(timer *time.Timer, next time.Time) {
	if next.IsZero() {
		select {
		case <-l.wake:
		case <-l.life.Done():
		}
		return
	}
	timer.Reset(time.Until(next))
	select {
	case <-l.wake:
	case <-l.life.Done():
	case <-timer.C:
		l.expire()
	}
}

// take takes the next pipeline's requests from the queue. used is the batch
// before, cleared, whose memory is used again.
func (l *lane) take(used []queued) []queued {
	if cap(used) > 4*pipelineLimit {
		used = nil // a crowd has come and gone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.queue
	l.queue = used[:0]
	if len(batch) > pipelineLimit {
		l.queue = append(l.queue, batch[pipelineLimit:]...)
		batch = batch[:pipelineLimit]
	}
	return batch
}

// answerAll answers all that waits: nothing was sent.
func (l *lane) answerAll(err error) {
	l.mu.Lock()
	queue := l.queue
	l.queue = nil
	l.mu.Unlock()
	for _, q := range queue {
		q.r.withdraw(err)
	}
}

// expire answers the requests whose time is over.
func (l *lane) expire() {
	now := time.Now()
	var over []*Request
	l.mu.Lock()
	left := l.queue[:0]
	for _, q := range l.queue {
		if !now.Before(q.deadline) {
			over = append(over, q.r)
			continue
		}
		if len(left) == 0 || q.deadline.Before(l.next) {
			l.next = q.deadline
		}
		left = append(left, q)
	}
	clear(l.queue[len(left):])
	if len(left) == 0 {
		left = nil
	}
	l.queue = left
	l.mu.Unlock()
	for _, r := range over {
		r.withdraw(ErrNodeTimeout)
	}
}

// exchange sends a batch as one pipeline and answers it.
func (l *lane) exchange(k *link, batch []queued) {
	p := &l.pipeline
	now := time.Now()
	p.look(batch)
	for i, q := range batch {
		if !now.Before(q.deadline) {
			q.r.withdraw(ErrNodeTimeout)
		} else if q.r.Begin() {
			p.add(q, i)
		}
	}
	if len(p.requests) > 0 {
		p.send(k)
		l.answer(k, p)
	}
	p.reset()
}

// answer hands out the answers. A broken connection is given up before: an
// answer may lead to new requests.
func (l *lane) answer(k *link, p *pipeline) {
	for i := range p.cmds {
		if err := p.cmds[i].Err(); err != nil && breaksLink(err) {
			l.lose(k)
			break
		}
	}
	now := time.Now()
	for i, r := range p.requests {
		r.answeredAt(now)
		a := answerOf(r.isScript(), &p.cmds[i])
		if a.Vote == VoteUnknown && l.life.Err() != nil {
			a.Err = ErrClosed
		}
		r.Answer(a)
	}
}

// breaksLink reports whether an error ends the connection: one of the network,
// or a reply after which go-redis gives it up, because the server is not the
// master that it was.
func breaksLink(err error) bool {
	if errors.Is(err, redis.Nil) {
		return false
	}
	return !isReply(err) || redis.HasErrorPrefix(err, "READONLY") || redis.HasErrorPrefix(err, "MOVED")
}
