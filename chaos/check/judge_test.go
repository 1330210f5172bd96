package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
)

func quiet() *story {
	return tell().asks(0, 1).holds(10, 1, "a", 500).asks(20, 2).releases(100, 1, "a").holds(110, 2, "b", 600).releases(200, 2, "b")
}

func broken() *story {
	return tell().asks(0, 1).holds(10, 1, "a", 500).asks(20, 2).holds(50, 2, "b", 600).releases(100, 1, "a").releases(200, 2, "b")
}

// late is quiet but for a write that comes long after its lock's release.
func late() *story {
	return tell().asks(0, 1).holds(10, 1, "a", 500).asks(20, 2).releases(100, 1, "a").holds(110, 2, "b", 600).
		writes(150, 2, "b", 600, 1, 0).writes(160, 1, "a", 500, 2, 0).releases(200, 2, "b")
}

func TestTheVerdictFollowsFromThePlansClass(t *testing.T) {
	enough, tooMany := check.Floors{Grants: 2, Contended: 1}, check.Floors{Grants: 3}
	for _, test := range []struct {
		what   string
		class  string
		s      *story
		floors check.Floors
		want   check.Verdict
	}{
		{"quiet in model", history.InModel, quiet(), enough, check.AsPromised},
		{"quiet with slack", history.Slack, quiet(), enough, check.AsPromised},
		{"quiet out of model", history.OutOfModel, quiet(), enough, check.Unexpected},
		{"too quiet in model", history.InModel, quiet(), tooMany, check.ProvedNothing},
		{"too quiet out of model", history.OutOfModel, quiet(), tooMany, check.ProvedNothing},
		{"overlap in model", history.InModel, broken(), enough, check.Violation},
		{"overlap with slack", history.Slack, broken(), enough, check.Violation},
		{"overlap out of model", history.OutOfModel, broken(), enough, check.UnsafeDetected},
		{"overlap in a small run in model", history.InModel, broken(), tooMany, check.Violation},
		{"overlap in a small run out of model", history.OutOfModel, broken(), tooMany, check.UnsafeDetected},
		{"an unknown class is held to the promise", "whatever", broken(), enough, check.Violation},
		{"a stale write that loses an update, out of model", history.OutOfModel,
			late(), enough, check.UnsafeDetected},
		{"the same in model is no violation", history.InModel,
			late(), enough, check.AsPromised},
		{"a stale write without damage, out of model", history.OutOfModel,
			quiet().writes(210, 1, "a", 500, 1, 0), enough, check.Unexpected},
		{"a foreign key deleted in model", history.InModel, quiet().deletes(210, 1, "b", "a"), enough, check.Violation},
		{"a foreign key deleted out of model", history.OutOfModel, broken().deletes(210, 1, "b", "a"), enough, check.Violation},
		{"a key without TTL out of model", history.OutOfModel, broken().finds(210, 1, "b", 0), enough, check.Violation},
		{"goroutines left out of model", history.OutOfModel, broken().ends(210, 1), enough, check.Violation},
		{"an orphan in model", history.InModel, quiet().calm(300).finds(1400, 1, "c", 1500), enough, check.Violation},
		{"an orphan out of model", history.OutOfModel, broken().calm(300).finds(1400, 1, "c", 1500), enough, check.UnsafeDetected},
		{"stuck in model", history.InModel, quiet().healed(300).asks(300, 3).ends(5000, 0), enough, check.Violation},
		{"stuck out of model", history.OutOfModel, broken().healed(300).asks(300, 3).ends(5000, 0), enough, check.UnsafeDetected},
		{"a lie about the holder in model", history.InModel, quiet().asks(2000, 3).fails(2001, 3, history.IsHeld, 0), enough, check.Violation},
		{"events out of order", history.InModel, quiet().ends(0, 0), enough, check.ProvedNothing},
		{"clocks that break A1", history.InModel, quiet().measures(200, 1, 0, 0).measures(300, 1, 0, 50), enough, check.ProvedNothing},
		{"clocks that break A1, out of model", history.OutOfModel, broken().measures(200, 1, 0, 0).measures(300, 1, 0, 50), enough, check.UnsafeDetected},
	} {
		t.Run(test.what, func(t *testing.T) {
			test.s.Class = test.class
			r := check.Judge(&test.s.History, test.floors)
			require.Equal(t, test.want, r.Verdict, "%s\n%v\n%+v", r.Why, test.s, r)
			require.NotEmpty(t, r.Why)
			require.Equal(t, test.want == check.AsPromised || test.want == check.UnsafeDetected, r.Verdict.OK())
		})
	}
}

func TestJudgeDoesNotChangeTheHistory(t *testing.T) {
	s := broken().ends(0, 0)
	before := s.Hash()
	check.Judge(&s.History, check.Floors{})
	require.Equal(t, before, s.Hash())
}
