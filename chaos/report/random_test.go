package report_test

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/report"
)

// anything returns a history and findings that no run would make: a report has
// to survive what a bug in a run records.
func anything(seed uint64) report.Run {
	dice := rand.New(rand.NewPCG(seed, 2))
	kinds := []history.Kind{history.Begin, history.Holds, history.Failed, history.Release, history.Released, history.Lost,
		history.Crash, history.Stall, history.Wake, history.Read, history.Write, history.Kept, history.Deleted, history.Found,
		history.Fault, history.Heal, history.Seen, history.Offset, history.Healed, history.Calm, history.End, "unheard of"}
	names := []string{"a", "b<&>\"'", "\xff\xfe\x00\x1b]]>", ""}
	tokens := []string{"00112233/client-1", "x", "/client-2", "\x00", ""}
	at, span := time.Duration(0), time.Duration(1)<<(dice.IntN(50))
	when := func() time.Duration {
		switch dice.IntN(12) {
		case 0:
			return time.Duration(dice.Int64()) // anywhere
		case 1:
			return -time.Duration(dice.Int64N(int64(span)))
		case 2:
			return []time.Duration{0, math.MaxInt64, math.MinInt64}[dice.IntN(3)]
		}
		return at + time.Duration(dice.Int64N(int64(span)))
	}
	h := &history.History{Header: history.Header{
		Plan: names[dice.IntN(4)], Class: names[dice.IntN(4)], Backend: names[dice.IntN(4)], Seed: dice.Uint64(),
		Nodes: dice.IntN(7) - 1, Clients: dice.IntN(40) - 1, Exact: dice.IntN(2) == 0,
	}}
	for range dice.IntN(400) {
		at += time.Duration(dice.Int64N(int64(span)))
		e := history.Event{At: at, Kind: kinds[dice.IntN(len(kinds))],
			Client: dice.IntN(6) - 1, Node: dice.IntN(7) - 1, Call: dice.IntN(20), Name: names[dice.IntN(4)], Token: tokens[dice.IntN(5)],
			Until: when(), TTL: when(), Offset: when(), Class: names[dice.IntN(4)], Holder: names[dice.IntN(4)],
			Fault: []string{"kill", "flush", "\x01<>"}[dice.IntN(3)], Text: names[dice.IntN(4)]}
		if dice.IntN(50) == 0 {
			e.At = when()
		}
		h.Events = append(h.Events, e)
	}
	run := report.Run{History: h, Verdict: names[dice.IntN(4)], Commit: names[dice.IntN(4)]}
	for range dice.IntN(20) {
		m := report.Mark{Kind: []report.MarkKind{report.Overlap, report.StaleWrite, report.LostUpdate, report.Note, "new"}[dice.IntN(5)],
			Name: names[dice.IntN(4)], From: when(), To: when(), Text: names[dice.IntN(4)]}
		for range dice.IntN(4) {
			m.Clients = append(m.Clients, dice.IntN(9)-1)
		}
		run.Marks = append(run.Marks, m)
	}
	return run
}

func TestWhateverAHistoryHoldsItsReportIsSound(t *testing.T) {
	for seed := range uint64(150) {
		t.Logf("seed %d", seed)
		survive(t, anything(seed))
	}
}

func FuzzReport(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { survive(t, anything(seed)) })
}

func survive(t *testing.T, run report.Run) {
	t.Helper()
	var svg bytes.Buffer
	picture := report.Draw(run, report.View{})
	require.NoError(t, picture.WriteSVG(&svg))
	require.False(t, strings.Contains(svg.String(), "NaN") || strings.Contains(svg.String(), "Inf"), "a size that is no number")
	for _, e := range parse(t, svg.Bytes()) {
		require.NotContains(t, e.Attr["width"], "-", "negative sizes are not drawn")
		require.NotContains(t, e.Attr["height"], "-")
	}
	sum := report.Summarize(run)
	require.NoError(t, sum.WriteText(io.Discard))
	var again bytes.Buffer
	require.NoError(t, report.Draw(run, report.View{}).WriteSVG(&again))
	require.True(t, bytes.Equal(svg.Bytes(), again.Bytes()), "the same run is drawn in the same way")
}
