package redlock

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// A pipeline is the requests that a lane sends together. Its memory is used
// again for the next.
type pipeline struct {
	requests []*Request
	cmds     []redis.Cmd // by request
	sent     []redis.Cmder
	ctx      deadlineContext
	followed []bool // by request of the batch: see look
}

// keySeed is for the hashes of keys in look.
var keySeed = maphash.MakeSeed()

// look notes which scripts of a batch are followed by another request with their
// key. Nearly none is, which a set of hashes tells faster than a map of keys.
func (p *pipeline) look(batch []queued) {
	p.followed = append(p.followed[:0], make([]bool, len(batch))...)
	var seen [128]uint64
	for i := len(batch) - 1; i >= 0; i-- {
		r := batch[i].r
		h := maphash.String(keySeed, r.Key) % (64 * uint64(len(seen)))
		word, bit := &seen[h/64], uint64(1)<<(h%64)
		if *word&bit != 0 && r.isScript() {
			p.followed[i] = slices.ContainsFunc(batch[i+1:], func(q queued) bool { return q.r.Key == r.Key })
		}
		*word |= bit
	}
}

// add adds request i of the batch, which has begun. A script that is followed by
// another request with its key brings its source along: had the server lost the
// script, it would have to be sent again, after the other.
func (p *pipeline) add(q queued, i int) {
	args := q.r.encode()
	if p.followed[i] {
		args = q.r.encodeSource()
	}
	p.requests = append(p.requests, q.r)
	p.cmds = append(p.cmds, *redis.NewCmd(&p.ctx, args...))
	if p.ctx.deadline.Before(q.deadline) {
		p.ctx.deadline = q.deadline // the newest member's: each caller waits on his own
	}
}

// send sends the commands, and those of scripts that the server does not know
// again, with their source and under the same deadline. What came of them is in
// the commands.
func (p *pipeline) send(k *link) {
	for i := range p.cmds {
		p.sent = append(p.sent, &p.cmds[i])
	}
	k.do(&p.ctx, p.sent)
	p.sent = p.sent[:0]
	for i := range p.cmds {
		if err := p.cmds[i].Err(); err != nil && p.requests[i].isScript() && redis.HasErrorPrefix(err, "NOSCRIPT") {
			p.cmds[i] = *redis.NewCmd(&p.ctx, p.requests[i].encodeSource()...)
			p.sent = append(p.sent, &p.cmds[i])
		}
	}
	if len(p.sent) > 0 {
		k.do(&p.ctx, p.sent)
	}
}

// reset empties the pipeline and forgets what was in it.
func (p *pipeline) reset() {
	clear(p.requests)
	clear(p.cmds)
	clear(p.sent[:cap(p.sent)])
	p.requests, p.cmds, p.sent = p.requests[:0], p.cmds[:0], p.sent[:0]
	p.ctx.deadline = time.Time{}
}

// A deadlineContext has a deadline and nothing else. go-redis reads it as the
// limit of the socket; a timer, which a context of package context has, would
// be set and stopped for nothing.
type deadlineContext struct{ deadline time.Time }

func (c *deadlineContext) Deadline() (time.Time, bool) { return c.deadline, true }
func (*deadlineContext) Done() <-chan struct{}         { return nil }
func (*deadlineContext) Err() error                    { return nil }
func (*deadlineContext) Value(any) any                 { return nil }

var _ context.Context = (*deadlineContext)(nil)
