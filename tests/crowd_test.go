package tests

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// A server carries out one thing after the other, and takes its time.
type server struct {
	*redlocktest.Node
	command, connection time.Duration // how long each takes it

	mu   sync.Mutex
	free time.Time // guarded by mu
}

// after returns in how long the server is done with what takes it d.
func (s *server) after(d time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(d)
	return s.free.Sub(now)
}

// A wire is a client's connection to a server, with a way that takes some time.
// What comes while a pipeline is under way leaves as the next, and a pipeline that
// is not answered in time costs a new connection, as on a real one.
type wire struct {
	redlock.Node // for its name, and to be closed
	server       *server
	way          time.Duration // one way, on average: half to one and a half times that
	random       *rand.Rand    // guarded by mu

	mu      sync.Mutex
	queue   []*redlock.Request // guarded by mu
	busy    bool               // with a pipeline, or with connecting; guarded by mu
	severed bool               // guarded by mu
}

func (w *wire) Send(r *redlock.Request) {
	time.AfterFunc(r.Timeout, func() {
		if r.Begin() { // it has not been sent
			r.Answer(redlock.Answer{Vote: redlock.VoteNotSent, Err: redlock.ErrNodeTimeout})
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, r)
	if !w.busy {
		w.busy = true
		w.nextLocked()
	}
}

func (w *wire) next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nextLocked()
}

func (w *wire) nextLocked() {
	if w.severed && len(w.queue) > 0 {
		w.severed = false
		time.AfterFunc(2*w.way+w.server.after(w.server.connection), w.next)
		return
	}
	var batch []*redlock.Request
	for _, r := range w.queue {
		if r.Begin() {
			batch = append(batch, r)
		}
	}
	w.queue = nil
	w.busy = len(batch) > 0
	if !w.busy {
		return
	}
	var over atomic.Bool
	limit := time.AfterFunc(batch[len(batch)-1].Timeout, func() {
		if over.Swap(true) {
			return
		}
		for _, r := range batch {
			r.Answer(redlock.Answer{Vote: redlock.VoteUnknown, Err: redlock.ErrNodeTimeout})
		}
		w.mu.Lock()
		w.severed = true
		w.mu.Unlock()
		w.next()
	})
	there, back := w.tripLocked(), w.tripLocked()
	carryOut := func() {
		answers := make([]redlock.Answer, len(batch))
		for i, r := range batch {
			w.server.Send(redlock.NewRequest(r.Command, r.Timeout, func(a redlock.Answer) { answers[i] = a }))
		}
		time.AfterFunc(back, func() {
			if over.Swap(true) {
				return
			}
			limit.Stop()
			for i, r := range batch {
				r.Answer(answers[i])
			}
			w.next()
		})
	}
	time.AfterFunc(there, func() {
		time.AfterFunc(w.server.after(time.Duration(len(batch))*w.server.command), carryOut)
	})
}

func (w *wire) tripLocked() time.Duration {
	return w.way/2 + time.Duration(w.random.Int64N(int64(w.way)))
}

// Each of many clients, on machines of their own, waits for the lock, releases it
// and comes again. Nobody tells them that they are many.
func TestCrowdOfClientsDoesNotBlockItself(t *testing.T) {
	const (
		contenders = 128
		length     = 5 * time.Second
	)
	for name, c := range map[string]struct {
		way, command, connection time.Duration
		locks, commands          int // at least; at most, for a lock on each node
	}{
		// Attempts that overlap split the nodes: two round trips each.
		"far away": {5 * ms, time.Microsecond, 0, 90, 80},
		// 128 commands at once take a node longer than NodeTimeout.
		"overloaded nodes": {200 * time.Microsecond, 400 * time.Microsecond, 500 * time.Microsecond, 400, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				nodes := redlocktest.Nodes(5)
				servers := make([]*server, len(nodes))
				for i, n := range nodes {
					servers[i] = &server{Node: n, command: c.command, connection: c.connection}
				}
				limited, cancel := context.WithTimeout(ctx, length)
				defer cancel()
				var locks, holders atomic.Int32
				var all sync.WaitGroup
				for i := range contenders {
					wires := make([]redlock.Node, len(servers))
					for j, s := range servers {
						wires[j] = &wire{Node: s.Conn(), server: s, way: c.way, random: rand.New(rand.NewPCG(uint64(i), uint64(j)))}
					}
					client, err := redlock.NewFrom(wires, nil)
					require.NoError(t, err)
					t.Cleanup(func() { client.Close() })
					all.Go(func() {
						for {
							lock, err := client.Acquire(limited, "wanted", time.Minute)
							if err != nil {
								assert.ErrorIs(t, err, context.DeadlineExceeded)
								return
							}
							locks.Add(1)
							assert.EqualValues(t, 1, holders.Add(1), "holders")
							holders.Add(-1)
							_ = lock.Release(ctx) // what is lost on the way is hunted
						}
					})
				}
				all.Wait()
				commands := 0
				for _, n := range nodes {
					commands += n.Count(redlock.OpAcquire) + n.Count(redlock.OpRelease)
				}
				commands /= len(nodes) * max(1, int(locks.Load()))
				t.Logf("%d locks, %d commands for each on a node", locks.Load(), commands)
				assert.GreaterOrEqual(t, int(locks.Load()), c.locks)
				assert.LessOrEqual(t, commands, c.commands)
				time.Sleep(2 * time.Minute) // the hunts end
			})
		})
	}
}
