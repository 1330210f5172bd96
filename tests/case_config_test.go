package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestB61TheQuorumIsTheMajorityOfAnyNumberOfNodes(t *testing.T) {
	for count := 1; count <= 7; count++ {
		for missing := range count + 1 {
			for how, fail := range map[string]func(n *redlocktest.Node){
				"down":   (*redlocktest.Node).Down,
				"hung":   (*redlocktest.Node).Hang,
				"broken": func(n *redlocktest.Node) { n.Answer(errors.New("LOADING")) },
			} {
				t.Run(fmt.Sprint(missing, " of ", count, " ", how), func(t *testing.T) {
					inFieldCase(t, count, nil, func(t *testing.T, c *fieldCase) {
						assert.Equal(t, count, c.client.Nodes())
						assert.Equal(t, count/2+1, c.client.Quorum())
						for _, n := range c.nodes[:missing] {
							fail(n)
						}
						lock, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
						if count-missing < count/2+1 {
							assert.Nil(t, lock)
							q := requireQuorumError(t, redlock.ErrNoQuorum, err)
							assert.Equal(t, count/2+1, q.Need)
							assert.Len(t, q.Nodes, count)
							return
						}
						require.NoError(t, err)
						require.NoError(t, lock.Extend(t.Context(), time.Hour))
						require.NoError(t, lock.Release(t.Context()))
					})
				})
			}
		}
	}
}

// A cutNode is a connection that can be cut while the node serves others.
type cutNode struct {
	redlock.Node
	cut *atomic.Bool
}

func (n cutNode) Connect(ctx context.Context) error {
	if n.cut.Load() {
		return errors.New("no route to host")
	}
	return n.Node.Connect(ctx)
}

func (n cutNode) Send(r *redlock.Request) {
	if n.cut.Load() {
		r.Answer(redlock.Answer{Vote: redlock.VoteNotSent, Err: errors.New("no route to host")})
		return
	}
	n.Node.Send(r)
}

// behindCuts returns a client and, for each node, the switch that cuts it off.
func (c *fieldCase) behindCuts() (*redlock.Client, []*atomic.Bool) {
	c.t.Helper()
	conns := make([]redlock.Node, len(c.nodes))
	cuts := make([]*atomic.Bool, len(c.nodes))
	for i, n := range c.nodes {
		cuts[i] = new(atomic.Bool)
		conns[i] = cutNode{n.Conn(), cuts[i]}
	}
	client, err := redlock.NewFrom(conns, nil)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { client.Close() })
	return client, cuts
}

// Whatever part of the nodes two clients see, at most one of them holds.
func TestB62TheQuorumIsNotOfTheNodesThatCanBeReached(t *testing.T) {
	for _, count := range []int{2, 3, 4, 5} {
		inFieldCase(t, count, nil, func(t *testing.T, c *fieldCase) {
			first, firstCuts := c.behindCuts()
			second, secondCuts := c.behindCuts()
			both, none := 0, 0
			for seen := range 1 << (2 * count) {
				unseen := [2]int{}
				for i := range count {
					for who, cuts := range [][]*atomic.Bool{firstCuts, secondCuts} {
						cut := seen>>(who*count+i)&1 == 0
						cuts[i].Store(cut)
						if cut {
							unseen[who]++
						}
					}
				}
				one, err := first.TryAcquire(t.Context(), caseKey, time.Minute)
				assert.Equal(t, unseen[0] <= count-(count/2+1), err == nil, "%b: %v", seen, err)
				two, err := second.TryAcquire(t.Context(), caseKey, time.Minute)
				switch {
				case one != nil && two != nil:
					both++
				case one == nil && two == nil:
					none++
					assert.True(t, err != nil && unseen[0] > 0)
				}
				for _, cut := range append(firstCuts, secondCuts...) {
					cut.Store(false)
				}
				for _, lock := range []*redlock.Lock{one, two} {
					if lock != nil {
						require.NoError(t, lock.Release(t.Context()))
					}
				}
				c.clean(0)
			}
			assert.Zero(t, both, "two holders")
			assert.Positive(t, none)
		})
	}
}

func TestB62ConstructionNeedsNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(3)
		for _, n := range nodes {
			n.Down()
		}
		client := redlocktest.NewClient(t, nodes, nil)
		requireClass(t, redlock.ErrNoQuorum, client.Connect(t.Context()))
		for _, n := range nodes[1:] {
			n.Up()
		}
		require.NoError(t, client.Connect(t.Context()))
		caseLock(t, client, time.Minute)
	})
}

func TestB63NodesThatAreMissingOrTwiceAreRefused(t *testing.T) {
	node := redlocktest.NewNode("node", nil)
	alias := redlocktest.NewNode("node", nil)
	other := redlocktest.NewNode("other", nil)
	for name, nodes := range map[string][]redlock.Node{
		"none": {}, "a nil slice": nil,
		"a nil":                   {other, nil},
		"one twice":               {node, other, node},
		"two connections to one":  {node, other, node.Conn()},
		"two of one name":         {alias, node},
		"more than can be needed": make([]redlock.Node, redlock.MaxNodes+1),
	} {
		client, err := redlock.NewFrom(nodes, nil)
		assert.Nil(t, client, name)
		requireClass(t, redlock.ErrInvalid, err)
	}
	for name, addrs := range map[string][]string{
		"none":                    {},
		"one twice":               {"a:6379", "b:6379", "a:6379"},
		"capital letters":         {"a.example.org:6379", "A.Example.ORG:6379"},
		"the default, spelled":    {"", "localhost:6379"},
		"the default twice":       {"", ""},
		"a socket twice":          {"/run/redis.sock", "/run/redis.sock"},
		"two databases of one":    {"a:6379#0", "a:6379#1"},
		"two users of one server": {"bob@a:6379", "eve@a:6379"},
	} {
		var nodes []*redis.Options
		for _, addr := range addrs {
			o := &redis.Options{}
			if user, rest, ok := strings.Cut(addr, "@"); ok {
				o.Username, addr = user, rest
			}
			addr, db, _ := strings.Cut(addr, "#")
			o.Addr, o.DB = addr, len(strings.Trim(db, "0"))
			nodes = append(nodes, o)
		}
		client, err := redlock.New(nodes, nil)
		assert.Nil(t, client, name)
		requireClass(t, redlock.ErrInvalid, err)
	}
	_, err := redlock.New([]*redis.Options{{Addr: "a:1"}, nil}, nil)
	requireClass(t, redlock.ErrInvalid, err)
}

func TestB63ANilOrZeroClientIsRefused(t *testing.T) {
	for name, client := range map[string]*redlock.Client{"nil": nil, "zero": new(redlock.Client)} {
		for call, do := range callsWithTTL {
			if call == "Extend" {
				continue
			}
			assert.ErrorIs(t, do(client, nil, time.Minute), redlock.ErrInvalid, "%s of a %s Client", call, name)
		}
		requireClass(t, redlock.ErrInvalid, client.Connect(t.Context()))
		requireClass(t, redlock.ErrInvalid, client.Shutdown(t.Context()))
		requireClass(t, redlock.ErrInvalid, client.Close())
	}
}

func TestB66ThePrefixIsPartOfEveryKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fieldCase{t: t, nodes: redlocktest.Nodes(3)}
		locks := map[string]*redlock.Lock{}
		for _, prefix := range []string{"", "a:", "b:", "{a}:", "\x00"} {
			c.client = redlocktest.NewClient(t, c.nodes, &redlock.Options{KeyPrefix: prefix})
			locks[prefix] = c.held(time.Minute)
		}
		for prefix, lock := range locks {
			assert.Equal(t, caseKey, lock.Name())
			c.nodes[0].Delete(prefix + caseKey) // to be healed
			require.NoError(t, lock.Extend(t.Context(), time.Hour))
			c.nodes[2].Hang() // to be hunted
			require.NoError(t, lock.Release(t.Context()))
			time.Sleep(2 * caseTimeout)
			c.nodes[2].Resume()
		}
		c.clean(time.Second)
		ops := map[redlock.Op]int{}
		for _, n := range c.nodes {
			for _, r := range n.Commands() {
				ops[r.Op]++
				prefix, rest, ok := strings.Cut(r.Key, caseKey)
				assert.True(t, ok && rest == "" && strings.HasPrefix(r.Value, locks[prefix].Token()), "%v %q", r.Op, r.Key)
			}
		}
		assert.Len(t, ops, 4, "acquire, extend, heal, release")
	})
}

func TestB66PrefixAndNameAreJoinedWithNothingBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.Nodes(1)
		one := redlocktest.NewClient(t, nodes, &redlock.Options{KeyPrefix: "a:"})
		two := redlocktest.NewClient(t, nodes, &redlock.Options{KeyPrefix: "a"})
		_, err := one.TryAcquire(t.Context(), "b", time.Minute)
		require.NoError(t, err)
		_, err = two.TryAcquire(t.Context(), ":b", time.Minute)
		requireClass(t, redlock.ErrHeld, err) // as documented
	})
}

func TestB67ANameMayHaveAnyBytes(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	names := []string{string(every), " ", "\x00", "\xff\xfe", "{x}y", "a b", "日本", "%s%d", "a\nb", strings.Repeat("x", redlock.MaxName)}
	for _, b := range every {
		names = append(names, string([]byte{b, b}))
	}
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		locks := map[string]*redlock.Lock{}
		for _, name := range names {
			lock, err := c.client.TryAcquire(t.Context(), name, time.Minute)
			require.NoError(t, err, "%q", name)
			assert.Equal(t, name, lock.Name())
			_, _, ok := c.nodes[0].Get(name)
			assert.True(t, ok, "%q", name)
			locks[name] = lock
		}
		synctest.Wait()
		assert.Equal(t, len(names), c.nodes[1].Len())
		for name, lock := range locks {
			_, err := c.client.TryAcquire(t.Context(), name, time.Minute)
			requireClass(t, redlock.ErrHeld, err)
			require.NoError(t, lock.Release(t.Context()))
		}
		c.clean(0)
	})
}

func TestB67ANameThatIsEmptyOrTooLongIsRefused(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		for _, length := range []int{0, redlock.MaxName + 1, 1 << 20} {
			name := strings.Repeat("n", length)
			_, tried := c.client.TryAcquire(t.Context(), name, time.Minute)
			_, waited := c.client.Acquire(t.Context(), name, time.Minute)
			for _, err := range []error{
				tried, waited,
				c.client.Do(t.Context(), name, time.Minute, mustNotRun),
				c.client.TryDo(t.Context(), name, time.Minute, mustNotRun),
			} {
				requireClass(t, redlock.ErrInvalid, err)
				assert.Less(t, len(err.Error()), 200)
			}
		}
		assert.Zero(t, c.commands())

		long := strings.Repeat("n", redlock.MaxName)
		lock, err := c.client.TryAcquire(t.Context(), long, time.Minute)
		require.NoError(t, err)
		_, err = c.client.TryAcquire(t.Context(), long, time.Minute)
		require.Error(t, err)
		for _, text := range []string{err.Error(), lock.String(), fmt.Sprintf("%#v", lock), fmt.Sprint(lock.LogValue())} {
			assert.NotContains(t, text, strings.Repeat("n", 100), "it is not shown whole")
		}
	})
}
