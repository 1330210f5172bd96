package live_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/skew"
)

// Servers expire keys by their wall clock. One whose clock is set costs a vote, so
// many that the others are no quorum cost the lock, and its holder learns of it from
// its next extension.
func TestB60AServerWhoseClockIsSetCostsAVote(t *testing.T) {
	t.Parallel()
	skew.Need(t)
	for _, c := range []struct {
		jump    time.Duration
		servers int // of three
		lost    bool
	}{
		{time.Hour, 1, false},
		{time.Hour, 2, true},
		{-time.Hour, 1, false},
		{-time.Hour, 3, false}, // keys live longer than their holder
	} {
		var masters []master
		var clocks []*skew.Control
		for range 3 {
			clock, err := skew.New(t.TempDir())
			require.NoError(t, err)
			t.Cleanup(func() { _ = clock.Close() })
			clocks = append(clocks, clock)
			masters = append(masters, startServers(t, 1, process.Config{Env: clock.Env()})...)
		}
		client, other := connected(t, masters, patient()), connected(t, masters, patient())
		lock := acquire(t, client, "job", time.Minute)
		eventually(t, bound, "all nodes hold it", func() bool { return holders(masters, lock) == 3 })
		for i := range c.servers {
			clocks[i].Jump(c.jump)
		}
		require.NoError(t, lock.Err(), "nobody has told")

		next, err := other.TryAcquire(context.Background(), "job", time.Minute)
		if c.lost {
			require.NoError(t, err, "out of model: a second holder")
			require.ErrorIs(t, lock.Extend(context.Background(), time.Minute), redlock.ErrLost)
			<-lock.Done()
			require.ErrorIs(t, lock.Err(), redlock.ErrLost)
			require.NoError(t, next.Extend(context.Background(), time.Minute))
			_ = lock.Release(context.Background())
			lock = next
		} else {
			require.ErrorIs(t, err, redlock.ErrHeld, "%+v", c)
			// The other's key may still be where ours ran out, when an extension looks.
			eventually(t, bound, "the one that forgot is healed", func() bool {
				require.NoError(t, lock.Extend(context.Background(), time.Minute))
				return holders(masters, lock) == 3
			})
		}
		require.NoError(t, lock.Release(context.Background()))
		eventuallyClean(t, masters, bound)
	}
}

// The wall clock of a client moves by two hours between any two readings, and its
// lock lives exactly as long as another.
func TestB60AClientWhoseClockIsSetNoticesNothing(t *testing.T) {
	process.Need(t)
	if testing.Short() {
		t.Skip("compiles the standard library anew")
	}
	masters := startServers(t, 3, process.Config{})
	client := filepath.Join(t.TempDir(), "client")
	build, err := exec.Command("go", "build", "-overlay", jumpingTime(t), "-o", client, "./testdata/wallclock").CombinedOutput()
	require.NoError(t, err, "%s", build)
	said, err := exec.Command(client, addrs(masters)...).CombinedOutput()
	require.NoError(t, err, "%s", said)
	eventuallyClean(t, masters, bound)
}

// jumpingTime returns an overlay in which time.Now's wall clock is an hour ahead
// and an hour behind by turns, and its monotonic clock as ever.
func jumpingTime(t *testing.T) (overlay string) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	require.NoError(t, err)
	changed := string(source)
	for _, change := range [][2]string{
		{"\nfunc Now() Time {\n", "\nfunc steadyNow() Time {\n"},
		{"\nimport (\n", "\nimport (\n\t\"sync/atomic\"\n"},
	} {
		require.Contains(t, changed, change[0], "this Go's package time is unlike the one that this test knows")
		changed = strings.Replace(changed, change[0], change[1], 1)
	}
	changed += `
var readings atomic.Uint64

func Now() Time {
	t := steadyNow()
	switch {
	case t.wall&hasMonotonic == 0:
	case readings.Add(1)%2 == 0:
		t.wall += 3600 << nsecShift
	default:
		t.wall -= 3600 << nsecShift
	}
	return t
}
`
	dir := t.TempDir()
	file := filepath.Join(dir, "time.go")
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	require.NoError(t, err)
	overlay = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	return overlay
}
