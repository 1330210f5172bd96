package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
)

func longTTL(h *history.Header) { h.MaxTTL = ms(5000) }

func TestWhatARunMustHaveSeen(t *testing.T) {
	s := tell().
		fault(0, "kill", 1, 0).fault(0, "pause", 2, 0).
		asks(0, 1).seen(5, "kill", 1, 0).holds(10, 1, "a", 500).
		asks(20, 2).releases(30, 1, "a").holds(40, 2, "b", 500).releases(50, 2, "b").
		asks(60, 3).fails(70, 3, "no quorum", 0).
		asks(80, 1).fails(90, 1, "context", 0).asks(95, 1).holds(96, 1, "c", 500).
		healed(97)
	r := check.Judge(&s.History, check.Floors{})
	require.Equal(t, 3, r.Stats.Grants)
	require.Equal(t, 0, r.Stats.GrantsHealed)
	require.Equal(t, 1, r.Stats.Contended, "only client 2 met another one")
	require.Equal(t, 5, r.Stats.Attempts)
	require.Equal(t, map[string]int{"no quorum": 1, "context": 1}, r.Stats.Failed)
	require.Equal(t, map[string]check.FaultCount{"kill": {Struck: 1, Seen: 1}, "pause": {Struck: 1}}, r.Stats.Faults)

	require.Empty(t, check.Honesty(&s.History, check.Floors{Grants: 3, Contended: 1, Faults: 1}))
	require.Equal(t, []string{
		"3 grants, want at least 4", "1 contended acquisitions, want at least 2",
		"1 faults that were seen to take effect, want at least 2", "0 grants after everything was healed, want at least 1",
	}, check.Honesty(&s.History, check.Floors{Grants: 4, Contended: 2, Faults: 2, Healed: 1}))
}

func TestClocksMustKeepTheirRatesInModel(t *testing.T) {
	slowClient := func(s *story, lag int) *story { return s.measures(0, 0, 1, 0).measures(1000, 0, 1, -lag) }
	fastNode := func(s *story, lead int) *story { return s.measures(0, 2, 0, 500).measures(1000, 2, 0, 500+lead) }
	real := func(h *history.Header) { h.Exact = false }
	for _, test := range []struct {
		story  string
		broken bool
		s      *story
	}{
		{"far apart is not fast", false, fastNode(tell(), 0)},
		{"a node that is fast", true, fastNode(tell(), 11)},
		{"a node that is not too fast", false, fastNode(tell(), 10)},
		{"a client that is slow", true, slowClient(tell(), 11)},
		{"a client that is not too slow", false, slowClient(tell(), 10)},
		{"both together", true, slowClient(fastNode(tell(), 6), 6).inOrder()},
		{"both, little", false, slowClient(fastNode(tell(), 4), 5).inOrder()},
		{"a node that is slow", false, fastNode(tell(), -900)},
		{"a client that is fast", false, slowClient(tell(), -900)},
		{"a node's clock that was set", true, tell().measures(5, 1, 0, 0).measures(5, 1, 0, 50)},
		{"noise in real time", false, fastNode(tell().with(real), 50)},
		{"no noise in real time", true, fastNode(tell().with(real), 70)},
	} {
		t.Run(test.story, func(t *testing.T) {
			missing := check.Honesty(&test.s.History, check.Floors{})
			require.Equal(t, test.broken, len(missing) > 0, "%v", missing)
			test.s.Class = history.OutOfModel
			require.Empty(t, check.Honesty(&test.s.History, check.Floors{}))
		})
	}
}
