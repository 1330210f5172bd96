package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
)

func TestOverlapsAreFoundWithBothOwnersAndTheirTime(t *testing.T) {
	s := tell().
		asks(0, 1).asks(0, 2).
		holds(10, 1, "one", 500).
		holds(300, 2, "two", 900).
		releases(400, 1, "one").
		releases(800, 2, "two")
	found := check.Overlaps(&s.History)
	require.Equal(t, 1, found.Count)
	f := found.List[0]
	require.Equal(t, "job", f.Name)
	require.Equal(t, ms(300), f.From)
	require.Equal(t, ms(400), f.To)
	require.Equal(t, []int{1, 2}, f.Clients)
	require.Equal(t, []string{"one", "two"}, f.Tokens)
	require.Contains(t, f.Text, "client-1 (token one) and client-2 (token two) both believed for 100ms")
}

func TestWhatOverlapsAndWhatDoesNot(t *testing.T) {
	for _, test := range []struct {
		story    string
		overlaps int
		revivals int
		s        *story
	}{
		{"one after the other", 0, 0, tell().holds(0, 1, "a", 100).releases(50, 1, "a").holds(60, 2, "b", 200)},
		{"in the instant of the release", 0, 0, tell().holds(0, 1, "a", 100).holds(50, 2, "b", 200).releases(50, 1, "a")},
		{"in the instant of the end", 0, 0, tell().holds(0, 1, "a", 100).holds(100, 2, "b", 200)},
		{"just before the end", 1, 0, tell().holds(0, 1, "a", 100).holds(99, 2, "b", 200)},
		{"other locks", 0, 0, tell().holds(0, 1, "a", 100).elsewhere().holds(10, 2, "b", 200)},
		{"after the loss was seen", 0, 0, tell().holds(0, 1, "a", 100).loses(40, 1, "a").holds(60, 2, "b", 200)},
		{"before the loss was seen", 1, 0, tell().holds(0, 1, "a", 100).holds(39, 2, "b", 200).loses(40, 1, "a")},
		{"a loss seen after the end", 0, 0, tell().holds(0, 1, "a", 100).holds(101, 2, "b", 200).loses(140, 1, "a")},
		{"after the crash", 0, 0, tell().holds(0, 1, "a", 100).crashes(40, 1).holds(60, 2, "b", 200)},
		{"after somebody else's crash", 1, 0, tell().holds(0, 1, "a", 100).crashes(40, 3).holds(60, 2, "b", 200)},
		{"another process of the same client", 0, 0, tell().holds(0, 1, "a", 100).crashes(40, 1).holds(60, 1, "b", 200)},
		{"two tokens of one client", 1, 0, tell().holds(0, 1, "a", 100).holds(60, 1, "b", 200)},
		{"extended", 1, 0, tell().holds(0, 1, "a", 100).holds(50, 1, "a", 150).holds(120, 2, "b", 200)},
		{"the end moved back", 0, 0, tell().holds(0, 1, "a", 100).holds(50, 1, "a", 70).holds(80, 2, "b", 200)},
		{"the end moved into the past", 1, 0, tell().holds(0, 1, "a", 100).holds(40, 2, "b", 200).holds(50, 1, "a", 20)},
		{"somebody else's release", 1, 0, tell().holds(0, 1, "a", 100).releases(40, 2, "a").holds(60, 2, "b", 200)},
		{"three at once", 3, 0, tell().holds(0, 1, "a", 100).holds(10, 2, "b", 100).holds(20, 3, "c", 100)},
		{"one token, two clients", 1, 0, tell().holds(0, 1, "a", 100).holds(60, 2, "a", 200)},
		{"held again after the end", 0, 1, tell().holds(0, 1, "a", 100).holds(101, 1, "a", 200)},
		{"held again after the end, beside another", 1, 1, tell().holds(0, 1, "a", 100).holds(100, 2, "b", 200).holds(101, 1, "a", 200)},
		{"held again after the release", 0, 1, tell().holds(0, 1, "a", 100).releases(50, 1, "a").holds(51, 1, "a", 200)},
		{"extended in the instant of the release", 0, 0, tell().holds(0, 1, "a", 100).releases(50, 1, "a").holds(50, 1, "a", 200).holds(60, 2, "b", 100)},
		{"a token granted twice", 0, 1, tell().asks(0, 1).holds(0, 1, "a", 100).releases(50, 1, "a").asks(60, 1).holds(70, 1, "a", 200)},
		{"a token granted twice at once", 1, 1, tell().asks(0, 1).holds(0, 1, "a", 100).asks(60, 1).holds(70, 1, "a", 200)},
		{"nothing", 0, 0, tell()},
	} {
		t.Run(test.story, func(t *testing.T) {
			require.Equal(t, test.overlaps, check.Overlaps(&test.s.History).Count, "overlaps of\n%v", test.s)
			require.Equal(t, test.revivals, check.Revivals(&test.s.History).Count, "revivals of\n%v", test.s)
			require.Equal(t, test.overlaps > 0, check.Porcupine(&test.s.History).Result == check.Illegal, "porcupine on\n%v", test.s)
		})
	}
}

func TestARecordingThatComesLateInRealTimeIsNoRevival(t *testing.T) {
	for _, exact := range []bool{true, false} {
		ended := tell().with(func(h *history.Header) { h.Exact = exact }).
			holds(0, 1, "a", 100).holds(140, 1, "a", 300).holds(200, 2, "b", 300)
		require.Equal(t, 1, check.Overlaps(&ended.History).Count, "it was extended all the same")
		released := tell().with(func(h *history.Header) { h.Exact = exact }).
			holds(0, 1, "a", 100).releases(50, 1, "a").holds(90, 1, "a", 300)
		if exact {
			require.Equal(t, 1, check.Revivals(&ended.History).Count)
			require.Equal(t, 1, check.Revivals(&released.History).Count)
		} else {
			require.Zero(t, check.Revivals(&ended.History).Count)
			require.Zero(t, check.Revivals(&released.History).Count)
		}
	}
}

func TestManyOverlapsAreAllCountedAndSomeDescribed(t *testing.T) {
	s := tell()
	for i := range 1000 {
		s.holds(i, i+1, string(rune('a'+i)), 5000)
	}
	found := check.Overlaps(&s.History)
	require.Equal(t, 1000*999/2, found.Count)
	require.Len(t, found.List, check.MaxFindings)
}
