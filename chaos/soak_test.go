package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/report"
)

// What a soak leaves, in memory and on disk, is one round, however many there
// were, and a line for each.
func TestSoakIsJudgedRoundByRound(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	process.Need(t)
	folder := filepath.Join(t.TempDir(), "report")
	status, out := command(t, "-backend", "process", "-clients", "2", "-duration", "20s", "-round", "10s", "-out", folder)
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "2 rounds in ")
	require.Contains(t, out, "AS PROMISED: soak of 20s, seed 1 (exit status 0)")

	rounds, err := os.Open(filepath.Join(folder, report.RoundsFile))
	require.NoError(t, err)
	defer rounds.Close()
	var last report.SoakRound
	number := 0
	for lines := bufio.NewScanner(rounds); lines.Scan(); {
		number++
		last = report.SoakRound{}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &last))
		require.Equal(t, number, last.Round)
		require.Equal(t, exitAsPromised, last.Exit)
		require.Positive(t, last.Counts.Grants)
	}
	require.Equal(t, 2, number)

	f, err := os.Open(filepath.Join(folder, report.HistoryFile))
	require.NoError(t, err)
	defer f.Close()
	p, seed, err := readPlan(f.Name())
	require.NoError(t, err)
	require.Equal(t, last.Seed, seed, "the report is that of the last round")
	require.Equal(t, "soak", p.Name)
	events := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		events++
	}
	require.Equal(t, last.Events, events-1, "lines after the header")
}

func TestSoakWhoseUseGrowsIsAViolation(t *testing.T) {
	line := func(round int, own, clients report.Use) *report.SoakRound {
		return &report.SoakRound{Round: round, Own: own, Clients: clients}
	}
	const mb = 1 << 20
	k := &soak{}
	require.Empty(t, k.grown(line(1, report.Use{Goroutines: 150, Heap: 9 * mb}, report.Use{Goroutines: 12, Heap: mb})))
	require.Empty(t, k.grown(line(2, report.Use{Goroutines: 150, Heap: 8 * mb}, report.Use{Goroutines: 7, Heap: mb})))
	require.Empty(t, k.grown(line(3, report.Use{Goroutines: 150, Heap: 10 * mb}, report.Use{Goroutines: 14, Heap: 2 * mb})))
	require.Contains(t, k.grown(line(4, report.Use{Heap: 22 * mb}, report.Use{})), "memory at rest has grown from 9437184 bytes to 23068672")
	require.Contains(t, k.grown(line(4, report.Use{}, report.Use{Heap: 10 * mb})), "a client's memory at rest has grown")
	require.Contains(t, k.grown(line(4, report.Use{}, report.Use{Goroutines: 29})), "a client's goroutines at rest have grown from 12 to 29")
}
