package quorum_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/quorumlock/redlock/quorum"
	"github.com/stretchr/testify/require"
)

func TestMajorityIsMoreThanHalfOfTheVoters(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4, 9: 5, 63: 32, 64: 33} {
		require.Equal(t, want, quorum.Majority(n), "of %d", n)
	}
}

func TestAnyTwoMajoritiesShareAMember(t *testing.T) {
	for n := 1; n <= 11; n++ {
		sets := setsOf(n, quorum.Majority(n))
		for _, a := range sets {
			for _, b := range sets {
				if a&b == 0 {
					t.Fatalf("n=%d: majorities %b and %b share no member", n, a, b)
				}
			}
		}
	}
}

func TestNothingSmallerThanAMajorityAlwaysSharesAMember(t *testing.T) {
	for n := 2; n <= 11; n++ {
		first, disjoint := uint(1)<<(quorum.Majority(n)-1)-1, false
		for _, b := range setsOf(n, quorum.Majority(n)-1) {
			disjoint = disjoint || first&b == 0
		}
		require.True(t, disjoint, "any two sets of %d of %d share a member", quorum.Majority(n)-1, n)
	}
}

// setsOf returns all sets of size members out of n, as bits.
func setsOf(n, size int) []uint {
	var sets []uint
	for set := range uint(1) << n {
		if bits.OnesCount(set) == size {
			sets = append(sets, set)
		}
	}
	return sets
}

func TestMajorityRefusesAnUnusableNumberOfVoters(t *testing.T) {
	for _, n := range []int{-1, 0, quorum.MaxVoters + 1} {
		require.PanicsWithValue(t, fmt.Sprintf("quorum: %d voters, want 1 to 64", n), func() { quorum.Majority(n) })
	}
}

func TestVotesAndDecisionsHaveNames(t *testing.T) {
	for v, want := range map[quorum.Vote]string{
		0: "Vote(0)", quorum.Yes: "yes", quorum.No: "no", quorum.Fault: "fault", quorum.Late: "late", 5: "Vote(5)",
	} {
		require.Equal(t, want, v.String())
	}
	for d, want := range map[quorum.Decision]string{
		quorum.Open: "open", quorum.Won: "won", quorum.Lost: "lost", 3: "Decision(3)",
	} {
		require.Equal(t, want, d.String())
	}
}
