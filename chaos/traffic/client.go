package traffic

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/clock"
)

const clientVariable = "REDLOCK_CHAOS_CLIENT"

// IsClient reports whether this process is to call Client.
func IsClient() bool { return os.Getenv(clientVariable) != "" }

// Client is a client of a run, as a process of its own: it does what the program
// that started it orders on the standard input, and tells it everything on the
// standard output. It does not return.
func Client() {
	redis.SetLogger(quiet{}) // what it says of faults that were asked for
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(2)
	}
	os.Exit(0)
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// A servant is the process that Client is.
type servant struct {
	run  *run
	out  *told
	seat seat
	life *process
}

// serve obeys orders until the one to end.
func serve(in io.Reader, out io.Writer) error {
	orders := json.NewDecoder(bufio.NewReader(in))
	var d duty
	if err := orders.Decode(&d); err != nil {
		return fmt.Errorf("duty: %w", err)
	}
	now, err := since(d.Origin)
	if err != nil {
		return err
	}
	nodes, err := cluster.Connect(d.Contacts)
	if err != nil {
		return err
	}
	s := &servant{seat: seat{nodes: nodes, clock: clock.NewSkewed(clock.System()), rate: d.Rate}}
	s.seat.clock.SetRate(d.Rate)
	s.run = &run{cluster: &s.seat, options: Options(), gates: make([]gate, d.Clients)}
	s.out = &told{now: now, run: s.run, line: line{to: out}, client: d.Client, clients: d.Clients, calls: d.Calls, asked: map[int]chan int{}}
	s.run.log, s.run.store = s.out, s.out
	s.run.gates[d.Client-1].caught = func() { s.out.tell(message{Caught: true}) }
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return fmt.Errorf("orders: %w", err)
		}
		if o.Bye {
			if s.life != nil {
				s.life.leave()
			}
			return nil
		}
		s.obey(&o, &d)
	}
}

func (s *servant) obey(o *order, d *duty) {
	gate := &s.run.gates[d.Client-1]
	switch {
	case o.Answer:
		s.out.answer(o.Number, o.Version)
		return
	case o.Open:
		gate.reopen()
		return
	case o.Work != nil:
		s.run.round(o.Work.Plan, o.Work.Seed)
		if s.life == nil {
			s.life = newProcess(s.run, d.Client, d.Life)
		}
		_ = s.life.begin()
	case o.Over:
		s.run.over.Store(true)
		gate.reopen()
		go func() { // the workers may have questions, whose answers are orders
			if s.life != nil {
				s.life.rest()
			}
			health := ownHealth()
			s.out.tell(message{Done: o.Number, Health: &health})
		}()
		return
	case o.Shut:
		gate.shut()
	case o.Turn != nil:
		s.seat.turn(o.Turn)
		s.life.announceAll()
	}
	s.out.tell(message{Done: o.Number})
}

// A seat is the cluster as one client has it: no faults, and one client.
type seat struct {
	cluster.Cluster
	nodes []redlock.Node
	clock *clock.Skewed

	mu   sync.Mutex
	rate float64 // guarded by mu
}

// Client implements [cluster.Cluster].
func (s *seat) Client(int) ([]redlock.Node, clock.Clock) { return s.nodes, s.clock }

// ClientRate implements [cluster.Cluster].
func (s *seat) ClientRate(int) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate
}

func (s *seat) turn(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock.Step(t.By)
	if t.Rate > 0 {
		s.rate = t.Rate
		s.clock.SetRate(t.Rate)
	}
}

// told is the journal and the store as they are in another process.
type told struct {
	now     func() time.Duration
	run     *run
	client  int
	clients int

	line

	questions sync.Mutex
	calls     int              // guarded by questions
	number    int              // guarded by questions
	asked     map[int]chan int // guarded by questions
}

func (t *told) tell(m message) {
	m.Attempts = t.run.attempts.Load()
	if t.say(m) != nil {
		os.Exit(2) // nobody listens any more
	}
}

// Now implements [journal].
func (t *told) Now() time.Duration { return t.now() }

// Add implements [journal]. The time is read in turn, so that of one process
// events come in the order of theirs.
func (t *told) Add(e history.Event) {
	if t.record(&e) != nil {
		os.Exit(2) // nobody listens any more
	}
}

func (t *told) record(e *history.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.At = t.now()
	return t.sayLocked(message{Attempts: t.run.attempts.Load(), Event: e})
}

// NextCall implements [journal]: of n clients each takes every n-th number.
func (t *told) NextCall() int {
	t.questions.Lock()
	defer t.questions.Unlock()
	t.calls += t.clients - (t.calls-t.client+t.clients)%t.clients
	return t.calls
}

// read implements [cells].
func (t *told) read(_ int, name, token string, looked time.Duration) int {
	return t.ask(question{Name: name, Token: token, Looked: looked})
}

// write implements [cells].
func (t *told) write(_ int, name, token string, based int, until, looked time.Duration) {
	t.ask(question{Write: true, Name: name, Token: token, Based: based, Until: until, Looked: looked})
}

// ask returns when the store has answered.
func (t *told) ask(q question) (version int) {
	answer := make(chan int, 1)
	t.questions.Lock()
	t.number++
	q.Number = t.number
	t.asked[q.Number] = answer
	t.questions.Unlock()
	t.tell(message{Ask: &q})
	return <-answer
}

func (t *told) answer(number, version int) {
	t.questions.Lock()
	answer := t.asked[number]
	delete(t.asked, number)
	t.questions.Unlock()
	if answer != nil {
		answer <- version
	}
}
