package command_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/bench/internal/command"
	"github.com/quorumlock/redlock/bench/internal/report"
	"github.com/quorumlock/redlock/bench/internal/scenario"
)

// run runs a command with one scenario and returns its status and what it
// printed.
func run(t *testing.T, do func(ctx context.Context, e *scenario.Env) error, args ...string) (status int, out, progress string) {
	t.Helper()
	b := command.Bench{
		Name: "client", Use: "go run ./bench", Out: t.TempDir(), Rounds: 5,
		Scenarios: []scenario.Scenario{{Name: "one", Title: "The only one", Run: do}},
	}
	var o, p bytes.Buffer
	status = b.Main(t.Context(), args, &o, &p)
	return status, o.String(), p.String()
}

func measures(v float64) func(context.Context, *scenario.Env) error {
	return func(_ context.Context, e *scenario.Env) error {
		e.Say("measuring")
		e.Add(report.Sample{Quantity: "commands", Rounds: []float64{v}, Want: report.Equals(3)})
		return nil
	}
}

func TestStatusIsZeroIfAllIsAsPredicted(t *testing.T) {
	folder := t.TempDir()
	status, out, progress := run(t, measures(3), "-out", folder, "-quick")
	assert.Equal(t, 0, status, out)
	assert.Contains(t, out, "The only one")
	assert.Contains(t, out, "all 1 predictions are right")
	assert.Contains(t, progress, "measuring")
	page, err := os.ReadFile(filepath.Join(folder, "benchmarks.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "A quick run")
}

func TestStatusIsOneIfTheServersCountedSomethingElse(t *testing.T) {
	status, out, _ := run(t, measures(4))
	assert.Equal(t, 1, status)
	assert.Contains(t, out, "DIFFERENT: The only one: commands: 4, want = 3")
}

func TestStatusIsTwoIfItCouldNotMeasure(t *testing.T) {
	status, _, progress := run(t, func(context.Context, *scenario.Env) error { return errors.New("no servers") })
	assert.Equal(t, 2, status)
	assert.Contains(t, progress, "could not measure: one: no servers")
}

func TestStatusIsTwoIfTheFilesCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	status, _, progress := run(t, measures(3), "-out", file)
	assert.Equal(t, 2, status)
	assert.Contains(t, progress, "could not measure")
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-fast"}, "-fast"},
		{[]string{"quick"}, "quick"},
		{[]string{"-rounds", "-1"}, "-rounds -1"},
		{[]string{"-rounds", "x"}, "rounds"},
		{[]string{"-nodes", "moon"}, "moon"},
		{[]string{"-only", "two"}, `"two"; there are: one`},
		{[]string{"-out", ""}, "-out"},
	} {
		status, out, progress := run(t, measures(3), c.args...)
		assert.Equal(t, 2, status, c.args)
		assert.Empty(t, out, c.args)
		assert.Contains(t, progress, c.want)
		assert.Contains(t, progress, "-h")
	}
}

func TestHelpNamesFlagsAndScenarios(t *testing.T) {
	status, out, _ := run(t, measures(3), "-h")
	assert.Equal(t, 0, status)
	for _, want := range []string{"-quick", "-rounds", "-out", "-only", "-nodes", "one", "The only one", "Exit status"} {
		assert.Contains(t, out, want)
	}
}
