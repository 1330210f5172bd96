package report_test

import (
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/bench/internal/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

// aRun has a bit of everything.
func aRun() *report.Run {
	n := func(v any) []report.Param { return []report.Param{report.P("N", v), report.P("what", "a lock, alone")} }
	g := func(v any) []report.Param { return []report.Param{report.P("goroutines", v)} }
	return &report.Run{
		Command: "go run ./bench", Date: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Took: "9m30s",
		Machine:  report.Machine{Processor: "A processor", Cores: 2, Memory: "24 GiB", System: "An OS", Load: "0.10"},
		Nodes:    "process",
		Versions: []report.Param{report.P("commit", "0123456789ab"), report.P("Go", "go1.26.0")},
		Sections: []report.Section{
			{Name: "commands", Title: "Commands", About: "What was counted.", Samples: []report.Sample{
				{Case: n(3), Quantity: "total", Rounds: []float64{6}, Want: report.Equals(6)},
				{Case: n(3), Quantity: "one node", Rounds: []float64{2, 2, 3}, Want: report.Equals(2)},
				{Case: n(5), Quantity: "total", Rounds: []float64{10}, Want: report.Max(10)},
			}},
			{Name: "throughput", Title: "Throughput | pairs", About: "What was timed.", Samples: []report.Sample{
				{Subject: "redlock", Case: g(1), Quantity: "pairs/s", Unit: report.Rate, Rounds: []float64{4000, 3900, 4100}},
				{Subject: "redlock", Case: g(1), Quantity: "p50", Unit: report.Time, Rounds: []float64{220, 210.5, 1230}},
				{Subject: "redlock", Case: g(128), Quantity: "pairs/s", Unit: report.Rate, Rounds: []float64{52000, 51000, 53000}},
				{Subject: "raw sockets", Case: g(1), Quantity: "pairs/s", Unit: report.Rate, Rounds: []float64{5000, 5000, 5000}},
				{Subject: "raw sockets", Case: g(128), Quantity: "pairs/s", Unit: report.Rate, Rounds: []float64{65000, 64000, 66000}},
				{Subject: "redlock", Case: g(128), Quantity: "pairs/s / raw sockets", Unit: report.Ratio, Rounds: []float64{0.8, 0.7, 0.9}, Want: report.Aim(report.AtLeast, 0.85)},
			}},
			{Name: "faults", Title: "Faults", About: "What went wrong.", Samples: faults()},
		},
	}
}

func faults() []report.Sample {
	var samples []report.Sample
	for i, fault := range []string{"healthy", "one hung"} {
		params := []report.Param{report.P("fault", fault), report.P("goroutines", 16), report.P("step", "acquire")}
		for j, q := range []string{"p50", "p99"} {
			samples = append(samples, report.Sample{
				Subject: "redlock", Case: params, Quantity: q, Unit: report.Time,
				Rounds: []float64{float64(100 * (i + 1) * (10*j + 1))},
			})
		}
	}
	return samples
}

func TestRunIsWrittenForPeopleAndPrograms(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, report.Write(folder, "client", aRun()))
	for _, name := range []string{"benchmarks.md", "benchmarks/client.json", "benchmarks/client.csv", "benchmarks/client.txt"} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		golden(t, filepath.Base(name), got)
	}
}

func TestPicturesCanBeDecodedAndOldOnesGo(t *testing.T) {
	folder := t.TempDir()
	stale := filepath.Join(folder, "benchmarks", "client-gone.png")
	require.NoError(t, os.MkdirAll(filepath.Dir(stale), 0o777))
	require.NoError(t, os.WriteFile(stale, nil, 0o666))
	require.NoError(t, report.Write(folder, "client", aRun()))
	assert.NoFileExists(t, stale)
	files, err := filepath.Glob(filepath.Join(folder, "benchmarks", "client-*.png"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		picture, err := png.Decode(f)
		require.NoError(t, err, file)
		assert.Greater(t, picture.Bounds().Dx(), 800, file)
		require.NoError(t, f.Close())
	}
}

func TestPageShowsTheLatestRunOfEachName(t *testing.T) {
	folder := t.TempDir()
	page := func() string {
		text, err := os.ReadFile(filepath.Join(folder, "benchmarks.md"))
		require.NoError(t, err)
		return string(text)
	}
	peers := aRun()
	peers.Command = "cd bench/peers && go run ."
	require.NoError(t, report.Write(folder, "peers", peers))
	assert.NotContains(t, page(), "## The client")
	require.NoError(t, report.Write(folder, "client", aRun()))
	assert.Contains(t, page(), "## The client")
	assert.Contains(t, page(), "## Beside other clients")
	assert.Contains(t, page(), "benchmarks/peers-throughput.png")
}

func TestPageSaysWhatItsFiguresAreNotWorth(t *testing.T) {
	folder := t.TempDir()
	run := aRun()
	run.Quick, run.Nodes = true, "embedded"
	require.NoError(t, report.Write(folder, "client", run))
	text, err := os.ReadFile(filepath.Join(folder, "benchmarks.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "not worth quoting")
	assert.Contains(t, string(text), "only counts mean anything")
}

func TestRunTellsWhatIsDifferentFromWhatIsMissed(t *testing.T) {
	run := aRun()
	assert.Equal(t, 3, run.Checked())
	require.Len(t, run.Failures(), 1)
	assert.Equal(t, "Commands: N 3, what a lock, alone, one node: 2 (2 to 3), want = 2", run.Failures()[0])
	require.Len(t, run.Missed(), 1)
	assert.Contains(t, run.Missed()[0], "0.800x")
}
