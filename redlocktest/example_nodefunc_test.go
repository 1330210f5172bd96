package redlocktest_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/quorumlock/redlock"
)

// A store is anything that can keep a value under a key for a time.
type store struct {
	mu   sync.Mutex
	keys map[string]kept // guarded by mu
}

type kept struct {
	value   string
	expires time.Time
}

// do carries out one command. One that may block would have to heed ctx.
func (s *store) do(_ context.Context, c *redlock.Command) redlock.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.keys[c.Key]
	ok = ok && time.Now().Before(found.expires)
	until := time.Now().Add(c.TTL)

	switch c.Op {
	case redlock.OpAcquire, redlock.OpHeal:
		if ok {
			return redlock.Answer{Vote: redlock.VoteForeign, Value: found.value}
		}
		s.put(c.Key, kept{c.Value, until})
		return redlock.Answer{Vote: redlock.VoteYes}

	case redlock.OpExtend, redlock.OpRelease:
		switch {
		case !ok:
			return redlock.Answer{Vote: redlock.VoteAbsent}
		case found.value != c.Value:
			return redlock.Answer{Vote: redlock.VoteForeign, Value: found.value}
		case c.Op == redlock.OpRelease:
			delete(s.keys, c.Key)
		case until.After(found.expires):
			s.put(c.Key, kept{c.Value, until})
		}
		return redlock.Answer{Vote: redlock.VoteYes}

	default:
		return redlock.Answer{Vote: redlock.VoteError, Err: redlock.ErrUnsupported}
	}
}

func (s *store) put(key string, k kept) {
	if s.keys == nil {
		s.keys = make(map[string]kept)
	}
	s.keys[key] = k
}

// Nodes can be made of anything; here it is a map. Let redlocktest.Conform test
// yours, as TestNodeFuncConforms does this one.
func Example_nodeFunc() {
	var nodes []redlock.Node
	for _, name := range []string{"store-1", "store-2", "store-3"} {
		nodes = append(nodes, redlock.NodeFunc(name, new(store).do))
	}
	client, err := redlock.NewFrom(nodes, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	ctx := context.Background()
	lock, err := client.TryAcquire(ctx, "settle", 30*time.Second)
	fmt.Println("acquired:", err == nil)
	fmt.Println("released:", lock.Release(ctx) == nil)
	// Output:
	// acquired: true
	// released: true
}
