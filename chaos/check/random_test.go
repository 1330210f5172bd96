package check_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
)

const tick = 100 * time.Millisecond

// A teller makes up small histories, in which anything may happen at any time.
type teller struct {
	*rand.Rand
	h        *history.History
	now      time.Duration
	calls    []history.Event // Begin events
	tokens   []history.Event // the first Holds of each
	versions map[string]int
	calm     bool
}

func (r *teller) one(of ...string) string      { return of[r.IntN(len(of))] }
func (r *teller) chance(percent int) bool      { return r.IntN(100) < percent }
func (r *teller) ticks(most int) time.Duration { return time.Duration(r.IntN(most+1)) * tick }

// random tells a history. The same seed tells the same one.
func random(seed uint64) *history.History {
	r := &teller{Rand: rand.New(rand.NewPCG(seed, 1)), versions: map[string]int{}}
	r.h = &history.History{Header: history.Header{
		Format: history.Format, Class: r.one(history.InModel, history.Slack, history.OutOfModel), Clients: 3, Nodes: 3, Quorum: 2,
		Drift: float64(r.IntN(2)) / 5, MaxTTL: tick * 5, Bound: r.ticks(4), Timeout: r.ticks(2), Clean: r.ticks(2) + time.Second,
		Exact: true, Watched: r.chance(50), Reliable: r.chance(60),
	}}
	pace, many := r.IntN(4), 5+r.IntN(35)
	faulty := r.chance(50)
	for len(r.h.Events) < many {
		if r.chance(50) {
			r.now += r.ticks(1 + pace)
		}
		if r.chance(3) {
			r.now += r.ticks(30)
		}
		if e, ok := r.event(faulty); ok {
			e.At = r.now
			r.h.Events = append(r.h.Events, e)
		}
	}
	return r.h
}

func (r *teller) event(faulty bool) (e history.Event, ok bool) {
	e.Client, e.Node, e.Name = 1+r.IntN(3), 1+r.IntN(3), r.one("job", "job", "job", "else")
	switch kind := r.IntN(100); {
	case r.calm && kind < 40:
		e.Kind, e.Token, e.Client, e.Until = history.Found, r.one("token-1", "token-2", "token-3"), 0, r.now+r.ticks(5)
		if r.chance(5) {
			e.Until = 0
		}
	case kind < 25:
		e = history.Event{Kind: history.Begin, Client: e.Client, Name: e.Name, Call: len(r.calls) + 1, TTL: r.ticks(5), Try: r.chance(80)}
		r.calls = append(r.calls, e)
	case kind < 40 && len(r.calls) > 0:
		c := r.calls[r.recent(len(r.calls))]
		e = history.Event{Kind: history.Holds, Client: c.Client, Name: c.Name, Call: c.Call, Token: fmt.Sprint("token-", c.Call), Until: r.now + r.ticks(6)}
		r.tokens = append(r.tokens, e)
	case kind < 55 && len(r.calls) > 0:
		c := r.calls[r.recent(len(r.calls))]
		e = history.Event{Kind: history.Failed, Client: c.Client, Name: c.Name, Call: c.Call, Class: r.one(history.IsHeld, history.IsHeld, history.NoQuorum, history.Context)}
		if e.Class == history.IsHeld {
			e.Holder = r.one("client-1", "client-2", "client-3", "client-1", "client-2", "client-3", "client-9", "")
		}
	case kind < 70 && len(r.tokens) > 0:
		h := r.tokens[r.recent(len(r.tokens))]
		e = history.Event{Client: h.Client, Name: h.Name, Token: h.Token}
		e.Kind = history.Kind(r.one(string(history.Release), string(history.Released), string(history.Lost), string(history.Holds)))
		if e.Kind == history.Holds {
			e.Until = max(r.now+r.ticks(8)-2*tick, 0)
		}
	case kind < 72:
		e = history.Event{Kind: history.Crash, Client: e.Client}
	case kind < 84 && len(r.tokens) > 0:
		h := r.tokens[r.recent(len(r.tokens))]
		r.versions[h.Name]++
		e = history.Event{Kind: history.Write, Client: h.Client, Name: h.Name, Token: h.Token, Version: r.versions[h.Name], Until: r.now + r.ticks(5) - tick}
		e.Until = max(e.Until, 0)
		e.Based = e.Version - 1
		if r.chance(50) {
			e.Based = r.IntN(e.Version)
		}
	case kind < 92 && len(r.calls) > 0:
		token := fmt.Sprint("token-", r.recent(len(r.calls))+1)
		e.Kind, e.Token, e.Until = history.Kept, token, r.now+r.ticks(5)
		switch {
		case r.chance(3):
			e.Until = 0
		case r.chance(30):
			e.Client = 0
		}
		if r.chance(40) {
			e.Kind, e.By, e.Client, e.Until = history.Deleted, token, 0, 0
			if r.chance(5) {
				e.By = "another"
			}
		}
	case kind < 98 && faulty:
		e = history.Event{Kind: history.Fault, Fault: r.one("kill", "crash-client"), Node: r.IntN(3), Client: r.IntN(3)}
		if e.Fault == "crash-client" {
			e.Node, e.Client = 0, max(e.Client, 1)
		}
		if r.chance(60) {
			e.Kind = history.Kind(r.one(string(history.Heal), string(history.Heal), string(history.Seen)))
		}
	case kind == 98 && r.chance(50):
		e = history.Event{Kind: history.Healed}
	case kind == 99:
		r.calm = true
		e = history.Event{Kind: history.Calm}
	default:
		return e, false
	}
	return e, true
}

// recent draws an index, mostly one of the last.
func (r *teller) recent(n int) int {
	if r.chance(75) {
		return n - 1 - r.IntN(min(n, 3))
	}
	return r.IntN(n)
}

// listed writes findings as the reference does.
func listed(f check.Findings) (all []string) {
	for _, one := range f.List {
		all = append(all, found(one.Name, one.From, one.To))
	}
	return all
}

// TestCheckersAgreeWithTheirObviousVersions compares on random histories, and
// requires that enough of them are good and bad for each checker.
func TestCheckersAgreeWithTheirObviousVersions(t *testing.T) {
	count := uint64(6000)
	if testing.Short() {
		count = 1000
	}
	good, bad := map[string]int{}, map[string]int{}
	for seed := range count {
		h := random(seed)
		want := slow{h}
		agree := func(check string, fast, slow []string) {
			slices.Sort(fast)
			slices.Sort(slow)
			if !slices.Equal(fast, slow) {
				require.Equal(t, slow, fast, "%s of seed %d:\n%s", check, seed, print(h))
			}
			if len(slow) > 0 {
				bad[check]++
			} else {
				good[check]++
			}
		}
		number := func(check string, fast, slow int) {
			if fast != slow {
				require.Equal(t, slow, fast, "%s of seed %d:\n%s", check, seed, print(h))
			}
		}

		overlaps := want.overlaps()
		agree("overlap", listed(check.Overlaps(h)), overlaps)
		_, revivals := want.beliefs()
		number("revivals", check.Revivals(h).Count, revivals)
		illegal := check.Porcupine(h).Result == check.Illegal
		agree("lock model", make([]string, min(len(overlaps), 1)), make([]string, ifElse(illegal, 1, 0)))

		lostUpdates, lost, stale := want.store()
		damage := check.Store(h)
		agree("store", listed(damage.Violations), lostUpdates)
		number("lost updates", damage.Lost, lost)
		number("stale writes", damage.Stale, stale)

		agree("liveness", listed(check.Liveness(h).Stuck), want.stuck(tick))
		skips, groups := want.skips()
		agree("skip", listed(check.Skip(h).Wrong), append(skips, groups...))
		if len(groups) > 0 {
			bad["together"]++
		} else if check.Skip(h).Groups > 0 {
			good["together"]++
		}

		orphans, foreign, withoutTTL := want.dirt()
		dirt := check.Hygiene(h)
		agree("orphans", listed(dirt.Orphans), orphans)
		number("foreign keys deleted", dirt.Foreign.Count, len(foreign))
		number("keys without TTL", dirt.WithoutTTL.Count, len(withoutTTL))

		report := check.Judge(h, check.Floors{})
		number("contended attempts", report.Stats.Contended, want.contended())
		require.NotContains(t, report.Why, "one of the checkers is wrong")
	}
	for name, n := range bad {
		t.Logf("%s: %d good histories, %d bad ones", name, good[name], n)
	}
	for _, name := range []string{"overlap", "lock model", "store", "liveness", "skip", "together", "orphans"} {
		require.Greater(t, good[name], int(count/500), name)
		require.Greater(t, bad[name], int(count/500), name)
	}
}

func ifElse(condition bool, yes, no int) int {
	if condition {
		return yes
	}
	return no
}
