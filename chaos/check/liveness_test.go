package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
)

// The bounds of a story: 1.01 s + 1 s + 0.5 s after healing, 1.01 s + 0.5 s
// after a crash.
func TestWhatIsStuckAndWhatIsNot(t *testing.T) {
	for _, test := range []struct {
		story string
		stuck int
		s     *story
	}{
		{"granted in time after healing", 0, tell().asks(0, 1).healed(1000).holds(3510, 1, "a", 4000)},
		{"granted too late after healing", 1, tell().asks(0, 1).healed(1000).holds(3511, 1, "a", 4000)},
		{"never granted", 1, tell().asks(0, 1).healed(1000).ends(9000, 0)},
		{"never healed", 0, tell().asks(0, 1).ends(9000, 0)},
		{"asked for later", 0, tell().healed(1000).asks(5000, 1).holds(7510, 1, "a", 8000)},
		{"asked for later, and too late", 1, tell().healed(1000).asks(5000, 1).holds(7511, 1, "a", 8000)},
		{"given up", 0, tell().healed(1000).asks(1000, 1).fails(2000, 1, "context", 0).ends(9000, 0)},
		{"polled for", 1, tell().healed(1000).
			tries(1000, 1).fails(1400, 1, "no quorum", 0).tries(1900, 1).fails(2300, 1, "no quorum", 0).
			tries(2800, 1).fails(3600, 1, "no quorum", 0)},
		{"polled for with pauses", 0, tell().healed(1000).
			tries(1000, 1).fails(1400, 1, "no quorum", 0).tries(2000, 1).fails(2300, 1, "no quorum", 0).
			tries(2900, 1).fails(3600, 1, "no quorum", 0)},
		{"held all the time", 0, tell().asks(0, 1).holds(10, 1, "a", 8000).asks(20, 2).healed(1000).ends(9000, 0)},
		{"free after having been held", 1, tell().asks(0, 1).holds(10, 1, "a", 5000).asks(20, 2).healed(1000).ends(9000, 0)},
		{"another lock was granted", 1, tell().asks(0, 1).elsewhere().asks(0, 2).holds(1500, 2, "b", 1600).healed(1600).ends(9000, 0)},
		{"a crashed waiter", 0, tell().asks(0, 1).healed(1000).crashes(1500, 1).ends(9000, 0)},

		{"a crashed holder's lock in time", 0, tell().asks(0, 1).holds(10, 1, "a", 900).asks(20, 2).crashes(500, 1).holds(2010, 2, "b", 3000)},
		{"a crashed holder's lock too late", 1, tell().asks(0, 1).holds(10, 1, "a", 900).asks(20, 2).crashes(500, 1).holds(2011, 2, "b", 3000)},
		{"nobody waits for a crashed holder's lock", 0, tell().asks(0, 1).holds(10, 1, "a", 900).crashes(500, 1).ends(9000, 0)},
		{"somebody asks long after", 0, tell().asks(0, 1).holds(10, 1, "a", 900).crashes(500, 1).asks(5000, 2).holds(5500, 2, "b", 6000)},
		{"somebody asks long after, in vain", 1, tell().asks(0, 1).holds(10, 1, "a", 900).crashes(500, 1).asks(5000, 2).ends(5501, 0)},
		{"a crashed holder of a shorter lock", 1, tell().asksFor(0, 1, 200).holds(10, 1, "a", 190).asks(20, 2).crashes(100, 1).holds(803, 2, "b", 3000)},
		{"a crashed holder of a shorter lock, in time", 0, tell().asksFor(0, 1, 200).holds(10, 1, "a", 190).asks(20, 2).crashes(100, 1).holds(802, 2, "b", 3000)},
		{"a crashed holder of a shorter lock, extended", 0, tell().asksFor(0, 1, 200).holds(10, 1, "a", 190).asks(20, 2).holds(50, 1, "a", 1000).crashes(100, 1).holds(803, 2, "b", 3000)},
		{"a crash during a fault of nodes", 0, tell().fault(0, "kill", 1, 0).asks(0, 1).holds(10, 1, "a", 900).asks(20, 2).crashes(500, 1).heals(600, "kill", 1, 0).ends(9000, 0)},
		{"a crash that is a fault", 1, tell().asks(0, 1).holds(10, 1, "a", 900).asks(20, 2).fault(500, "crash-client", 0, 1).crashes(500, 1).heals(501, "crash-client", 0, 1).ends(9000, 0)},
		{"a crash while another client is paused", 0, tell().asks(0, 1).holds(10, 1, "a", 900).asks(20, 2).fault(400, "pause-client", 0, 2).crashes(500, 1).ends(9000, 0)},
	} {
		t.Run(test.story, func(t *testing.T) {
			p := check.Liveness(&test.s.History)
			require.Equal(t, test.stuck, p.Stuck.Count, "%v\n%+v", test.s, p)
		})
	}
}

func TestRecoveryIsTheLongestWaitForTheFirstGrant(t *testing.T) {
	s := tell().asks(0, 1).healed(1000).holds(1300, 1, "a", 1400).
		asks(1300, 2).holds(2500, 2, "b", 2600).
		elsewhere().asks(2600, 3).holds(2700, 3, "c", 2800)
	p := check.Liveness(&s.History)
	require.Equal(t, 300*time.Millisecond, p.Recovery)
	require.Equal(t, 2, p.Healed)
}

func TestCrashesOfHoldersAreCounted(t *testing.T) {
	s := tell().asks(0, 1).holds(10, 1, "a", 900).asks(20, 2).crashes(500, 1).holds(600, 2, "b", 900).
		asks(610, 3).fault(650, "kill", 1, 0).crashes(700, 2).holds(800, 3, "c", 900)
	p := check.Liveness(&s.History)
	require.Equal(t, 2, p.Crashes)
	require.Equal(t, 1, p.Judged)
}

func TestGrantRateComparesCalmTimesWithFaultsOfAMinority(t *testing.T) {
	s := tell()
	grant := func(at int) {
		s.asks(at, 1).holds(at, 1, time.Duration(at).String(), at+5).releases(at+1, 1, time.Duration(at).String())
	}
	for at := 1000; at < 2000; at += 10 { // 100 in a second
		grant(at)
	}
	s.fault(2000, "kill", 1, 0)
	for at := 2000; at < 3000; at += 20 { // 50 in a second
		grant(at)
	}
	s.fault(3000, "kill", 2, 0).fault(3000, "kill", 3, 0)
	grant(3500) // with a majority down: counts nowhere
	s.heals(4000, "kill", 1, 0).heals(4000, "kill", 2, 0).heals(4000, "kill", 3, 0).fault(4000, "pause-client", 0, 2)
	grant(4500)
	s.healed(5000)
	grant(6000)
	r := check.GrantRate(&s.History)
	require.Equal(t, check.Rates{CalmGrants: 100, CalmTime: time.Second, StruckGrants: 50, StruckTime: time.Second}, r)
	cost, ok := r.Cost()
	require.True(t, ok)
	require.InDelta(t, 0.5, cost, 1e-9)

	for _, of := range []struct {
		calm, struck int
		slow         bool // beyond doubt
	}{{100, 40, true}, {1000, 650, true}, {20, 0, true}, {1000, 750, false}, {100, 60, false}, {10, 5, false}, {5, 0, false}, {0, 5, false}} {
		r.CalmGrants, r.StruckGrants = of.calm, of.struck
		require.Equal(t, of.slow, r.TooSlow(), "%+v", of)
	}

	_, ok = check.GrantRate(&tell().asks(0, 1).holds(10, 1, "a", 100).ends(1000, 0).History).Cost()
	require.False(t, ok, "there was no fault to compare with")
}
