package traffic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// instant keeps apart what would happen at once: simulated time then has one
// thing to do at a time, in the same order in every run.
var instant = plan.Span{Min: 1, Max: time.Microsecond}

// runWorker asks for locks and works under them until the run's end.
func (p *process) runWorker(number int) {
	dice := p.dice().For(uint64(number))
	traffic := &p.run.plan.Traffic
	late := time.Duration(p.number-1) * dice.ForText("stagger").In(traffic.Stagger)
	if p.life > 0 {
		late = 0
	}
	if number == 1 {
		defer p.makeReady()
	} else { // waiting for connections together they would go on at one instant
		select {
		case <-p.ready:
		case <-p.ctx.Done():
			return
		}
	}
	if !p.sleep(late + dice.ForText("start").In(instant)) {
		return
	}
	for i := uint64(1); !p.run.isOver(); i++ {
		once := dice.For(i)
		if beat := traffic.Beat; beat > 0 && !p.sleep(beat-p.run.log.Now()%beat) {
			return
		}
		if !p.sleep(once.ForText("think").In(traffic.Think) + once.ForText("instant").In(instant)) {
			return
		}
		p.run.gates[p.number-1].pass()
		h := p.acquire(once)
		if number == 1 {
			p.makeReady()
		}
		if h != nil {
			p.hold(h, once)
		}
	}
}

// sleep returns false if the process ended first.
func (p *process) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// nameOf returns the name of lock i, from 1.
func nameOf(i int) string { return fmt.Sprint("job-", i) }

// acquire makes one acquisition.
func (p *process) acquire(dice plan.Dice) *heldLock {
	its := p.run.plan
	name := nameOf(dice.ForText("name").Int(its.Names) + 1)
	ttl := its.TTLs[dice.ForText("ttl").Int(len(its.TTLs))]
	try := dice.ForText("try").Chance(its.Traffic.Try)
	patience := dice.ForText("patience").In(its.Traffic.Patience)

	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	if !try {
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if dice.ForText("cancel").Chance(its.Traffic.Cancel) {
		defer time.AfterFunc(dice.ForText("when").In(cancelled), cancel).Stop()
	}

	call, acquire := p.run.log.NextCall(), p.client.Acquire
	if try {
		acquire = p.client.TryAcquire
	}
	p.record(history.Event{Kind: history.Begin, Name: name, Call: call, TTL: ttl, Try: try})
	lock, err := acquire(ctx, name, ttl)
	if (lock == nil) == (err == nil) {
		panic(fmt.Sprintf("acquire returned lock %v and error %v", lock, err))
	}
	if err != nil {
		class, holder := classOf(err)
		p.record(history.Event{Kind: history.Failed, Name: name, Call: call, Class: class, Holder: holder})
		return nil
	}
	return p.granted(lock, call)
}

// cancelled is when a caller that cancels does so, after its call.
var cancelled = plan.Span{Min: 0, Max: 120 * time.Millisecond}

// hold works under a lock and gives it up.
func (p *process) hold(h *heldLock, dice plan.Dice) {
	traffic := &p.run.plan.Traffic
	life, cancel := h.lock.Context(context.Background())
	defer cancel()
	defer context.AfterFunc(life, func() { p.lookForLoss(h) })()
	whole := dice.ForText("hold").In(traffic.Hold)
	alive := dice.ForText("alive").Chance(traffic.KeepAlive)
	if alive {
		if err := h.lock.KeepAlive(redlock.KeepAlive{}); err != nil && !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrClosed) {
			panic(err) // the zero KeepAlive is always good
		}
	}
	p.steps(h, dice, whole, !alive && dice.ForText("extend").Chance(traffic.Extend))
	if !alive && dice.ForText("abandon").Chance(traffic.Abandon) {
		p.abandon(h)
		return
	}
	p.lookForLoss(h)
	p.givesUp(h, history.Release)
	class, _ := classOf(h.lock.Release(context.WithoutCancel(p.ctx)))
	p.record(history.Event{Kind: history.Released, Name: h.lock.Name(), Token: h.lock.Token(), Class: class})
}

// abandon forgets the lock without releasing it, as a program with a bug does:
// believes in it to its end.
func (p *process) abandon(h *heldLock) {
	select {
	case <-h.lock.Done():
	case <-p.ctx.Done():
	}
	p.lookForLoss(h)
}

// lookForLoss records the loss if the lock was lost. Whoever hears of a loss does
// so before it goes on: of two that hear at one instant either may be the first.
func (p *process) lookForLoss(h *heldLock) {
	if errors.Is(h.lock.Err(), redlock.ErrLost) {
		p.run.gates[p.number-1].pass()
		p.givesUp(h, history.Lost)
	}
}

// steps does the work: some updates of the store, each after a look at the lock.
func (p *process) steps(h *heldLock, dice plan.Dice, whole time.Duration, extend bool) {
	const count = 3
	name, token := h.lock.Name(), h.lock.Token()
	for i := range count {
		looked := p.run.log.Now()
		if h.lock.Err() != nil {
			return
		}
		version := p.run.store.read(p.number, name, token, looked)
		if !p.sleep(whole/count + dice.ForText("step").For(uint64(i)).In(instant)) {
			return
		}
		if extend && i == 0 {
			// Also for less than the lock has left, which must not shorten it.
			ttls := p.run.plan.TTLs
			_ = h.lock.Extend(p.ctx, ttls[dice.ForText("extend to").Int(len(ttls))]) // an error shows in what follows
		}
		looked = p.run.log.Now()
		if h.lock.Err() != nil {
			return
		}
		p.run.gates[p.number-1].catch() // where a paused holder is caught
		if p.ctx.Err() != nil {
			return // a process that crashed writes nothing
		}
		p.run.store.write(p.number, name, token, version, p.untilOf(h), looked)
	}
}
