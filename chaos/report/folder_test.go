package report_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/report"
)

func files(t *testing.T, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func page(w io.Writer) error {
	_, err := io.WriteString(w, "<html></html>")
	return err
}

func TestAReportIsAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "out")
	folder, err := report.OpenFolder(path)
	require.NoError(t, err)
	run := kleppmann()
	_, err = folder.Write(run, page)
	require.NoError(t, err)
	assert.Equal(t, []string{"history.jsonl", "porcupine.html", "summary.json", "timeline.svg"}, files(t, path))

	written, err := os.Open(filepath.Join(path, report.HistoryFile))
	require.NoError(t, err)
	defer written.Close()
	h, err := history.Decode(written)
	require.NoError(t, err)
	assert.Equal(t, run.History, h)

	var sum report.Summary
	content, err := os.ReadFile(filepath.Join(path, report.SummaryFile))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &sum))
	assert.Equal(t, "node-clock-jump", sum.Plan)
	assert.Equal(t, run.History.Hash(), sum.History)
	assert.Len(t, sum.Findings, 2)

	svg, err := os.ReadFile(filepath.Join(path, report.TimelineFile))
	require.NoError(t, err)
	assert.NotEmpty(t, parse(t, svg))
}

func TestAReportReplacesAnEarlierOne(t *testing.T) {
	path := t.TempDir()
	folder, err := report.OpenFolder(path)
	require.NoError(t, err)
	_, err = folder.Write(kleppmann(), page)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(path, "timeline.svg.part"), nil, 0o600)) // interrupted
	folder, err = report.OpenFolder(path)
	require.NoError(t, err)
	sum, err := folder.Write(calm(), nil)
	require.NoError(t, err)
	assert.Equal(t, "calm", sum.Plan)
	assert.Equal(t, []string{"history.jsonl", "summary.json", "timeline.svg"}, files(t, path), "no page of another run")
}

func TestAFailedReportHasNoSummary(t *testing.T) {
	path := t.TempDir()
	folder, err := report.OpenFolder(path)
	require.NoError(t, err)
	_, err = folder.Write(kleppmann(), page)
	require.NoError(t, err)
	broken := errors.New("broken")
	_, err = folder.Write(calm(), func(io.Writer) error { return broken })
	require.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, filepath.Join(path, "porcupine.html"))
	assert.NotContains(t, files(t, path), "summary.json")
	_, err = report.OpenFolder(path)
	require.NoError(t, err, "it is still ours")
}

func TestSomebodyElsesFolderIsLeftAlone(t *testing.T) {
	for name, content := range map[string]string{
		"notes.txt":      "mine",
		"summary.json":   `{"plan": "world domination"}`,
		"history.jsonl":  `{"line": 1}`,
		"timeline.svg":   "<svg/>",
		"porcupine.html": "<html>",
		".git":           "gitdir: elsewhere",
	} {
		path := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(path, name), []byte(content), 0o600))
		_, err := report.OpenFolder(path)
		require.ErrorIs(t, err, report.ErrNotOurs, name)
		assert.ErrorContains(t, err, path)
		assert.Equal(t, []string{name}, files(t, path))
	}
	path := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(path, "summary.json"), 0o700))
	_, err := report.OpenFolder(path)
	require.ErrorIs(t, err, report.ErrNotOurs)
}

func TestAFolderThatBecameSomebodyElsesMeanwhileIsLeftAlone(t *testing.T) {
	path := t.TempDir()
	folder, err := report.OpenFolder(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(path, "timeline.svg"), []byte("mine"), 0o600))
	_, err = folder.Write(calm(), nil)
	require.ErrorIs(t, err, report.ErrNotOurs)
	assert.Equal(t, []string{"timeline.svg"}, files(t, path))
}

func TestAFolderThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := report.OpenFolder(path)
	assert.ErrorContains(t, err, path)
}
