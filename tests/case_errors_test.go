package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

// faults are those that last, for one node.
var faults = map[string]func(n *redlocktest.Node){
	"down":   (*redlocktest.Node).Down,
	"hung":   (*redlocktest.Node).Hang,
	"slow":   func(n *redlocktest.Node) { n.Slow(time.Second) },
	"broken": func(n *redlocktest.Node) { n.Answer(errors.New("LOADING dataset in memory")) },
}

func TestB74HeldIsToldFromUnreachable(t *testing.T) {
	for name, fail := range faults {
		for _, count := range []int{1, 2, 3, 4, 5} {
			for held := range count + 1 {
				for failed := range count - held + 1 {
					t.Run(fmt.Sprintf("%d held, %d %s of %d", held, failed, name, count), func(t *testing.T) {
						inFieldCase(t, count, nil, func(t *testing.T, c *fieldCase) {
							foreign := occupy("holder", time.Hour, c.nodes[:held]...)
							for _, n := range c.nodes[held : held+failed] {
								fail(n)
							}
							lock, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
							need := count/2 + 1
							switch {
							case count-held-failed >= need:
								require.NoError(t, err)
								require.NoError(t, lock.Release(t.Context()))
							case held > 0 && held+failed >= need:
								// By design also where the holder needs silent nodes for its quorum.
								requireHeldBy(t, "holder", err)
							default:
								requireClass(t, redlock.ErrNoQuorum, err)
							}
							for _, n := range c.nodes[:held] {
								value, _, _ := n.Get(caseKey)
								assert.Equal(t, foreign, value)
							}
						})
					})
				}
			}
		}
	}
}

// Contenders have taken some nodes each and are about to give them up: nobody
// holds the lock, and no outage is to be reported. Other nodes may be slower than
// those, and one may be down.
func TestB74ASplitIsNeitherHeldNorAnOutage(t *testing.T) {
	for _, down := range []int{0, 1} {
		for _, slow := range []time.Duration{0, 5 * time.Millisecond, 40 * time.Millisecond} {
			for _, rest := range []time.Duration{0, 5 * time.Millisecond, 40 * time.Millisecond} {
				t.Run(fmt.Sprintf("%d down, splitters' nodes %v, the others %v", down, slow, rest), func(t *testing.T) {
					var trace caseTrace
					inFieldCase(t, 5, &redlock.Options{Trace: trace.hooks()}, func(t *testing.T, c *fieldCase) {
						require.NoError(t, c.client.Connect(t.Context()))
						for i, n := range c.nodes {
							n.Slow(rest)
							if i < 3 {
								occupy(fmt.Sprint("contender-", i), time.Hour, n)
								value, _, _ := n.Get(caseKey)
								n.Set(caseKey, fmt.Sprint(i)+value[1:], time.Hour)
								n.Slow(slow)
							}
						}
						if down > 0 {
							c.nodes[2].Delete(caseKey)
							c.nodes[2].Down()
						}
						time.AfterFunc(15*time.Millisecond, func() {
							c.each(func(n *redlocktest.Node) {
								if value, _, _ := n.Get(caseKey); strings.Contains(value, "contender") {
									n.Delete(caseKey)
								}
							})
						})
						lock, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
						require.NoError(t, err)
						require.NoError(t, lock.Release(t.Context()))
						for _, err := range trace.attempts {
							assert.NotErrorIs(t, err, redlock.ErrHeld)
						}
					})
				})
			}
		}
	}
}

func TestB75ReleaseAndExtendSayWhatHappened(t *testing.T) {
	own := redlock.ErrReleased // of the whole handle, not of what happened to it
	for name, what := range map[string]struct {
		make            func(c *fieldCase, lock *redlock.Lock)
		extend, release error
		holder          string
	}{
		"nothing": {func(*fieldCase, *redlock.Lock) {}, nil, nil, ""},
		"it ran out": {func(*fieldCase, *redlock.Lock) {
			time.Sleep(2 * time.Minute)
		}, redlock.ErrLost, redlock.ErrLost, ""},
		"it ran out and another holds": {func(c *fieldCase, _ *redlock.Lock) {
			time.Sleep(2 * time.Minute)
			occupy("thief", time.Hour, c.nodes...)
		}, redlock.ErrLost, redlock.ErrLost, ""},
		"the nodes forgot": {func(c *fieldCase, _ *redlock.Lock) {
			c.each((*redlocktest.Node).Forget)
		}, redlock.ErrLost, redlock.ErrLost, ""},
		"the nodes forgot and another holds": {func(c *fieldCase, _ *redlock.Lock) {
			occupy("thief", time.Hour, c.nodes...)
		}, redlock.ErrLost, redlock.ErrLost, "thief"},
		"another has a quorum": {func(c *fieldCase, _ *redlock.Lock) {
			occupy("thief", time.Hour, c.nodes[:2]...)
		}, redlock.ErrLost, redlock.ErrLost, "thief"},
		"another has one node": {func(c *fieldCase, _ *redlock.Lock) {
			occupy("thief", time.Hour, c.nodes[0])
		}, nil, nil, ""},
		"another has one node, one is down": {func(c *fieldCase, _ *redlock.Lock) {
			occupy("thief", time.Hour, c.nodes[0])
			c.nodes[1].Down()
		}, redlock.ErrNoQuorum, nil, ""},
		"one forgot, one is down": {func(c *fieldCase, _ *redlock.Lock) {
			c.nodes[0].Forget()
			c.nodes[1].Down()
		}, redlock.ErrNoQuorum, nil, ""},
		"all down": {func(c *fieldCase, _ *redlock.Lock) {
			c.each((*redlocktest.Node).Down)
		}, redlock.ErrNoQuorum, redlock.ErrNoQuorum, ""},
		"all hung": {func(c *fieldCase, _ *redlock.Lock) {
			c.each((*redlocktest.Node).Hang)
		}, redlock.ErrNoQuorum, redlock.ErrNoQuorum, ""},
		"it was released": {func(c *fieldCase, lock *redlock.Lock) {
			require.NoError(c.t, lock.Release(c.t.Context()))
		}, own, own, ""},
		"the client is closed": {func(c *fieldCase, lock *redlock.Lock) {
			require.NoError(c.t, c.client.Close())
		}, errors.Join(redlock.ErrLost, redlock.ErrClosed), redlock.ErrClosed, ""},
	} {
		for _, op := range []string{"extend", "release", "extend and release"} {
			t.Run(op+", "+name, func(t *testing.T) {
				inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
					lock := c.held(time.Minute)
					what.make(c, lock)
					check := func(want, err error) {
						t.Helper()
						assert.NotErrorIs(t, err, redlock.ErrHeld, "whatever happens to a holder")
						if want == nil {
							require.NoError(t, err)
							return
						}
						requireClass(t, want, err)
						var q *redlock.QuorumError
						if what.holder != "" && assert.ErrorAs(t, err, &q) {
							assert.Equal(t, what.holder, q.Holder())
						}
					}
					if op != "release" {
						check(what.extend, lock.Extend(t.Context(), time.Minute))
					}
					if op == "release" {
						check(what.release, lock.Release(t.Context()))
					} else if op != "extend" {
						what.holder = "" // told by the extension
						check(what.release, lock.Release(t.Context()))
					}
				})
			})
		}
	}
}

// Whatever fails, on however many nodes: there is a lock or an error, never
// both, never neither, and every error has a class or is the context's.
func TestB76ThereIsALockOrAnError(t *testing.T) {
	all := map[string]func(n *redlocktest.Node){
		"held":      func(n *redlocktest.Node) { occupy("holder", time.Hour, n) },
		"forgetful": (*redlocktest.Node).Forget,
	}
	for _, more := range []map[string]func(n *redlocktest.Node){faults, lostReplies} {
		for name, fail := range more {
			all[name] = fail
		}
	}
	for first, failFirst := range all {
		for second, failSecond := range all {
			if second < first {
				continue
			}
			t.Run(first+", "+second, func(t *testing.T) {
				for how := range 27 { // each of three nodes: well, first, second
					inFieldCase(t, 3, &redlock.Options{Attempts: 3}, func(t *testing.T, c *fieldCase) {
						fail := func() {
							for i, rest := 0, how; i < 3; i, rest = i+1, rest/3 {
								switch rest % 3 {
								case 1:
									failFirst(c.nodes[i])
								case 2:
									failSecond(c.nodes[i])
								}
							}
						}
						check := func(lock *redlock.Lock, err error) {
							t.Helper()
							require.Equal(t, lock == nil, err != nil, "%v, %v", lock, err)
							require.True(t, err == nil || hasClass(err), "%v", err)
						}
						fail()
						lock, err := c.client.TryAcquire(t.Context(), caseKey, time.Minute)
						check(lock, err)
						ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
						defer cancel()
						lock, err = c.client.Acquire(ctx, "another", time.Minute)
						check(lock, err)
						if lock == nil {
							return
						}
						fail()
						if err := lock.Extend(t.Context(), time.Minute); err != nil {
							require.True(t, hasClass(err), "%v", err)
						}
						if err := lock.Release(t.Context()); err != nil {
							require.True(t, hasClass(err), "%v", err)
						}
						require.Error(t, lock.Err())
						require.Zero(t, lock.Remaining())
					})
				}
			})
		}
	}
}

func hasClass(err error) bool {
	for _, class := range append(caseClasses, context.Canceled, context.DeadlineExceeded) {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func TestB77WhatWaitingCannotCureEndsTheWait(t *testing.T) {
	for reply, cures := range map[string]bool{
		"NOPERM this user has no permissions to run the 'set' command":              false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":         false,
		"NOAUTH Authentication required.":                                           false,
		"WRONGPASS invalid username-password pair":                                  false,
		"ERR unknown command 'EVALSHA', with args beginning with:":                  false,
		"ERR ACL failure in script: User u has no permissions to run 'get'":         false,
		"ERR The user executing the script can't run this command or subcommand":    false,
		"LOADING Redis is loading the dataset in memory":                            true,
		"OOM command not allowed when used memory > 'maxmemory'.":                   true,
		"READONLY You can't write against a read only replica.":                     true,
		"MISCONF Redis is configured to save RDB snapshots, but it is currently...": true,
		"ERR syntax error": true, // seen in the final error
	} {
		for failed := range 4 {
			t.Run(fmt.Sprint(failed, " of 3 ", reply), func(t *testing.T) {
				var trace caseTrace
				inFieldCase(t, 3, &redlock.Options{Trace: trace.hooks()}, func(t *testing.T, c *fieldCase) {
					for _, n := range c.nodes[:failed] {
						n.Answer(fmt.Errorf("dial: %w", errors.New(reply)))
					}
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					start := time.Now()
					_, err := c.client.Acquire(ctx, caseKey, time.Minute)
					if failed < 2 {
						require.NoError(t, err)
						return
					}
					requireClass(t, redlock.ErrNoQuorum, err)
					assert.ErrorContains(t, err, reply)
					assert.Equal(t, cures, errors.Is(err, context.DeadlineExceeded))
					if cures {
						assert.Equal(t, 2*time.Second, time.Since(start))
						assert.Greater(t, len(trace.attempts), 2)
					} else {
						assert.Zero(t, time.Since(start))
						assert.Len(t, trace.attempts, 1)
					}
				})
			})
		}
	}
}

// One node that is set up wrongly does not keep anybody from waiting.
func TestB77OneWrongNodeDoesNotEndTheWait(t *testing.T) {
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		c.nodes[0].Answer(errors.New("NOPERM"))
		occupy("holder", 5*time.Second, c.nodes[1:]...)
		lock, err := c.client.Acquire(t.Context(), caseKey, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, 2, c.holding(lock))
	})
}

func TestB77AKeepAliveThatDoesNotFitIsRefusedBeforeAnythingIsSent(t *testing.T) {
	const ttl = 3 * time.Second
	for _, every := range []time.Duration{2668 * time.Millisecond, ttl, time.Hour} {
		inFieldCase(t, 3, &redlock.Options{KeepAlive: redlock.KeepAlive{Every: every}}, func(t *testing.T, c *fieldCase) {
			requireClass(t, redlock.ErrInvalid, c.client.Do(t.Context(), caseKey, ttl, mustNotRun))
			requireClass(t, redlock.ErrInvalid, c.client.TryDo(t.Context(), caseKey, ttl, mustNotRun))
			assert.Zero(t, c.commands())

			lock := c.held(ttl)
			requireClass(t, redlock.ErrInvalid, lock.KeepAlive(redlock.KeepAlive{}))
			requireClass(t, redlock.ErrInvalid, lock.KeepAlive(redlock.KeepAlive{Every: -1}))
			require.NoError(t, lock.Err())
			require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: time.Second}))
			time.Sleep(10 * ttl)
			assert.NoError(t, lock.Err())
		})
	}
}
