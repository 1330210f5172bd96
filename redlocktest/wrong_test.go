package redlocktest_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// A wrong node is a Node that does send instead of what it should where send
// returns true.
type wrongNode struct {
	*redlocktest.Node
	send  func(n *redlocktest.Node, r *redlock.Request) bool
	name  string
	close func(n *redlocktest.Node)
}

func (n *wrongNode) Send(r *redlock.Request) {
	if n.send == nil || !n.send(n.Node, r) {
		n.Node.Send(r)
	}
}

func (n *wrongNode) String() string { return cmp.Or(n.name, n.Node.String()) }

func (n *wrongNode) Close() error {
	if n.close != nil {
		n.close(n.Node)
		return nil
	}
	return n.Node.Close()
}

// instead gives the node another request, whose answer is passed on.
func instead(n *redlocktest.Node, r *redlock.Request, c redlock.Op, value string, ttl time.Duration) bool {
	if r.Begin() {
		n.Send(redlock.NewRequest(&redlock.Command{Op: c, Key: r.Key, Value: value, TTL: ttl}, r.Timeout, func(a redlock.Answer) {
			r.Answer(a)
		}))
	}
	return true
}

// set does what was asked for without looking.
func set(n *redlocktest.Node, r *redlock.Request) bool {
	if r.Begin() {
		n.Set(r.Key, r.Value, r.TTL)
		r.Answer(redlock.Answer{Vote: redlock.VoteYes})
	}
	return true
}

// wrongNodes are nodes with one mistake each, and the rule that finds it.
var wrongNodes = []struct {
	mistake string
	node    wrongNode
	rule    string
}{
	{"acquire overwrites", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpAcquire && set(n, r)
	}}, "acquire leaves a key that is taken as it is"},

	{"acquire of a taken key prolongs it", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		if value, _, ok := n.Get(r.Key); ok && r.Op == redlock.OpAcquire {
			n.Set(r.Key, value, r.TTL)
		}
		return false
	}}, "acquire leaves a key that is taken as it is"},

	{"acquire takes our own value for a yes", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		value, _, _ := n.Get(r.Key)
		return r.Op == redlock.OpAcquire && value == r.Value && set(n, r)
	}}, "acquire leaves a key that is taken as it is"},

	{"a TTL is taken for seconds", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpAcquire && instead(n, r, r.Op, r.Value, 1000*r.TTL)
	}}, "a key expires after its TTL and not before"},

	{"a key expires early", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpAcquire && instead(n, r, r.Op, r.Value, r.TTL/2)
	}}, "a key expires after its TTL and not before"},

	{"heal is unknown", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpHeal && instead(n, r, 99, r.Value, r.TTL)
	}}, "heal does as acquire does"},

	{"extend does nothing", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpExtend && instead(n, r, r.Op, r.Value, time.Millisecond)
	}}, "extend prolongs a key that holds our value"},

	{"extend shortens", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		value, _, _ := n.Get(r.Key)
		return r.Op == redlock.OpExtend && value == r.Value && set(n, r)
	}}, "extend never shortens"},

	{"extend creates", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		_, _, ok := n.Get(r.Key)
		return r.Op == redlock.OpExtend && !ok && set(n, r)
	}}, "extend never creates"},

	{"extend prolongs whatever is there", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		if value, _, ok := n.Get(r.Key); ok && r.Op == redlock.OpExtend {
			n.Set(r.Key, value, r.TTL)
		}
		return false
	}}, "extend leaves a key of another as it is"},

	{"release deletes whatever is there", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		value, _, ok := n.Get(r.Key)
		return r.Op == redlock.OpRelease && ok && instead(n, r, r.Op, value, 0)
	}}, "release leaves a key of another as it is"},

	{"release does nothing", wrongNode{send: func(_ *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpRelease && r.Begin() && r.Answer(redlock.Answer{Vote: redlock.VoteYes})
	}}, "release deletes a key that holds our value"},

	{"a beginning of the value is enough", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		value, _, ok := n.Get(r.Key)
		return r.Op == redlock.OpRelease && ok && strings.HasPrefix(value, r.Value) && instead(n, r, r.Op, value, 0)
	}}, "extend and release compare the whole value"},

	{"keys end at a zero byte", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		key, _, _ := strings.Cut(r.Key, "\x00")
		c := &redlock.Command{Op: r.Op, Key: key, Value: r.Value, TTL: r.TTL}
		if r.Begin() {
			n.Send(redlock.NewRequest(c, r.Timeout, func(a redlock.Answer) { r.Answer(a) }))
		}
		return true
	}}, "a key is any bytes"},

	{"values are cut", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return instead(n, r, r.Op, r.Value[:min(len(r.Value), 60)], r.TTL)
	}}, "a value is kept whole"},

	{"an unknown operation is a yes", wrongNode{send: func(_ *redlocktest.Node, r *redlock.Request) bool {
		return r.Op > redlock.OpRelease && r.Answer(redlock.Answer{Vote: redlock.VoteYes})
	}}, "an unknown operation is an error and changes nothing"},

	{"an unknown operation is some error", wrongNode{send: func(_ *redlocktest.Node, r *redlock.Request) bool {
		return r.Op > redlock.OpRelease && r.Answer(redlock.Answer{Vote: redlock.VoteError, Err: errors.New("what?")})
	}}, "an unknown operation is an error and changes nothing"},

	{"the name shows a password", wrongNode{name: "redis://user:secret@node-1:6379"},
		"the name is stable and shows no password"},

	{"requests overtake each other", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		if r.Op == redlock.OpAcquire {
			time.AfterFunc(5*time.Millisecond, func() { n.Send(r) })
		}
		return r.Op == redlock.OpAcquire
	}}, "requests of one key are carried out in order"},

	{"it never answers a release", wrongNode{send: func(_ *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpRelease
	}}, "each of many requests at once is answered"},

	{"it never answers anything", wrongNode{send: func(*redlocktest.Node, *redlock.Request) bool { return true }},
		"acquire creates a key that is free"},

	{"it sends one request at a time", wrongNode{send: oneAtATime()}, "an answer may lead to the next request"},

	{"it changes the command", wrongNode{send: func(_ *redlocktest.Node, r *redlock.Request) bool {
		r.Key = "prefix:" + r.Key
		return false
	}}, "a command is left as it was"},

	{"it does not begin requests", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpAcquire && sendUnbegun(n, r)
	}}, "a withdrawn request is not carried out"},

	{"it begins requests too late", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		if r.Op == redlock.OpAcquire {
			n.Set(r.Key, r.Value, r.TTL)
			time.Sleep(time.Millisecond)
			r.Answer(redlock.Answer{Vote: redlock.VoteYes})
		}
		return r.Op == redlock.OpAcquire
	}}, "a request is either withdrawn or carried out"},

	{"close does nothing", wrongNode{close: func(*redlocktest.Node) {}},
		"close answers what waits and refuses what follows"},

	{"close forgets what waits", wrongNode{
		send: func(n *redlocktest.Node, r *redlock.Request) bool {
			return r.Op == redlock.OpAcquire && strings.HasSuffix(r.Key, "7") && r.Begin()
		}},
		"close answers what waits and refuses what follows"},

	{"silence has no end", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return instead(n, redlock.NewRequest(r.Command, time.Hour, func(a redlock.Answer) { r.Answer(a) }), r.Op, r.Value, r.TTL)
	}}, "a silent node is answered for in time"},

	{"silence is an error", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		n.Send(redlock.NewRequest(r.Command, r.Timeout, func(a redlock.Answer) {
			if a.Vote == redlock.VoteUnknown {
				a.Vote = redlock.VoteError
			}
			r.Answer(a)
		}))
		return true
	}}, "a silent node is answered for in time"},

	{"what is withdrawn in a silence was sent", wrongNode{send: func(n *redlocktest.Node, r *redlock.Request) bool {
		return r.Op == redlock.OpAcquire && sendUnbegun(n, r)
	}}, "what is withdrawn in a silence is not carried out after it"},

	{"close waits for silence to end", wrongNode{close: func(n *redlocktest.Node) {
		_ = n.Connect(context.Background())
		n.Close()
	}}, "close does not wait for a silent node"},
}

// sendUnbegun carries out a request that was never begun.
func sendUnbegun(n *redlocktest.Node, r *redlock.Request) bool {
	n.Send(redlock.NewRequest(r.Command, r.Timeout, func(a redlock.Answer) { r.Answer(a) }))
	return true
}

// oneAtATime answers under the lock that Send takes.
func oneAtATime() func(n *redlocktest.Node, r *redlock.Request) bool {
	var mu sync.Mutex
	return func(n *redlocktest.Node, r *redlock.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		n.Send(r)
		return true
	}
}

const wrongNodeEnv = "REDLOCKTEST_WRONG_NODE"

// TestWrongNode is the child of TestConformFindsMistakes.
func TestWrongNode(t *testing.T) {
	mistake := os.Getenv(wrongNodeEnv)
	if mistake == "" {
		t.Skip("run by TestConformFindsMistakes")
	}
	redlocktest.SetPatience(400 * time.Millisecond)
	for _, w := range wrongNodes {
		if w.mistake == mistake {
			redlocktest.Conform(t, func(t *testing.T) redlock.Node {
				n := w.node
				n.Node = redlocktest.NewNode("wrong", nil)
				t.Cleanup(func() { n.Node.Close() })
				return &n
			})
			return
		}
	}
	t.Skip("no such mistake")
}

// Each wrong node is tested in a process of its own, because a test cannot
// survive that a subtest fails. They mostly wait, so several run at once.
func TestConformFindsMistakes(t *testing.T) {
	t.Parallel()
	slots := make(chan struct{}, 6)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, w := range wrongNodes {
		rule := strings.ReplaceAll(w.rule, " ", "_")
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestWrongNode$/^"+rule+"$")
		child.Env = append(os.Environ(), wrongNodeEnv+"="+w.mistake)
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out, err := child.CombinedOutput()
			assert.Error(t, err, "%s: the child passed:\n%s", w.mistake, out)
			assert.Contains(t, string(out), "--- FAIL: TestWrongNode/"+rule+" ", "%s: the child failed otherwise:\n%s", w.mistake, out)
		})
	}
}

func TestAnsweringTwiceIsHarmless(t *testing.T) {
	t.Parallel()
	redlocktest.Conform(t, func(t *testing.T) redlock.Node {
		n := redlocktest.NewNode("node-1", nil)
		t.Cleanup(func() { n.Close() })
		return &wrongNode{Node: n, send: func(n *redlocktest.Node, r *redlock.Request) bool {
			if r.Begin() {
				n.Send(redlock.NewRequest(r.Command, r.Timeout, func(a redlock.Answer) {
					r.Answer(a)
					r.Answer(redlock.Answer{Vote: redlock.VoteUnknown, Err: errors.New("again")})
				}))
			}
			return true
		}}
	})
}
