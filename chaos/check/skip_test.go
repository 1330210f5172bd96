package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
)

func watched(h *history.Header)  { h.Watched = true }
func reliable(h *history.Header) { h.Reliable = true }

// A story's key lives 1.01 s, and is asked for within 50 ms.
func TestWhoMayBeNamedAsTheHolder(t *testing.T) {
	held := history.IsHeld
	for _, test := range []struct {
		story string
		wrong int
		s     *story
	}{
		{"the holder", 0, tell().asks(0, 1).holds(10, 1, "a", 900).tries(20, 2).fails(30, 2, held, 1)},
		{"somebody else", 1, tell().asks(0, 1).holds(10, 1, "a", 900).tries(20, 2).fails(30, 2, held, 3)},
		{"nobody", 1, tell().asks(0, 1).holds(10, 1, "a", 900).tries(20, 2).fails(30, 2, held, 0)},
		{"a stranger", 1, tell().asks(0, 1).holds(10, 1, "a", 900).tries(20, 2).fails(30, 2, held, 99)},
		{"the holder of another lock", 1, tell().asks(0, 1).holds(10, 1, "a", 900).elsewhere().tries(20, 2).fails(30, 2, held, 1)},
		{"who is asking", 0, tell().asks(0, 1).tries(20, 2).fails(30, 2, held, 1).holds(40, 1, "a", 900)},
		{"who asks only later", 1, tell().tries(20, 2).fails(30, 2, held, 1).asks(40, 1)},
		{"whose keys may be left", 0, tell().asks(0, 1).fails(10, 1, "no quorum", 0).tries(1070, 2).fails(1080, 2, held, 1)},
		{"whose keys must be gone", 1, tell().asks(0, 1).fails(10, 1, "no quorum", 0).tries(1071, 2).fails(1080, 2, held, 1)},
		{"a released lock's keys", 0, tell().asks(0, 1).holds(10, 1, "a", 900).releases(20, 1, "a").tries(1080, 2).fails(1090, 2, held, 1)},
		{"a released lock's keys, too late", 1, tell().asks(0, 1).holds(10, 1, "a", 900).releases(20, 1, "a").tries(1081, 2).fails(1090, 2, held, 1)},
		{"what a heal may have delivered", 0, tell().fault(0, "pause", 1, 0).asks(0, 1).fails(10, 1, "no quorum", 0).
			heals(5000, "pause", 1, 0).tries(6060, 2).fails(6070, 2, held, 1)},
		{"what a heal delivered long ago", 1, tell().fault(0, "pause", 1, 0).asks(0, 1).fails(10, 1, "no quorum", 0).
			heals(5000, "pause", 1, 0).tries(6061, 2).fails(6070, 2, held, 1)},

		{"a key that a node keeps", 0, tell().with(watched).asks(0, 1).fails(10, 1, "no quorum", 0).
			keeps(5, 1, 1, "x", 1005).tries(900, 2).fails(910, 2, held, 1)},
		{"a key that no node keeps any more", 1, tell().with(watched).asks(0, 1).fails(10, 1, "no quorum", 0).
			keeps(5, 1, 1, "x", 1005).deletes(15, 1, "x", "x").tries(900, 2).fails(910, 2, held, 1)},
		{"a key beside one that was deleted before", 0, tell().with(watched).asks(0, 1).fails(10, 1, "no quorum", 0).
			keeps(5, 1, 1, "x", 1005).deletes(15, 1, "y", "y").tries(900, 2).fails(910, 2, held, 1)},
		{"a key that was replaced", 1, tell().with(watched).asks(0, 1).fails(10, 1, "no quorum", 0).
			keeps(5, 1, 1, "x", 1005).keeps(20, 1, 2, "y", 1020).tries(900, 3).fails(910, 3, held, 1)},
		{"a key of whom nobody knows", 0, tell().with(watched).
			keeps(5, 1, 0, "x", 1005).tries(900, 2).fails(910, 2, held, 1)},
		{"a key delivered late", 0, tell().with(watched).asks(0, 1).fails(10, 1, "no quorum", 0).
			keeps(5000, 1, 1, "x", 6000).tries(5100, 2).fails(5110, 2, held, 1)},

		{"itself, by another lock", 0, tell().with(reliable).asks(0, 1).holds(10, 1, "a", 900).tries(20, 1).fails(30, 1, held, 1)},
		{"itself, by another attempt", 0, tell().with(reliable).asks(0, 1).tries(20, 1).fails(30, 1, held, 1)},
		{"itself, by its own orphan", 1, tell().with(reliable).asks(0, 1).fails(10, 1, "no quorum", 0).tries(20, 1).fails(30, 1, held, 1)},
		{"itself, by nothing", 1, tell().with(reliable).tries(20, 1).fails(30, 1, held, 1)},
		{"itself, by a former process", 0, tell().with(reliable).asks(0, 1).crashes(10, 1).tries(20, 1).fails(30, 1, held, 1)},
		{"itself, by a process long gone", 1, tell().with(reliable).asks(0, 1).crashes(10, 1).tries(1071, 1).fails(1080, 1, held, 1)},
		{"itself, by what a network doubled", 0, tell().asks(0, 1).fails(10, 1, "no quorum", 0).tries(20, 1).fails(30, 1, held, 1)},
		{"no other failure needs a holder", 0, tell().tries(20, 2).fails(30, 2, "no quorum", 0)},
	} {
		t.Run(test.story, func(t *testing.T) {
			s := check.Skip(&test.s.History)
			require.Equal(t, test.wrong, s.Wrong.Count, "%v\n%+v", test.s, s)
		})
	}
}

func TestOfContendersThatBeginTogetherOneHolds(t *testing.T) {
	held := history.IsHeld
	start := func() *story { return tell().with(reliable).tries(2000, 1).tries(2010, 2).tries(2050, 3) }
	all := func(s *story, class string) *story {
		return s.fails(2060, 1, class, 2).fails(2061, 2, class, 3).fails(2062, 3, class, 1)
	}
	real := func(h *history.Header) { h.Exact = false }
	for _, test := range []struct {
		story         string
		groups, wrong int
		s             *story
	}{
		{"one holds", 1, 0, start().holds(2051, 1, "a", 2900).fails(2060, 2, held, 1).fails(2060, 3, held, 1)},
		{"all point at each other", 1, 1, all(start(), held)},
		{"none comes to a decision", 1, 1, all(start(), "no quorum")},
		{"none comes to a decision in real time", 0, 0, all(start().with(real), "no quorum")},
		{"all point at each other in real time", 1, 1, all(start().with(real), held)},
		{"one was cancelled", 0, 0, start().fails(2060, 1, held, 2).fails(2060, 2, "context", 0).fails(2060, 3, held, 1)},
		{"the network is not reliable", 0, 0, all(start().with(func(h *history.Header) { h.Reliable = false }), held)},
		{"one waits", 0, 0, all(tell().with(reliable).tries(2000, 1).asks(2010, 2).tries(2050, 3), held)},
		{"one begins later", 0, 0, all(tell().with(reliable).tries(2000, 1).tries(2010, 2).tries(2051, 3), held)},
		{"a key may be left from before", 0, 0, all(tell().with(reliable).asks(900, 1).fails(940, 1, "context", 0).tries(2000, 1).tries(2010, 2).tries(2050, 3), held)},
		{"no key can be left from before", 1, 1, all(tell().with(reliable).asks(900, 1).fails(939, 1, "context", 0).tries(2000, 1).tries(2010, 2).tries(2050, 3), held)},
		{"a node is down", 0, 0, all(tell().with(reliable).fault(100, "kill", 1, 0).tries(2000, 1).tries(2010, 2).tries(2050, 3), held)},
		{"a node is struck twice, and healed once", 0, 0, all(tell().with(reliable).fault(100, "kill", 1, 0).fault(200, "kill", 1, 0).heals(300, "kill", 1, 0).
			tries(2000, 1).tries(2010, 2).tries(2050, 3), held)},
		{"a node was down", 1, 1, all(tell().with(reliable).fault(100, "kill", 1, 0).heals(300, "kill", 1, 0).tries(2000, 1).tries(2010, 2).tries(2050, 3), held)},
		{"a contender is paused", 0, 0, all(tell().with(reliable).fault(100, "pause-client", 0, 2).tries(2000, 1).tries(2010, 2).tries(2050, 3), held)},
		{"somebody else is paused", 1, 1, all(tell().with(reliable).fault(100, "pause-client", 0, 4).tries(2000, 1).tries(2010, 2).tries(2050, 3), held)},
		{"a contender crashes", 0, 0, start().fails(2060, 1, held, 2).crashes(2061, 2).fails(2062, 3, held, 1)},
	} {
		t.Run(test.story, func(t *testing.T) {
			s := check.Skip(&test.s.History)
			require.Equal(t, test.groups, s.Groups, "%v\n%+v", test.s, s)
			require.Equal(t, test.wrong, s.Wrong.Count, "%v\n%+v", test.s, s)
		})
	}
}
