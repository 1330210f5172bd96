package redlock

import (
	"context"
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
	last     map[string]int // by key: the last of the batch; empty if there is only one
}

// look notes which requests of a batch are followed by another with their key.
func (p *pipeline) look(batch []queued) {
	if len(batch) < 2 {
		return
	}
	if p.last == nil {
		p.last = make(map[string]int)
	}
	for i, q := range batch {
		p.last[q.r.Key] = i
	}
}

// add adds request i of the batch, which has begun. One that is followed by
// another with its key brings its script's source along: had the server lost
// the script, it would have to be sent again, after the other.
func (p *pipeline) add(q queued, i int) {
	args := q.r.encode()
	if last, ok := p.last[q.r.Key]; ok && last != i && q.r.isScript() {
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
	clear(p.last)
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
