package tests

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/redlocktest"
)

func TestB26NothingIsExtendedAfterRelease(t *testing.T) {
	const rounds = 500
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		random := rand.New(rand.NewPCG(26, 0))
		upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d) + 1)) }
		released := make(map[string]time.Time, rounds)
		for i := range rounds {
			c.each(func(n *redlocktest.Node) { n.Slow(upTo(3 * time.Millisecond)) })
			ctx, cancel := context.WithCancel(t.Context())
			if i%4 == 0 {
				time.AfterFunc(upTo(2*time.Millisecond), cancel)
			}
			lock, err := c.client.Acquire(ctx, caseKey, 300*time.Millisecond)
			if err == nil {
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 5 * time.Millisecond}))
				time.Sleep(upTo(60 * time.Millisecond))
				c.nodes[i%3].Forget() // so that heals are under way, too
				time.Sleep(upTo(60 * time.Millisecond))
				require.NoError(t, lock.Release(ctx))
				released[lock.Token()] = time.Now()
			}
			cancel()
		}
		time.Sleep(2 * time.Second)
		c.clean(0)
		require.Greater(t, len(released), rounds/2)
		assert.Greater(t, c.sent(redlock.OpExtend), rounds)
		assert.Greater(t, c.sent(redlock.OpHeal), rounds/2)
		c.each(func(n *redlocktest.Node) {
			for _, r := range n.Commands() {
				end, ok := released[r.Value[:40]]
				if ok && r.Op != redlock.OpRelease && r.Arrived.After(end) {
					assert.Failf(t, "too late", "%v at %v, %v after the release", r.Op, n, r.Arrived.Sub(end))
				}
			}
		})
	})
}

// hiccups are faults that go by; both make and mend act on every node.
var hiccups = map[string]struct{ make, mend func(n *redlocktest.Node) }{
	"down": {(*redlocktest.Node).Down, (*redlocktest.Node).Up},
	"hung": {(*redlocktest.Node).Hang, (*redlocktest.Node).Resume},
	"loading": {
		func(n *redlocktest.Node) { n.Answer(errors.New("LOADING dataset in memory")) },
		func(n *redlocktest.Node) { n.Answer(nil) },
	},
	"too slow": {
		func(n *redlocktest.Node) { n.Slow(time.Minute) },
		func(n *redlocktest.Node) { n.Slow(0) },
	},
	"deaf": { // carries out, and nobody learns of it
		func(n *redlocktest.Node) { n.DropReplies(1_000_000) },
		func(n *redlocktest.Node) { n.DropReplies(0) },
	},
}

func TestB29AFailedExtensionIsTriedAgainInTime(t *testing.T) {
	for name, fault := range hiccups {
		t.Run(name, func(t *testing.T) {
			var trace caseTrace
			inFieldCase(t, 3, &redlock.Options{Trace: trace.hooks()}, func(t *testing.T, c *fieldCase) {
				lock := c.held(3 * time.Second)
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 500 * time.Millisecond}))
				for range 3 {
					time.Sleep(550 * time.Millisecond)
					c.each(fault.make)
					time.Sleep(900 * time.Millisecond)
					c.each(fault.mend)
					time.Sleep(1550 * time.Millisecond)
				}
				assert.NoError(t, lock.Err())
				assert.Empty(t, trace.lost)
				assertDone(t, false, lock.Done())
				assert.GreaterOrEqual(t, trace.failedExtensions(), 3, "or the fault did nothing")
				require.NoError(t, lock.Release(t.Context()))
				c.clean(time.Second)
			})
		})
	}
}

// Waiting a whole interval after a failure would be too late.
func TestB29AFailedExtensionIsTriedAgainSooner(t *testing.T) {
	for name, fault := range hiccups {
		t.Run(name, func(t *testing.T) {
			var trace caseTrace
			inFieldCase(t, 3, &redlock.Options{Trace: trace.hooks()}, func(t *testing.T, c *fieldCase) {
				lock := c.held(3 * time.Second)
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: 2 * time.Second}))
				time.Sleep(1900 * time.Millisecond)
				c.each(fault.make)
				time.Sleep(300 * time.Millisecond)
				c.each(fault.mend)
				time.Sleep(time.Minute)
				assert.NoError(t, lock.Err())
				assert.Positive(t, trace.failedExtensions(), "or the fault did nothing")
			})
		})
	}
}

func TestB29AnExtensionByHandThatFailedLeavesTheLockAsItWas(t *testing.T) {
	for name, fault := range hiccups {
		t.Run(name, func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				lock := c.held(3 * time.Second)
				c.each(fault.make)
				before := lock.Remaining()
				took := caseTakes(func() {
					requireClass(t, redlock.ErrNoQuorum, lock.Extend(t.Context(), 3*time.Second))
				})
				assert.NoError(t, lock.Err())
				assert.Equal(t, before, lock.Remaining()+took)

				c.each(fault.mend)
				require.NoError(t, lock.Extend(t.Context(), 3*time.Second))
				assert.Equal(t, 3*time.Second-caseDrift(3*time.Second), lock.Remaining())
			})
		})
	}
}

func TestB30TheLockAfterALostOneIsKeptAlive(t *testing.T) {
	const ttl = 3 * time.Second
	for name, lose := range map[string]func(c *fieldCase, lock *redlock.Lock){
		"nodes down": func(c *fieldCase, _ *redlock.Lock) {
			c.each((*redlocktest.Node).Down)
			time.Sleep(2 * ttl)
			c.each((*redlocktest.Node).Up)
		},
		"nodes hung": func(c *fieldCase, _ *redlock.Lock) {
			c.each((*redlocktest.Node).Hang)
			time.Sleep(2 * ttl)
			c.each((*redlocktest.Node).Resume)
		},
		"nodes forgot": func(c *fieldCase, _ *redlock.Lock) {
			c.each((*redlocktest.Node).Forget)
			time.Sleep(ttl / 2)
		},
		"a cap": func(c *fieldCase, lock *redlock.Lock) {
			require.NoError(c.t, lock.KeepAlive(redlock.KeepAlive{MaxCount: 1}))
			time.Sleep(2 * ttl)
		},
	} {
		for _, released := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
					first := c.held(ttl)
					require.NoError(t, first.KeepAlive(redlock.KeepAlive{}))
					lose(c, first)
					requireLost(t, first)
					if released {
						requireClass(t, redlock.ErrLost, first.Release(t.Context()))
					}
					second, err := c.client.Acquire(t.Context(), caseKey, ttl)
					require.NoError(t, err)
					require.NoError(t, second.KeepAlive(redlock.KeepAlive{}))
					time.Sleep(5 * ttl)
					assert.NoError(t, second.Err())
					assert.Equal(t, 3, c.holding(second))
					requireLost(t, first)
				})
			})
		}
	}
}

func TestB32KeepAliveEndsAtItsCap(t *testing.T) {
	const ttl = 3 * time.Second
	for name, capped := range map[string]struct {
		caps redlock.KeepAlive
		keys time.Duration // when the last key is gone
	}{
		"count":                     {redlock.KeepAlive{MaxCount: 4}, 4*ttl/3 + ttl},
		"time":                      {redlock.KeepAlive{MaxHold: 10 * time.Second}, 10 * time.Second},
		"less than one TTL":         {redlock.KeepAlive{MaxHold: time.Second}, ttl},
		"count and time, count":     {redlock.KeepAlive{MaxHold: time.Hour, MaxCount: 1}, ttl/3 + ttl},
		"count and time, time":      {redlock.KeepAlive{MaxHold: 5 * time.Second, MaxCount: 1000}, 5 * time.Second},
		"a rate of its own, count":  {redlock.KeepAlive{Every: 100 * time.Millisecond, MaxCount: 10}, time.Second + ttl},
		"a rate of its own, slower": {redlock.KeepAlive{Every: 2 * time.Second, MaxHold: 20 * time.Second}, 20 * time.Second},
	} {
		for _, where := range []string{"call", "options", "do"} {
			t.Run(name+", "+where, func(t *testing.T) {
				opts := &redlock.Options{KeepAlive: capped.caps}
				if where == "call" {
					opts = nil
				}
				inFieldCase(t, 3, opts, func(t *testing.T, c *fieldCase) {
					start := time.Now()
					stuck := func(ctx context.Context, lock *redlock.Lock) error { // a holder that never ends by itself
						<-ctx.Done()
						requireClass(t, redlock.ErrLost, context.Cause(ctx))
						assert.ErrorIs(t, context.Cause(ctx), redlock.ErrMaxHold)
						assert.ErrorIs(t, lock.Err(), redlock.ErrMaxHold)
						assert.Less(t, time.Since(start), capped.keys)
						assert.Greater(t, time.Since(start), capped.keys-ttl/3)
						time.Sleep(time.Until(start.Add(capped.keys)) - 100*time.Millisecond)
						assert.Equal(t, 3, c.holding(lock))
						time.Sleep(100 * time.Millisecond)
						c.clean(0)
						return nil
					}
					if where == "do" {
						err := c.client.Do(t.Context(), caseKey, ttl, stuck)
						requireClass(t, redlock.ErrLost, err)
						assert.ErrorIs(t, err, redlock.ErrMaxHold)
						return
					}
					lock := c.held(ttl)
					caps := redlock.KeepAlive{}
					if where == "call" {
						caps = capped.caps
					}
					require.NoError(t, lock.KeepAlive(caps))
					ctx, cancel := lock.Context(t.Context())
					defer cancel()
					require.NoError(t, stuck(ctx, lock))
				})
			})
		}
	}
}

// A cap that was raised is no reason for what happens later.
func TestB32ARaisedCapIsNotBlamed(t *testing.T) {
	const ttl = 3 * time.Second
	inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
		lock := c.held(ttl)
		require.NoError(t, lock.KeepAlive(redlock.KeepAlive{MaxCount: 1}))
		time.Sleep(2500 * time.Millisecond) // it is capped, and not lost yet
		require.NoError(t, lock.Err())
		require.NoError(t, lock.KeepAlive(redlock.KeepAlive{MaxCount: 1000}))
		time.Sleep(5 * ttl)
		require.NoError(t, lock.Err())
		c.each((*redlocktest.Node).Down)
		time.Sleep(ttl)
		requireLost(t, lock)
		assert.NotErrorIs(t, lock.Err(), redlock.ErrMaxHold)
		assert.ErrorIs(t, lock.Err(), redlock.ErrNoQuorum, "this is why")
	})
}

// The TTL is the holder's, however much a cap cut off the last extension.
func TestB32ARaisedCapGivesTheWholeTTLAgain(t *testing.T) {
	const ttl = 30 * time.Second
	for _, every := range []time.Duration{0, 26 * time.Second} {
		t.Run(every.String(), func(t *testing.T) {
			inFieldCase(t, 3, nil, func(t *testing.T, c *fieldCase) {
				lock := c.held(ttl)
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: every, MaxHold: 57 * time.Second}))
				time.Sleep(54 * time.Second)
				require.NoError(t, lock.Err())
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: every, MaxHold: time.Hour}))
				time.Sleep(50 * time.Minute)
				require.NoError(t, lock.Err())
				commands := c.nodes[0].Commands()
				assert.Equal(t, ttl, commands[len(commands)-1].TTL)
			})
		})
	}
}

// No cap, and an interval that is short against the TTL, or even its drift.
func TestB32WithoutACapNothingIsCapped(t *testing.T) {
	const ttl = 30 * time.Second
	for _, every := range []time.Duration{0, time.Millisecond, 100 * time.Millisecond, time.Second, 26 * time.Second} {
		t.Run(every.String(), func(t *testing.T) {
			inFieldCase(t, 1, nil, func(t *testing.T, c *fieldCase) {
				lock := c.held(ttl)
				require.NoError(t, lock.KeepAlive(redlock.KeepAlive{Every: every}))
				time.Sleep(2 * ttl)
				require.NoError(t, lock.Err())
			})
		})
	}
}
