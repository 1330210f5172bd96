package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
)

// kept tells of a lock that so many nodes keep, and that its holder loses at 500,
// before its end at 990.
func kept(nodes int) *story {
	s := tell().with(watched).asks(0, 1)
	for n := range nodes {
		s.keeps(5, n+1, 1, "a", 1000)
	}
	return s.holds(10, 1, "a", 990).loses(500, 1, "a").ends(3000, 0)
}

func TestWhatAHolderMustBeToldOfTheEnd(t *testing.T) {
	for _, test := range []struct {
		story string
		wrong int
		s     *story
	}{
		{"told in time", 0, tell().asks(0, 2).holds(10, 2, "a", 500).loses(450, 2, "a").ends(3000, 0)},
		{"told in the instant of the end", 0, tell().asks(0, 1).holds(10, 1, "a", 500).loses(500, 1, "a").ends(3000, 0)},
		{"told late", 1, tell().asks(0, 1).holds(10, 1, "a", 500).loses(501, 1, "a").ends(3000, 0)},
		{"never told", 1, tell().asks(0, 1).holds(10, 1, "a", 500).ends(3000, 0)},
		{"released", 0, tell().asks(0, 1).holds(10, 1, "a", 500).releases(499, 1, "a").ends(3000, 0)},
		{"crashed", 0, tell().asks(0, 1).holds(10, 1, "a", 500).crashes(499, 1).ends(3000, 0)},
		{"the run ended before", 0, tell().asks(0, 1).holds(10, 1, "a", 500).ends(400, 0)},
		{"paused meanwhile", 0, tell().asks(0, 1).fault(5, "pause-client", 0, 1).holds(10, 1, "a", 500).heals(900, "pause-client", 0, 1).loses(900, 1, "a").ends(3000, 0)},
		{"in real time", 0, tell().with(func(h *history.Header) { h.Exact = false }).asks(0, 1).holds(10, 1, "a", 500).ends(3000, 0)},

		{"over when granted", 1, tell().asks(0, 1).holds(10, 1, "a", 10).releases(11, 1, "a").ends(3000, 0)},
		{"extended", 0, tell().asks(0, 1).holds(10, 1, "a", 500).holds(100, 1, "a", 600).releases(110, 1, "a").ends(3000, 0)},
		{"shortened", 1, tell().asks(0, 1).holds(10, 1, "a", 500).holds(100, 1, "a", 400).releases(110, 1, "a").ends(3000, 0)},

		{"lost early, a minority keeps it", 0, kept(2)},
		{"lost early, a quorum keeps it", 1, kept(3)},
		{"lost early, nobody watched", 0, kept(3).with(func(h *history.Header) { h.Watched = false })},
		{"lost early, the third has just got it", 0, kept(2).keeps(480, 3, 1, "a", 1400).inOrder()},
		{"lost early, the third had just lost it", 0, kept(3).deletes(490, 3, "a", "a").inOrder()},
	} {
		t.Run(test.story, func(t *testing.T) {
			require.Equal(t, test.wrong, check.Losses(&test.s.History).Count, "%v", test.s)
		})
	}
}

func TestNothingIsExtendedAfterItsRelease(t *testing.T) {
	prolongs := func(s *story, at int, token string) *story {
		return s.then(at, history.Event{Kind: history.Prolongs, Client: 1, Node: 2, Name: "job", Token: token, Text: "an extension"})
	}
	s := prolongs(tell().asks(0, 1).holds(10, 1, "a", 500), 20, "a").releases(30, 1, "a")
	require.Zero(t, check.Prolonged(&s.History).Count)
	require.Zero(t, check.Prolonged(&prolongs(s, 40, "b").History).Count, "another lock")
	found := check.Prolonged(&prolongs(s, 50, "a").History)
	require.Equal(t, 1, found.Count)
	require.Equal(t, "node 2 was sent an extension of token a after its release", found.List[0].Text)
}
