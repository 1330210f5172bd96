package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
)

// prompt makes a story in which clients can know of all that they leave.
func prompt() *story {
	return tell().with(watched).with(reliable).with(longTTL).with(func(h *history.Header) { h.Prompt = true })
}

// NodeTimeout is 50 ms, so a key must be gone 1.1 s after it was nobody's.
func TestWhatAClientMustDelete(t *testing.T) {
	for _, test := range []struct {
		story string
		left  int
		s     *story
	}{
		{"undone in time", 0, prompt().keeps(10, 1, 1, "x", 3010).deletes(1110, 1, "x", "x").calm(9000)},
		{"undone late", 1, prompt().keeps(10, 1, 1, "x", 3010).deletes(1111, 1, "x", "x").calm(9000)},
		{"left to run out", 1, prompt().keeps(10, 1, 1, "x", 3010).calm(9000)},
		{"with a short TTL", 0, prompt().keeps(10, 1, 1, "x", 1000).calm(9000)},
		{"replaced", 0, prompt().keeps(10, 1, 1, "x", 3010).keeps(500, 1, 2, "y", 3500).deletes(600, 1, "y", "y").calm(9000)},
		{"shortly before Calm", 0, prompt().keeps(10, 1, 1, "x", 3010).calm(1000)},

		{"held", 0, prompt().asks(0, 1).keeps(5, 1, 1, "x", 3010).holds(10, 1, "x", 2990).loses(2900, 1, "x").calm(9000)},
		{"released, and kept", 1, prompt().asks(0, 1).keeps(5, 1, 1, "x", 3010).holds(10, 1, "x", 2990).releases(100, 1, "x").
			then(110, history.Event{Kind: history.Released, Client: 1, Name: "job", Token: "x"}).calm(9000)},
		{"released, and deleted in time", 0, prompt().asks(0, 1).keeps(5, 1, 1, "x", 3010).holds(10, 1, "x", 2990).releases(100, 1, "x").
			then(110, history.Event{Kind: history.Released, Client: 1, Name: "job", Token: "x"}).deletes(1210, 1, "x", "x").calm(9000)},

		{"a fault meanwhile", 0, prompt().keeps(10, 1, 1, "x", 3010).fault(900, "kill", 2, 0).heals(2000, "kill", 2, 0).calm(9000)},
		{"a fault of a client", 1, prompt().keeps(10, 1, 1, "x", 3010).fault(900, "pause-client", 0, 2).heals(2000, "pause-client", 0, 2).calm(9000)},
		{"long after a fault", 1, prompt().keeps(10, 1, 1, "x", 3010).fault(900, "kill", 2, 0).heals(1000, "kill", 2, 0).calm(9000)},
		{"its client crashed", 0, prompt().keeps(10, 1, 1, "x", 3010).crashes(100, 1).calm(9000)},
		{"another crashed", 1, prompt().keeps(10, 1, 1, "x", 3010).crashes(100, 2).calm(9000)},

		{"messages may be lost", 0, prompt().with(func(h *history.Header) { h.Reliable = false }).keeps(10, 1, 1, "x", 3010).calm(9000)},
		{"messages may be doubled", 0, prompt().with(func(h *history.Header) { h.Prompt = false }).keeps(10, 1, 1, "x", 3010).calm(9000)},
	} {
		t.Run(test.story, func(t *testing.T) {
			require.Equal(t, test.left, check.Undone(&test.s.History).Count, "%v", test.s)
		})
	}
}

func TestAnOwnOrphanIsNoExcuseWhereTheClientKnowsOfIt(t *testing.T) {
	about := func(s *story) int {
		s.fault(50, "late-deliver", 1, 0).heals(90, "late-deliver", 1, 0).
			keeps(100, 1, 1, "x", 3100).asks(200, 1).fails(210, 1, history.IsHeld, 1)
		return check.Skip(&s.History).Wrong.Count
	}
	require.Equal(t, 1, about(prompt()))
	require.Equal(t, 0, about(prompt().with(func(h *history.Header) { h.Prompt = false })))
}
