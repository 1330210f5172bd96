package traffic

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	osprocess "github.com/quorumlock/redlock/chaos/process"
)

// apart is what is needed to run clients as processes of their own.
type apart struct {
	cluster cluster.Reachable
	log     *history.Recorder
	program string
	origin  moment
}

func newApart(s cluster.Setup, c cluster.Cluster) (*apart, error) {
	reachable, ok := c.(cluster.Reachable)
	if !ok {
		return nil, fmt.Errorf("traffic: clients as processes of their own: %w", cluster.ErrCannot)
	}
	origin, err := originOf(s.Log.Now)
	if err != nil {
		return nil, fmt.Errorf("traffic: clients as processes of their own: %w", err)
	}
	program, err := os.Executable()
	return &apart{cluster: reachable, log: s.Log, program: program, origin: origin}, err
}

// A remote is a client that is a process of its own, which runs this program
// again: it can be killed and stopped like any other.
//
// Its events come with their times, which are of the same clock as everybody's
// (moment_linux.go). A process tells what it does before it does it, and what it
// learns after it has learnt it, and never goes on before the kernel has taken
// the line. What is recorded of one that is killed errs on one side only, that of
// no false alarm:
//   - all that it said is read, to the end of the pipe, before its Crash is
//     recorded; so no belief and no write seems to come from the dead;
//   - its Crash comes a little after its end. It counts as believing until then,
//     and no longer than it had announced: so long its keys stand, as those of a
//     holder who lives;
//   - what it had not said it did not do, except that it may have been granted a
//     lock without saying so. That belief is missing, and an overlap with it
//     would not be seen; others who are sent away by its key are excused by the
//     acquisition, which it had announced;
//   - a release that it had announced ends the belief, even if it was killed
//     before it sent anything.
//
// The store is in the program that runs the plan. A write that the process had
// asked for before it was killed is carried out: it was under way.
type remote struct {
	run    *run
	number int
	child  *osprocess.Child
	in     *os.File // its standard input
	orders line     // to in
	errs   osprocess.Tail
	ended  chan struct{} // closed when all that it said was read
	caught chan struct{} // something comes when a worker waits where a pause does the most harm

	mu       sync.Mutex
	dying    bool                  // it is expected to end; guarded by mu
	orderNo  int                   // guarded by mu
	waiting  map[int]chan struct{} // orders that are not confirmed; guarded by mu
	attempts int64                 // as told; guarded by mu
	calls    int                   // numbers of calls that it has used; guarded by mu
	held     map[string]bool       // tokens; guarded by mu
	health   Health                // as told last; guarded by mu
}

// startApart starts a process of the client.
func (r *run) startApart(number, life int) (*remote, error) {
	p := &remote{
		run: r, number: number, ended: make(chan struct{}), caught: make(chan struct{}, 1),
		waiting: map[int]chan struct{}{}, held: map[string]bool{}, errs: osprocess.Tail{Size: 16 << 10},
	}
	if life > 0 {
		p.calls = r.living(number).(*remote).usedCalls()
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}
	cmd := exec.Command(r.apart.program)
	cmd.Env = append(os.Environ(), clientVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &p.errs
	cmd.WaitDelay = time.Second
	p.in, p.orders.to = in, in
	p.child, err = osprocess.StartChild(cmd)
	err = errors.Join(err, stdin.Close(), stdout.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go p.listen(out)
	return p, p.orders.say(duty{
		Client: number, Life: life, Origin: r.apart.origin, Calls: p.calls, Clients: r.plan.Clients,
		Rate: r.cluster.ClientRate(number), Contacts: r.apart.cluster.Contacts(number),
	})
}

func (p *remote) usedCalls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// listen takes what the process says until it has ended, and every pipe is empty.
func (p *remote) listen(out *os.File) {
	lines := bufio.NewReader(out)
	for {
		data, err := lines.ReadBytes('\n')
		if err != nil {
			break // what comes without an end of line was cut off
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			p.run.failed(fmt.Errorf("traffic: %s said %q: %w", history.Owner(p.number), data, err))
			break
		}
		p.hear(&m)
	}
	_ = out.Close()
	p.mu.Lock()
	dying := p.dying
	p.mu.Unlock()
	if !dying {
		_ = p.child.Kill()
		how := p.child.Status()
		if how == nil {
			how = errTooEarly
		}
		p.run.failed(fmt.Errorf("traffic: the process of %s ended by itself: %w\n%s", history.Owner(p.number), how, p.errs.String()))
	}
	_ = p.in.Close()
	close(p.ended)
}

var errTooEarly = errors.New("as if it had been told to")

func (p *remote) hear(m *message) {
	p.mu.Lock()
	p.run.attempts.Add(m.Attempts - p.attempts)
	p.attempts = m.Attempts
	p.mu.Unlock()
	switch {
	case m.Event != nil:
		p.see(*m.Event)
	case m.Ask != nil:
		// Who cannot be answered has ended, or will see that nobody is there.
		_ = p.orders.say(order{Number: m.Ask.Number, Answer: true, Version: p.ask(m.Ask)})
	case m.Caught:
		select {
		case p.caught <- struct{}{}:
		default:
		}
	case m.Done != 0:
		p.mu.Lock()
		if m.Health != nil {
			p.health = *m.Health
		}
		done := p.waiting[m.Done]
		delete(p.waiting, m.Done)
		p.mu.Unlock()
		if done != nil {
			close(done)
		}
	}
}

// see records an event with the time that the process gave it.
func (p *remote) see(e history.Event) {
	e.Client = p.number
	p.run.apart.log.Put(e)
	p.run.healed.follow(&e)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case history.Begin:
		p.calls = max(p.calls, e.Call)
	case history.Holds:
		if !p.held[e.Token] {
			p.held[e.Token] = true
			p.run.healed.granted(e.Name, int(p.run.attempts.Load()))
		}
	case history.Release, history.Lost:
		delete(p.held, e.Token)
	}
}

// ask does what the process asks of the store.
func (p *remote) ask(q *question) (version int) {
	if q.Write {
		p.run.store.write(p.number, q.Name, q.Token, q.Based, q.Until, q.Looked)
		return 0
	}
	return p.run.store.read(p.number, q.Name, q.Token, q.Looked)
}

// order sends an order and returns when it was carried out.
func (p *remote) order(o order) error {
	done := make(chan struct{})
	p.mu.Lock()
	p.orderNo++
	o.Number = p.orderNo
	p.waiting[o.Number] = done
	p.mu.Unlock()
	if err := p.orders.say(o); err != nil {
		return fmt.Errorf("traffic: order to %s: %w", history.Owner(p.number), err)
	}
	select {
	case <-done:
		return nil
	case <-p.ended:
		return fmt.Errorf("traffic: %s ended before it had done as it was told", history.Owner(p.number))
	}
}

// begin implements [life].
func (p *remote) begin() error {
	return p.order(order{Work: &work{Plan: p.run.plan, Seed: p.run.seed}})
}

// rest implements [life]: it also tells the process that the round is over.
func (p *remote) rest() {
	if p.isDying() {
		<-p.ended
		return
	}
	p.run.failed(p.order(order{Over: true}))
}

func (p *remote) isDying() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dying
}

func (p *remote) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dying = true
}

// leave implements [life].
func (p *remote) leave() {
	p.die()
	_ = p.orders.say(order{Bye: true}) // one that does not hear it is killed
	select {
	case <-p.child.Ended():
	case <-time.After(3 * time.Second):
		_ = p.child.Kill()
	}
	<-p.ended
}

// crash implements [life].
func (p *remote) crash() error {
	p.die()
	if err := p.child.Kill(); err != nil {
		return err
	}
	<-p.ended
	p.run.crashed(p.number)
	return nil
}

// caughtWithin is how long a pause waits for a worker that is about to write.
const caughtWithin = 200 * time.Millisecond

// pause implements [life].
//
// A stop at any time would hardly ever be between a look and the write after it,
// which is a microsecond there and may be minutes in a program that works. So the
// workers wait there while the process is being stopped; when it wakes, the one
// that was caught goes on to write, without another look.
func (p *remote) pause() (resume func(), err error) {
	select {
	case <-p.caught: // of another pause
	default:
	}
	if err := p.order(order{Shut: true}); err != nil {
		return nil, err
	}
	select {
	case <-p.caught:
	case <-time.After(caughtWithin):
	}
	if err := p.child.Pause(); err != nil {
		return nil, err
	}
	p.run.log.Add(history.Event{Kind: history.Stall, Client: p.number})
	p.run.log.Add(history.Event{Kind: history.Seen, Client: p.number, Fault: plan.PauseClient, Text: "the kernel says that it is stopped"})
	if err := p.orders.say(order{Open: true}); err != nil { // what it finds when it wakes
		return nil, err
	}
	return func() {
		p.run.log.Add(history.Event{Kind: history.Wake, Client: p.number})
		if err := p.child.Resume(); err != nil && !errors.Is(err, osprocess.ErrNotRunning) {
			p.run.failed(err)
		}
	}, nil
}

// turned implements [life].
func (p *remote) turned(t turn) error { return p.order(order{Turn: &t}) }
