package tests

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// There are no fencing numbers: the counters of independent masters diverge, and a
// number that can go back is worse than none. What is promised instead: names leave
// nothing behind, and no token comes twice.

func TestB83NamesLeaveNoKeys(t *testing.T) {
	const names = 10_000
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		touched := map[string]bool{}
		for i := range names {
			name := fmt.Sprintf("settle:%06d", i)
			touched[name] = true
			lock, err := c.client.TryAcquire(t.Context(), name, 10*time.Second)
			require.NoError(t, err)
			require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
			if i%10 > 0 { // the others run out
				require.NoError(t, lock.Release(t.Context()))
			}
		}
		time.Sleep(20 * time.Second)
		c.clean(0)
		c.each(func(n *redlocktest.Node) {
			for _, command := range n.Commands() {
				require.True(t, touched[command.Key], "a key beside the locks': %q", command.Key)
			}
		})
	})
}

func TestB83NamesLeaveNothingInTheClient(t *testing.T) {
	const names = 10_000
	synctest.Test(t, func(t *testing.T) {
		client := yesClient(t, 3)
		pair := func(name string) {
			lock, err := client.TryAcquire(ctx, name, time.Hour)
			require.NoError(t, err)
			require.NoError(t, lock.Release(ctx))
		}
		use := func(round int) {
			for i := range names {
				pair(fmt.Sprint("round ", round, " name ", i))
			}
			time.Sleep(time.Minute) // tokens are remembered for a while, and forgotten with the next
			pair("last")
		}
		use(1) // what the first ones make is there for all
		before := heapInUse()
		use(2)
		assert.LessOrEqual(t, heapInUse()-before, int64(names), "bytes")
	})
}

// A register is a node that notes the token of every attempt.
type register struct {
	redlock.Node
	tokens []string
}

func (n *register) Send(r *redlock.Request) {
	if r.Op == redlock.OpAcquire {
		token, _, _ := strings.Cut(r.Value, "/")
		n.tokens = append(n.tokens, token)
	}
	n.Node.Send(r)
}

// Each attempt is made on two of three nodes, of which one refuses now and then;
// now one of them forgets everything, now two.
func TestB84NoTokenComesTwiceAndTokensAreNotOrdered(t *testing.T) {
	const attempts = 20_000
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		first := &register{Node: nodes[0]}
		client, err := redlock.NewFrom([]redlock.Node{first, nodes[1], nodes[2]}, nil)
		require.NoError(t, err)
		defer client.Close()
		failed := 0
		for i := range attempts {
			away, other := nodes[i%3], nodes[(i+1)%3]
			away.Down()
			switch i % 1000 {
			case 300:
				other.Forget()
			case 600:
				other.Forget()
				nodes[(i+2)%3].Forget()
			}
			if i%4 == 0 {
				other.Answer(errors.New("OOM command not allowed"))
			}
			lock, err := client.TryAcquire(t.Context(), caseKey, time.Minute)
			if err != nil {
				failed++
			} else {
				require.Equal(t, first.tokens[i], lock.Token())
				require.NoError(t, lock.Release(t.Context()))
			}
			other.Answer(nil)
			away.Up()
		}
		assert.Equal(t, attempts/4, failed)
		require.Len(t, first.tokens, attempts)

		seen := make(map[string]bool, attempts)
		ascending := 0
		for i, token := range first.tokens {
			assert.Len(t, token, 40)
			assert.False(t, seen[token], "attempt %d: %s came before", i, token)
			seen[token] = true
			if i > 0 && token > first.tokens[i-1] {
				ascending++
			}
		}
		// Half of them, give or take more than twenty standard deviations.
		assert.InDelta(t, attempts/2, ascending, attempts/20)
	})
}

// Nothing that a lock tells looks like a number to compare.
func TestB84ALockTellsNoNumber(t *testing.T) {
	lock := reflect.TypeFor[*redlock.Lock]()
	for i := range lock.NumMethod() {
		m := lock.Method(i)
		for r := range m.Type.NumOut() {
			out := m.Type.Out(r)
			if out == reflect.TypeFor[time.Duration]() {
				continue
			}
			assert.False(t, out.ConvertibleTo(reflect.TypeFor[float64]()), "%s returns %v", m.Name, out)
		}
	}
}
