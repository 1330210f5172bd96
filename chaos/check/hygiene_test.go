package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
)

func TestWhatIsAnOrphan(t *testing.T) {
	for _, test := range []struct {
		story              string
		orphans, lingering int
		s                  *story
	}{
		{"in its time", 0, 1, tell().calm(2000).finds(3010, 1, "x", 3100)},
		{"after its time", 1, 0, tell().calm(2000).finds(3011, 1, "x", 3100)},
		{"before Calm", 0, 0, tell().finds(1900, 1, "x", 3100).calm(2000)},
		{"without Calm", 0, 0, tell().finds(9000, 1, "x", 9100)},
		{"still held", 0, 0, tell().asks(0, 1).holds(10, 1, "x", 4000).calm(2000).finds(3500, 1, "x", 3600)},
		{"after a heal", 0, 1, tell().fault(0, "kill", 1, 0).calm(2000).healed(2500).finds(3510, 1, "x", 3600)},
		{"long after a heal", 1, 0, tell().fault(0, "kill", 1, 0).calm(2000).healed(2500).finds(3511, 1, "x", 3600)},
		{"after a crash", 0, 1, tell().calm(2000).crashes(2500, 1).finds(3510, 1, "x", 3600)},
		{"after it was delivered", 0, 1, tell().calm(2000).keeps(3000, 1, 1, "x", 4000).finds(3900, 1, "x", 4000)},
		{"long after it was delivered", 1, 0, tell().calm(2000).keeps(3000, 1, 1, "x", 4000).finds(4011, 1, "x", 4100)},
		{"delivered elsewhere", 1, 0, tell().calm(2000).keeps(3000, 2, 1, "x", 4000).finds(3900, 1, "x", 4000)},

		// A reliable network: NodeTimeout + 1 s suffice, if the key lives longer.
		{"being undone", 0, 1, tell().with(reliable).with(longTTL).calm(9000).finds(10049, 1, "x", 11000)},
		{"should have been undone", 1, 0, tell().with(reliable).with(longTTL).calm(9000).finds(10050, 1, "x", 11000)},
		{"not reliable", 0, 1, tell().with(longTTL).calm(9000).finds(10050, 1, "x", 11000)},
		{"a fault shortly before", 0, 1, tell().with(reliable).with(longTTL).fault(4000, "kill", 1, 0).heals(5000, "kill", 1, 0).calm(9000).finds(10050, 1, "x", 11000)},
		{"a fault long before", 1, 0, tell().with(reliable).with(longTTL).fault(3000, "kill", 1, 0).heals(3900, "kill", 1, 0).calm(9000).finds(10050, 1, "x", 11000)},
		{"a crash shortly before", 0, 1, tell().with(reliable).with(longTTL).crashes(5000, 1).calm(9000).finds(10050, 1, "x", 11000)},
	} {
		t.Run(test.story, func(t *testing.T) {
			d := check.Hygiene(&test.s.History)
			require.Equal(t, test.orphans, d.Orphans.Count, "%v", test.s)
			require.Equal(t, test.lingering, d.Lingering, "%v", test.s)
		})
	}
}

func TestForeignKeysAndKeysWithoutTTLAndGoroutines(t *testing.T) {
	s := tell().
		keeps(10, 1, 1, "a", 1000).keeps(20, 2, 1, "a", 0).
		deletes(30, 1, "a", "a").deletes(40, 2, "a", "b").
		finds(50, 3, "c", 0).
		ends(100, 3)
	d := check.Hygiene(&s.History)
	require.Equal(t, 1, d.Foreign.Count)
	require.Equal(t, []string{"a", "b"}, d.Foreign.List[0].Tokens)
	require.Equal(t, 2, d.WithoutTTL.Count)
	require.Equal(t, 3, d.Goroutines)
}
