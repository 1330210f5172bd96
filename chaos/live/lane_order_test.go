package live_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

// What the go-redis node does with requests, without a client above it.

// An asked is a request and what has come of it.
type asked struct {
	*redlock.Request
	sent      time.Time
	withdrawn atomic.Bool // by Withdraw, which said so
	answers   atomic.Int32
	answered  chan struct{}

	answer redlock.Answer // valid when answered is closed, as is took
	took   time.Duration
}

func newAsked(op redlock.Op, key string, timeout time.Duration) *asked {
	a := &asked{answered: make(chan struct{})}
	c := &redlock.Command{Op: op, Key: key, Value: stranger}
	if op != redlock.OpRelease {
		c.TTL = time.Minute
	}
	a.Request = redlock.NewRequest(c, timeout, func(answer redlock.Answer) {
		if a.answers.Add(1) == 1 {
			a.answer, a.took = answer, time.Since(a.sent)
			close(a.answered)
		}
	})
	return a
}

func (a *asked) send(n redlock.Node) *asked {
	a.sent = time.Now()
	n.Send(a.Request)
	return a
}

// wait waits for the answer.
func (a *asked) wait(t *testing.T) redlock.Answer {
	t.Helper()
	select {
	case <-a.answered:
		return a.answer
	case <-time.After(bound):
		require.Fail(t, "no answer", "%v %s", a.Op, a.Key)
		return redlock.Answer{}
	}
}

// redisNode returns a connected node.
func redisNode(t *testing.T, o *redis.Options, connectTimeout time.Duration) redlock.Node {
	t.Helper()
	o.ClientName = clientName
	n, err := redlock.RedisNode(o, connectTimeout)
	require.NoError(t, err)
	t.Cleanup(func() { n.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	require.NoError(t, n.Connect(ctx))
	return n
}

// Whatever happens to the server, the connection and the node, every request has
// one answer, in time, and one that is true: what was not sent has no effect, and
// what was done is there.
func TestEveryRequestHasOneTrueAnswerWhateverHappens(t *testing.T) {
	process.Need(t)
	t.Parallel()
	const requests, senders, timeout = 20_000, 16, 200 * time.Millisecond
	m := startServers(t, 1, process.Config{AppendOnly: true})[0]
	node := redisNode(t, m.Options(), time.Second)
	all := make([]*asked, requests)
	for i := range all {
		all[i] = newAsked(redlock.OpAcquire, fmt.Sprint("key ", i), timeout)
	}
	var next atomic.Int64
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= requests {
					return
				}
				a := all[i].send(node)
				if rand.N(4) == 0 {
					time.AfterFunc(rand.N(2*time.Millisecond), func() {
						if a.Withdraw() {
							a.withdrawn.Store(true)
						}
					})
				}
				pause := 4 * time.Millisecond
				select {
				case <-a.answered: // there is no connection: requests are to be left when there is one
					pause = 20 * time.Millisecond
				default:
				}
				if rand.N(4) == 0 {
					time.Sleep(rand.N(pause))
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { sending.Wait(); close(over) }()
	faults := 0
	for running := true; running; {
		switch faults++; rand.N(3) {
		case 0:
			m.Down()
			time.Sleep(rand.N(20 * time.Millisecond))
			m.Up()
		case 1:
			m.Hang()
			time.Sleep(rand.N(2 * timeout))
			m.Resume()
		case 2:
			disconnect(m)
		}
		select {
		case <-over:
			running = false
		case <-time.After(rand.N(100 * time.Millisecond)):
		}
	}
	rest := make([]*asked, 1000) // some of these wait when the node closes
	for i := range rest {
		rest[i] = newAsked(redlock.OpAcquire, fmt.Sprint("rest ", i), timeout).send(node)
	}
	require.NoError(t, node.Close())
	closed := time.Now()
	for _, a := range rest {
		a.wait(t)
	}
	assert.Less(t, time.Since(closed), timeout+slack+machine.since(closed))
	after := newAsked(redlock.OpRelease, "after", timeout).send(node)
	require.Equal(t, redlock.VoteNotSent, after.wait(t).Vote)
	require.ErrorIs(t, after.answer.Err, redlock.ErrClosed)

	votes := map[redlock.Vote]int{}
	withdrawn := 0
	all = append(all, rest...)
	for _, a := range all {
		answer := a.wait(t)
		votes[answer.Vote]++
		if a.withdrawn.Load() {
			withdrawn++
			require.Equal(t, redlock.VoteNotSent, answer.Vote)
		}
		// It waits for its turn, and then for the answer.
		require.Less(t, a.took, 2*timeout+slack+machine.since(a.sent), "%v", answer)
	}
	exists := map[any]bool{}
	for _, key := range m.Do("KEYS", "*").([]any) {
		exists[key] = true
	}
	for _, a := range all {
		switch a.answer.Vote {
		case redlock.VoteYes:
			require.True(t, exists[a.Key], "%s was acquired", a.Key)
		case redlock.VoteNotSent, redlock.VoteError:
			require.False(t, exists[a.Key], "%s was not: %v", a.Key, a.answer)
			require.Error(t, a.answer.Err)
		case redlock.VoteUnknown:
			require.Error(t, a.answer.Err)
		default:
			require.Fail(t, "wrong", "%s: %v", a.Key, a.answer)
		}
		require.Equal(t, int32(1), a.answers.Load(), "answers to %s", a.Key)
	}
	t.Logf("%d faults, %d withdrawn, votes %v", faults, withdrawn, votes)
	require.Greater(t, faults, 3, "too few faults")
	require.Greater(t, withdrawn, requests/200, "too few withdrawn")
	require.Greater(t, votes[redlock.VoteYes], requests/100, "too little done")
}

// The record of a server shows what it was sent: the requests of each key in
// their order, each once, and nothing of those that were withdrawn.
func TestRequestsArriveInOrderAndWithdrawnOnesNever(t *testing.T) {
	t.Parallel()
	process.Need(t)
	const requests, keys = 20_000, 50
	m := startServers(t, 1, process.Config{})[0]
	record := monitor(t, []master{m})[0]
	node := redisNode(t, m.Options(), time.Second)
	sent := make([][]*asked, keys)
	var sending sync.WaitGroup
	for k := range sent {
		sending.Go(func() {
			for i := range requests / keys {
				a := newAsked(redlock.OpAcquire, fmt.Sprint("key ", k), bound)
				a.Value = fmt.Sprint(i)
				sent[k] = append(sent[k], a)
				a.send(node)
				if i%3 == 0 {
					a.withdrawn.Store(a.Withdraw())
				}
				if rand.N(8) == 0 {
					a.wait(t)
				}
			}
		})
	}
	sending.Wait()
	for k := range sent {
		for _, a := range sent[k] {
			a.wait(t)
		}
	}
	arrived := make([][]int, keys)
	for _, c := range record.read() {
		if c.Args[0] == "set" {
			k, err := strconv.Atoi(strings.TrimPrefix(c.Args[1], "key "))
			require.NoError(t, err)
			i, err := strconv.Atoi(c.Args[2])
			require.NoError(t, err)
			arrived[k] = append(arrived[k], i)
		}
	}
	withdrawn := 0
	for k := range sent {
		var want []int
		for i, a := range sent[k] {
			require.Equal(t, int32(1), a.answers.Load())
			if a.withdrawn.Load() {
				withdrawn++
				require.Equal(t, redlock.VoteNotSent, a.answer.Vote)
			} else {
				require.NotEqual(t, redlock.VoteNotSent, a.answer.Vote)
				want = append(want, i)
			}
		}
		require.Equal(t, want, arrived[k], "key %d", k)
	}
	t.Logf("%d of %d withdrawn", withdrawn, requests)
	require.Greater(t, withdrawn, requests/20)
}

// A valve keeps what a server answers from a client, as a slow network does. What
// is read obeys the connection's deadline.
type valve struct {
	mu     sync.Mutex
	shut   bool          // guarded by mu, as all below
	passes int           // so many reads pass though it is shut
	turned chan struct{} // closed when something changes
	delay  time.Duration // of each read
}

func newValve() *valve { return &valve{turned: make(chan struct{})} }

func (v *valve) turn(how func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	how()
	close(v.turned)
	v.turned = make(chan struct{})
}

func (v *valve) close()               { v.turn(func() { v.shut = true }) }
func (v *valve) open()                { v.turn(func() { v.shut = false }) }
func (v *valve) pass(reads int)       { v.turn(func() { v.passes = reads }) }
func (v *valve) slow(d time.Duration) { v.turn(func() { v.delay = d }) }

// admit takes a read in, or returns what to wait for.
func (v *valve) admit() (delay time.Duration, turned <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut && v.passes == 0 {
		return 0, v.turned
	}
	if v.shut {
		v.passes--
	}
	return v.delay, nil
}

func (v *valve) before(o *redis.Options) *redis.Options {
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &valved{Conn: c, valve: v}, nil
	}
	return o
}

type valved struct {
	net.Conn
	valve    *valve
	deadline atomic.Pointer[time.Time]
}

func (c *valved) SetDeadline(t time.Time) error {
	c.deadline.Store(&t)
	return c.Conn.SetDeadline(t)
}

func (c *valved) SetReadDeadline(t time.Time) error {
	c.deadline.Store(&t)
	return c.Conn.SetReadDeadline(t)
}

func (c *valved) Read(b []byte) (int, error) {
	var expired <-chan time.Time
	if d := c.deadline.Load(); d != nil && !d.IsZero() {
		expired = time.After(time.Until(*d))
	}
	for {
		delay, turned := c.valve.admit()
		var slow <-chan time.Time
		if turned == nil {
			slow = time.After(delay)
		}
		select {
		case <-turned:
		case <-slow:
			return c.Conn.Read(b)
		case <-expired:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// connection returns the id of the one connection that m has.
func connection(t *testing.T, m master) string {
	t.Helper()
	var ids []string
	eventually(t, bound, "one connection", func() bool {
		ids = connections(m)
		return len(ids) == 1
	})
	return ids[0]
}

// pipelined sends requests that leave as one pipeline after an earlier one has been
// answered. Answers do not pass when it returns.
func pipelined(t *testing.T, m master, node redlock.Node, v *valve, timeouts ...time.Duration) []*asked {
	t.Helper()
	v.close()
	first := newAsked(redlock.OpAcquire, "first", bound).send(node)
	eventually(t, bound, "the first is under way", func() bool { return get(m, "first") != "" })
	var members []*asked
	for i, timeout := range timeouts {
		members = append(members, newAsked(redlock.OpAcquire, fmt.Sprint("member ", i), timeout).send(node))
	}
	v.pass(1)
	require.Equal(t, redlock.VoteYes, first.wait(t).Vote)
	for _, a := range members {
		eventually(t, bound, "the pipeline is under way", func() bool { return get(m, a.Key) != "" })
	}
	return members
}

func TestPipelineLastsUntilTheDeadlineOfItsNewestMember(t *testing.T) {
	t.Parallel()
	process.Need(t)
	m := startServers(t, 1, process.Config{})[0]
	v := newValve()
	node := redisNode(t, v.before(m.Options()), 0)
	id := connection(t, m)
	const older, newer = 300 * time.Millisecond, 5 * time.Second
	members := pipelined(t, m, node, v, older, newer)
	time.Sleep(time.Until(members[0].sent.Add(older + 100*time.Millisecond)))
	v.open()
	for _, a := range members {
		assert.Equal(t, redlock.VoteYes, a.wait(t).Vote, "%v", a.answer)
	}
	assert.Equal(t, id, connection(t, m), "nothing was wrong with it")
	for _, a := range members {
		assert.Equal(t, int32(1), a.answers.Load())
	}
}

func TestPipelineThatTimesOutFailsItsMembersOnceAndTheConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	process.Need(t)
	m := startServers(t, 1, process.Config{})[0]
	v := newValve()
	node := redisNode(t, v.before(m.Options()), 0)
	id := connection(t, m)
	const timeout = 500 * time.Millisecond
	members := pipelined(t, m, node, v, timeout, timeout, timeout)
	next := newAsked(redlock.OpAcquire, "next", bound).send(node) // waits for the new connection
	for _, a := range members {
		assert.Equal(t, redlock.VoteUnknown, a.wait(t).Vote)
		assert.ErrorIs(t, a.answer.Err, redlock.ErrNodeTimeout)
		assert.GreaterOrEqual(t, a.took, timeout-time.Millisecond)
		assert.Less(t, a.took, timeout+slack+machine.since(a.sent))
	}
	v.open()
	assert.Equal(t, redlock.VoteYes, next.wait(t).Vote, "%v", next.answer)
	assert.NotEqual(t, id, connection(t, m), "its answers could come yet")
	for _, a := range members {
		assert.Equal(t, redlock.VoteForeign, newAsked(redlock.OpAcquire, a.Key, bound).send(node).wait(t).Vote)
		assert.Equal(t, int32(1), a.answers.Load())
	}
}

// A server that has lost the script is sent it within the time that the command
// has: the second round trip does not begin anew.
func TestScriptThatIsSentAgainHasNoTimeOfItsOwn(t *testing.T) {
	t.Parallel()
	process.Need(t)
	for _, op := range []redlock.Op{redlock.OpExtend, redlock.OpRelease} {
		t.Run(op.String(), func(t *testing.T) {
			t.Parallel()
			m := startServers(t, 1, process.Config{})[0]
			v := newValve()
			node := redisNode(t, v.before(m.Options()), 0)
			const roundTrip = 400 * time.Millisecond
			for _, c := range []struct {
				timeout time.Duration
				want    redlock.Vote
			}{
				{3 * roundTrip / 2, redlock.VoteUnknown}, // not enough for two
				{8 * roundTrip, redlock.VoteYes},
			} {
				require.Equal(t, redlock.VoteYes, newAsked(redlock.OpAcquire, "job", bound).send(node).wait(t).Vote)
				m.Do("SCRIPT", "FLUSH")
				v.slow(roundTrip)
				a := newAsked(op, "job", c.timeout).send(node)
				require.Equal(t, c.want, a.wait(t).Vote, "%v", a.answer)
				if c.want == redlock.VoteUnknown {
					require.ErrorIs(t, a.answer.Err, redlock.ErrNodeTimeout)
					require.Less(t, a.took, c.timeout+roundTrip/4+machine.since(a.sent))
				}
				require.Equal(t, int32(1), a.answers.Load())
				v.slow(0)
				m.Do("FLUSHALL")
			}
		})
	}
}

// Each request has a time of its own, whatever the one before it has.
func TestRequestThatCannotBeginIsAnsweredWhenItsOwnTimeIsOver(t *testing.T) {
	t.Parallel()
	o := dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	node, err := redlock.RedisNode(o, time.Minute)
	require.NoError(t, err)
	defer node.Close()
	patient := newAsked(redlock.OpAcquire, "patient", time.Minute).send(node)
	hurried := newAsked(redlock.OpAcquire, "hurried", 100*time.Millisecond).send(node)
	select {
	case <-hurried.answered:
		assert.Equal(t, redlock.VoteNotSent, hurried.answer.Vote)
		assert.ErrorIs(t, hurried.answer.Err, redlock.ErrNodeTimeout)
	case <-time.After(2 * time.Second):
		assert.Fail(t, "it waits for the time of another to be over")
	}
	require.NoError(t, node.Close())
	assert.Equal(t, redlock.VoteNotSent, patient.wait(t).Vote)
	assert.ErrorIs(t, patient.answer.Err, redlock.ErrClosed)
	assert.Equal(t, redlock.VoteNotSent, hurried.wait(t).Vote)
}
