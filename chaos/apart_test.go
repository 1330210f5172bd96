package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/process"
)

// commandVariable makes this program the command instead of its tests.
const commandVariable = "REDLOCK_CHAOS_COMMAND"

// command runs the command as a process: its goroutines, which a run counts, are
// not those of other tests.
func command(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandVariable+"=1")
	data, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(data)
}

// Holders that are processes of their own are stopped by the kernel for longer
// than their lock is valid. What they write when they wake is late, for nothing
// stands between the look before it and the write; but no look afterwards finds
// the lock valid.
func TestStoppedProcessWritesLateOnceAndThenKnowsOfItsLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	process.Need(t)
	folder := filepath.Join(t.TempDir(), "report")
	status, out := command(t, "-backend", "process", "-client-processes", "-plan", "long-pause", "-out", folder)
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "UNSAFE BY DESIGN, DETECTED: plan long-pause")
	f, err := os.Open(filepath.Join(folder, "history.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	h, err := history.Decode(f)
	require.NoError(t, err)
	late, stopped := guarded(t, h)
	require.Positive(t, stopped, "locks whose end passed while their holder was stopped")
	require.Positive(t, late, "late writes")
	t.Logf("%d locks ended while their holder was stopped, %d late writes\n%s", stopped, late, out)
}

// guarded requires of every lock whose end passed while its holder was stopped
// that nothing was read under it afterwards, and that nothing was written but
// what had been looked after before.
func guarded(t *testing.T, h *history.History) (late, stopped int) {
	type holding struct {
		client int
		token  string
	}
	ends, over := map[holding]time.Duration{}, map[holding]time.Duration{}
	stalls := map[int]time.Duration{}
	for i := range h.Events {
		e := &h.Events[i]
		key := holding{e.Client, e.Token}
		switch e.Kind {
		case history.Holds:
			ends[key] = e.Until
		case history.Release, history.Lost, history.Released:
			delete(ends, key)
		case history.Stall:
			stalls[e.Client] = e.At
		case history.Wake:
			for key, end := range ends {
				if key.client == e.Client && end > stalls[e.Client] && end < e.At {
					over[key] = end
					stopped++
				}
			}
		case history.Read, history.Write:
			end, ok := over[key]
			if !ok {
				continue
			}
			require.Equal(t, history.Write, e.Kind, "at %v, %v after the end of a lock", e.At, e.At-end)
			require.Less(t, e.Looked, end, "at %v, %v after the end of a lock", e.At, e.At-end)
			late++
		}
	}
	return late, stopped
}

// Whatever a process that is killed has said counts, and nobody believes in it
// any longer.
func TestKilledProcessesLeaveNothingThatIsNotExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	process.Need(t)
	status, out := command(t, "-backend", "process", "-client-processes", "-plan", "crash", "-out", filepath.Join(t.TempDir(), "report"))
	require.Equal(t, exitAsPromised, status, out)
	t.Log(out)
}
