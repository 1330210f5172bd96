package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
)

func TestWhichLostUpdatesAreViolations(t *testing.T) {
	for _, test := range []struct {
		story                   string
		lost, stale, violations int
		s                       *story
	}{
		{"one after the other", 0, 0, 0, tell().holds(0, 1, "a", 100).writes(10, 1, "a", 100, 1, 0).writes(20, 1, "a", 100, 2, 1)},
		{"an update lost between two in time", 1, 0, 1, tell().
			holds(0, 1, "a", 100).holds(10, 2, "b", 100).
			writes(20, 1, "a", 100, 1, 0).writes(30, 2, "b", 100, 2, 0)},
		{"the writer was late", 1, 1, 0, tell().
			holds(0, 1, "a", 100).holds(110, 2, "b", 300).
			writes(120, 2, "b", 300, 1, 0).writes(130, 1, "a", 100, 2, 0)},
		{"what it overwrote was late", 1, 1, 0, tell().
			holds(0, 1, "a", 100).holds(110, 2, "b", 300).
			writes(120, 1, "a", 100, 1, 0).writes(130, 2, "b", 300, 2, 0)},
		{"of two that it overwrote one was late", 1, 1, 1, tell().
			holds(0, 1, "a", 100).holds(110, 2, "b", 300).holds(110, 3, "c", 300).
			writes(120, 1, "a", 100, 1, 0).writes(125, 3, "c", 300, 2, 1).writes(130, 2, "b", 300, 3, 0)},
		{"late after a release", 1, 1, 0, tell().
			holds(0, 1, "a", 100).releases(20, 1, "a").holds(30, 2, "b", 100).
			writes(40, 2, "b", 100, 1, 0).writes(50, 1, "a", 100, 2, 0)},
		{"late after a crash", 1, 1, 0, tell().
			holds(0, 1, "a", 100).crashes(20, 1).holds(30, 2, "b", 100).
			writes(40, 2, "b", 100, 1, 0).writes(50, 1, "a", 100, 2, 0)},
		{"late by its own account", 0, 1, 0, tell().holds(0, 1, "a", 100).writes(60, 1, "a", 50, 1, 0)},
		{"in the instant of its end", 0, 0, 0, tell().holds(0, 1, "a", 100).writes(100, 1, "a", 100, 1, 0)},
		{"under no lock", 0, 0, 1, tell().writes(10, 1, "a", 100, 1, 0)},
		{"before the grant", 0, 0, 1, tell().writes(10, 1, "a", 100, 1, 0).holds(20, 1, "a", 100)},
		{"under another's token", 0, 0, 1, tell().holds(0, 1, "a", 100).writes(10, 2, "a", 100, 1, 0)},
		{"under another lock", 0, 0, 1, tell().holds(0, 1, "a", 100).elsewhere().writes(10, 1, "a", 100, 1, 0)},
		{"a store that lost count", 0, 0, 1, tell().holds(0, 1, "a", 100).writes(10, 1, "a", 100, 1, 0).writes(20, 1, "a", 100, 3, 2)},
		{"based on the future", 1, 0, 1, tell().holds(0, 1, "a", 100).writes(10, 1, "a", 100, 1, 7)},
		{"no end given", 0, 0, 0, tell().holds(0, 1, "a", 100).writes(10, 1, "a", 0, 1, 0)},
	} {
		t.Run(test.story, func(t *testing.T) {
			d := check.Store(&test.s.History)
			require.Equal(t, test.lost, d.Lost, "lost in\n%v", test.s)
			require.Equal(t, test.stale, d.Stale, "stale in\n%v", test.s)
			require.Equal(t, test.violations, d.Violations.Count, "violations in\n%v\n%v", test.s, d.Violations.List)
		})
	}
}

func TestALostUpdateNamesBothWriters(t *testing.T) {
	s := tell().
		holds(0, 1, "a", 100).holds(10, 2, "b", 100).
		writes(20, 1, "a", 100, 1, 0).writes(30, 2, "b", 100, 2, 0)
	f := check.Store(&s.History).Violations.List[0]
	require.Equal(t, []int{2, 1}, f.Clients)
	require.Equal(t, []string{"b", "a"}, f.Tokens)
	require.Equal(t, ms(20), f.From)
	require.Equal(t, ms(30), f.To)
	require.Equal(t, `client-2 wrote version 2 of "job", based on 0, and lost version 1 of client-1: both in time`, f.Text)
}
