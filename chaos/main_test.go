package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/report"
	"github.com/quorumlock/redlock/chaos/simulate"
	"github.com/quorumlock/redlock/chaos/traffic"
)

func TestMain(m *testing.M) {
	if simulate.IsWorker() {
		simulate.Work()
	}
	if traffic.IsClient() {
		traffic.Client()
	}
	if os.Getenv(commandVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// chaos runs the command in this process.
func chaos(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if !strings.Contains(strings.Join(args, " "), "-out") {
		args = append(args, "-out", filepath.Join(t.TempDir(), "report"))
	}
	s, status, done := parse(args, &stdout, &stderr)
	if !done {
		var err error
		if status, err = s.run(context.Background()); err != nil {
			stdout.WriteString(err.Error())
			status = exitCannotRun
		}
	}
	return status, stdout.String() + stderr.String()
}

func TestBadFlagsAreRefusedWithTheRule(t *testing.T) {
	for args, want := range map[string]string{
		"-backend cloud":             "want one of embedded, sim, process",
		"-nodes 4":                   "want 3, 5 or 7",
		"-nodes x":                   "invalid value",
		"-clients 1":                 "want 2 to 20",
		"-duration 1s":               "want 5 s or more",
		"-schedules 10":              "want a number above 0 and sim",
		"-plan nonsense":             "is unknown, see -list",
		"-faults kill,nonsense":      `"nonsense" is unknown`,
		"-plan calm -matrix":         "want one of them",
		"-plan calm -duration 10s":   "is for the default attack",
		"-servers valkey":            "want process",
		"-client-processes -matrix":  "want a backend in real time",
		"-nonsense":                  "flag provided but not defined",
		"nonsense":                   `unknown argument "nonsense"`,
		"-replay no/such/file":       "no such file",
		"-replay main_test.go":       "main_test.go",
		"-backend sim -schedules -1": "want a number above 0",
		"-image x":                   "want docker",
		"-backend urls":              "with 0 -urls",
		"-urls redis://h":            "-backend embedded with 1 -urls",
		"-yes":                       "want urls",
		"-backend urls -urls redis://a,redis://b":                    "want 3, 5 or 7",
		"-backend urls -nodes 5 -urls redis://a,redis://b,redis://c": "-nodes 5 with 3 -urls",
		"-backend process -servers no-such-server":                   "executable file not found",
	} {
		status, out := chaos(t, strings.Fields(args)...)
		require.Equal(t, exitCannotRun, status, "%s\n%s", args, out)
		require.Contains(t, out, want, args)
	}
}

func TestHelpSaysWhatTheExitStatusMeans(t *testing.T) {
	status, out := chaos(t, "-h")
	require.Equal(t, exitAsPromised, status)
	require.Contains(t, out, "0 as promised, 1 violation, 2 could not run, 3 proved nothing")
}

func TestListNamesEveryFaultAndPlan(t *testing.T) {
	t.Parallel()
	status, out := chaos(t, "-list")
	require.Equal(t, exitAsPromised, status)
	for _, f := range plan.Faults {
		require.Contains(t, out, f.Name)
	}
	for _, m := range plan.Catalog {
		require.Contains(t, out, m.Name)
	}
}

func TestASimulatedPlanCanBeReplayedFromItsReport(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "report")
	status, out := chaos(t, "-backend", "sim", "-plan", "clock-jump", "-seed", "7", "-out", folder)
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "UNSAFE BY DESIGN, DETECTED")
	for _, file := range []string{report.SummaryFile, report.HistoryFile, report.TimelineFile, report.PorcupineFile} {
		require.FileExists(t, filepath.Join(folder, file))
	}
	first := summary(t, folder)
	require.Positive(t, first.Counts.Overlaps)

	again := filepath.Join(t.TempDir(), "again")
	status, out = chaos(t, "-backend", "sim", "-replay", filepath.Join(folder, report.HistoryFile), "-out", again)
	require.Equal(t, exitAsPromised, status, out)
	require.Equal(t, first.History, summary(t, again).History, "the hash of the history")
}

func TestAPlanThatASimulationCannotDoIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	maker, _ := plan.Named("calm")
	p := maker.Make(1, 3)
	p.Steps = []plan.Step{{Fault: plan.Cut, At: time.Second, For: time.Second, Nodes: []int{1}}}
	data, err := json.Marshal(p)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o666))
	for _, backend := range []string{"sim", "embedded"} {
		status, out := chaos(t, "-backend", backend, "-replay", path)
		require.Equal(t, exitCannotRun, status, out)
		require.Contains(t, out, "cut: not possible on this backend: the nodes have no network of their own")
	}
}

func summary(t *testing.T, folder string) (s report.Summary) {
	data, err := os.ReadFile(filepath.Join(folder, report.SummaryFile))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &s))
	return s
}

func TestSimulatedSchedulesAreAsPromised(t *testing.T) {
	t.Parallel()
	count := "2000"
	if testing.Short() || raceEnabled {
		count = "50"
	}
	status, out := chaos(t, "-backend", "sim", "-schedules", count)
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "overlaps 0")
	t.Log(out)
}

func TestTheMatrixIsAsPromised(t *testing.T) {
	t.Parallel()
	status, out := chaos(t, "-matrix", "-nodes", "3")
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "every line is as promised")
}

// The real client, go-redis and the scripts, in real time.
// Not beside tests that take all processors: nodes that do not get one do not answer
// in time, which the promise does not count on.
func TestAShortAttackOnEmbeddedNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	folder := filepath.Join(t.TempDir(), "report")
	status, out := chaos(t, "-duration", "5s", "-out", folder)
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "AS PROMISED: plan attack")
	require.Contains(t, out, "UNSAFE BY DESIGN, DETECTED: plan clock-jump")
	require.Contains(t, out, "clock of")
	require.Equal(t, "attack", summary(t, filepath.Join(folder, "attack")).Plan)
	require.Equal(t, "clock-jump", summary(t, filepath.Join(folder, "clock-jump")).Plan)
}

func TestAnInterruptedRunSaysSo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s, _, done := parse([]string{"-duration", "30s", "-out", filepath.Join(t.TempDir(), "report")}, &out, &out)
	require.False(t, done)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := s.run(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// A violation is made smaller: the plan that is left still shows it.
func TestAViolationIsShrunk(t *testing.T) {
	t.Parallel()
	maker, _ := plan.Named("restart-forget")
	p := maker.Make(1, 3)
	p.Class, p.Breaks = plan.InModel, "" // a lie, so that it counts as a violation
	job := simulate.Job{Data: &p, First: 1, Count: 1}
	var bad simulate.Result
	require.NoError(t, simulate.Start(context.Background(), job, func(r simulate.Result) { bad = r }))
	require.Equal(t, exitViolation, exitOf(bad.Verdict))

	path, err := shrink(context.Background(), t.TempDir(), &p, &bad)
	require.NoError(t, err)
	smaller, seed, err := readPlan(path)
	require.NoError(t, err)
	require.Equal(t, uint64(1), seed)
	require.Less(t, len(smaller.Steps), len(p.Steps))
	require.NoError(t, simulate.Start(context.Background(), simulate.Job{Data: smaller, First: 1, Count: 1},
		func(r simulate.Result) { require.Equal(t, bad.Verdict, r.Verdict) }))
}
