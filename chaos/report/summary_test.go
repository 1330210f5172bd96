package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/report"
)

func TestASummaryCountsBeforeDuringAndAfterTheFaults(t *testing.T) {
	s := newScript(history.Header{Plan: "kill", Class: history.InModel, Nodes: 3, Quorum: 2, Clients: 2})
	for i := range 10 { // a grant each 100 ms, that took i+1 ms
		at := time.Duration(i) * 100 * ms
		s.session(1, "job", at, at+time.Duration(i+1)*ms, at+90*ms, at+50*ms, 1, 2, 3)
	}
	s.fault("kill", 2, 0, 250*ms, 450*ms) // grants at 304 and 405 meanwhile, the next at 506
	s.fault("kill", 3, 0, 350*ms, 450*ms)
	s.fault("flush", 1, 0, 610*ms, 0) // a moment; the next at 708
	sum := report.Summarize(report.Run{History: s.done(1100 * ms), Verdict: "safe", Contended: 4})

	assert.Equal(t, 10, sum.Counts.Grants)
	assert.Equal(t, 10, sum.Counts.Acquisitions)
	assert.Equal(t, 4, sum.Counts.Contended)
	assert.Equal(t, 3, sum.Counts.Faults)
	assert.Equal(t, report.Phase{Seconds: 0.25, Grants: 3, P50: 2, P99: 3}, sum.Before)
	assert.Equal(t, report.Phase{Seconds: 0.75, Grants: 7, P50: 7, P99: 10}, sum.During)
	assert.Equal(t, 0, sum.After.Grants, "the healing is recorded at 1 s")
	assert.Equal(t, report.Phase{Seconds: 1.1, Grants: 10, P50: 5, P99: 10}, sum.All)
	assert.Equal(t, []report.Attack{
		{Fault: "flush", Where: "node 1", Struck: 1, Seen: 1, Before: 10, After: 3 / 0.49, Recovered: 1, RecoveryP50: 98, RecoveryMax: 98},
		{Fault: "kill", Where: "nodes 2 and 3", Struck: 2, Seen: 2, ActedMS: 200, Grants: 2, Before: 4 / 0.35, After: 10, Recovered: 2, RecoveryP50: 56, RecoveryMax: 56},
	}, sum.Attacks)
}

func TestClocksAreShownAsTheyWereMeasured(t *testing.T) {
	s := newScript(history.Header{})
	for i, offset := range []time.Duration{2 * ms, -3 * ms, 0, ms} {
		s.add(time.Duration(i)*ms, history.Event{Kind: history.Offset, Node: 2, Offset: offset})
	}
	s.add(5*ms, history.Event{Kind: history.Offset, Client: 1, Offset: -7 * ms})
	s.add(6*ms, history.Event{Kind: history.Offset, Node: 1, Offset: 4 * ms})
	assert.Equal(t, []report.Clock{
		{Of: "node 1", Measured: 1, LowMS: 4, HighMS: 4, LastMS: 4},
		{Of: "node 2", Measured: 4, LowMS: -3, HighMS: 2, LastMS: 1},
		{Of: "client 1", Measured: 1, LowMS: -7, HighMS: -7, LastMS: -7},
	}, report.Summarize(report.Run{History: s.done(time.Second)}).Clocks)
}

func TestPhasesOfARunWithoutFaults(t *testing.T) {
	sum := report.Summarize(calm())
	assert.Equal(t, 9, sum.Before.Grants)
	assert.Zero(t, sum.During.Grants+sum.After.Grants)
	assert.Empty(t, sum.Attacks)
}

func TestExtensionsAreNoGrants(t *testing.T) {
	s := newScript(history.Header{})
	token := s.session(1, "job", 0, 1*ms, 90*ms, 200*ms, 1)
	s.add(60*ms, history.Event{Kind: history.Holds, Client: 1, Name: "job", Token: token, Until: 150 * ms})
	assert.Equal(t, 1, report.Summarize(report.Run{History: s.done(300 * ms)}).Counts.Grants)
}

func TestTheTablesOfARun(t *testing.T) {
	run := kleppmann()
	run.Replay = "go run ./chaos -plan node-clock-jump -seed 7"
	sum := report.Summarize(run)
	var out strings.Builder
	require.NoError(t, sum.WriteText(&out))
	assert.Equal(t, `attacked with  where   struck  seen  acted for  grants/s before  meanwhile  after  next grant after its end  at worst
clock-jump     node 3       1     1   a moment                0          -      2                    250 ms    250 ms

                     time  grants  grants/s  acquired within (p50)     p99
before the faults  900 ms       1      1.11                  60 ms   60 ms
during the faults     2 s       2         1                 100 ms  150 ms
after the faults   100 ms       0         0                      -       -
the whole run         3 s       3         1                 100 ms  150 ms

clock of  measured  ahead by at least  at most  at last
node 1          10                  0        0        0
node 2          10                  0        0        0
node 3          10                  0    +20 s    +20 s
node 4          10                  0        0        0
node 5          10                  0        0        0

5 acquisitions (3 contended), 3 grants, 1 overlap, 1 lost update, 0 stale writes
  overlap at 1.15 s for 900 ms in "settle:2026-06-30", client-1 and client-2: both hold
  lost update at 1.95 s in "settle:2026-06-30", client-2: version 2 is based on 0, so version 1 is lost
again: go run ./chaos -plan node-clock-jump -seed 7

UNSAFE BY DESIGN, DETECTED: plan node-clock-jump, seed 7 (out of model): 3 grants, 1 overlap, 1 lost update (exit status 0)
`, out.String())
}

func TestManyFindingsArePrintedShort(t *testing.T) {
	run := calm()
	for range 12_345 {
		run.Marks = append(run.Marks, report.Mark{Kind: report.Note, Text: "bad\nthing"})
	}
	sum := report.Summarize(run)
	assert.Len(t, sum.Findings, 100)
	assert.Equal(t, 12_345, sum.Counts.Notes)
	var out strings.Builder
	require.NoError(t, sum.WriteText(&out))
	assert.Equal(t, 5, strings.Count(out.String(), "note at 0 s: bad thing\n"))
	assert.Contains(t, out.String(), "and 12,340 more\n")
}

func TestTotalsOfManyRuns(t *testing.T) {
	var totals report.Totals
	sum := report.Summarize(kleppmann())
	for range 1500 {
		totals.Add(&sum)
	}
	var out strings.Builder
	require.NoError(t, totals.WriteText(&out, 2*time.Second))
	assert.Equal(t, `attacked with  struck   seen  acted for
clock-jump      1,500  1,500    moments

schedules        1,500
schedules/s        750
simulated hours   1.25
acquisitions     7,500
contended        4,500
grants           4,500
overlaps         1,500
lost updates     1,500
`, out.String())
}

func TestTheMatrix(t *testing.T) {
	m := report.Matrix{
		{Assumption: "all kept", Plan: "calm", Grants: 12345, Verdict: "safe"},
		{Assumption: "A1 broken: a node's clock is set", Plan: "a|b", Grants: 9, Overlaps: 3, LostUpdates: 1, Verdict: "unsafe by design, detected"},
	}
	var text, page strings.Builder
	require.NoError(t, m.WriteText(&text))
	require.NoError(t, m.WriteMarkdown(&page))
	assert.Equal(t, `assumption                        plan  grants  overlaps  lost updates  verdict
all kept                          calm  12,345         0             0  safe
A1 broken: a node's clock is set  a|b        9         3             1  unsafe by design, detected
`, text.String())
	assert.Equal(t, `| assumption | plan | grants | overlaps | lost updates | verdict |
| --- | --- | ---: | ---: | ---: | --- |
| all kept | calm | 12,345 | 0 | 0 | safe |
| A1 broken: a node's clock is set | a\|b | 9 | 3 | 1 | unsafe by design, detected |
`, page.String())
}

func TestWritesThatTheHistoryTellsOfAreCountedOnce(t *testing.T) {
	sum := report.Summarize(stalled())
	assert.Equal(t, 1, sum.Counts.StaleWrites)
	assert.Equal(t, 1, sum.Counts.LostUpdates, "found by a checker, too")
	assert.Equal(t, "195 ms after its lock's end", sum.Findings[0].Text)
}

func TestFindingsThatAreCountedOnly(t *testing.T) {
	run := kleppmann()
	run.Found = map[report.MarkKind]int{report.Overlap: 4711}
	assert.Equal(t, 4711, report.Summarize(run).Counts.Overlaps)
}

func TestAFaultOnAConnectionIsConfirmedByItsNode(t *testing.T) {
	s := newScript(history.Header{})
	s.add(1*ms, history.Event{Kind: history.Fault, Fault: "partition", Node: 1, Client: 2})
	s.add(2*ms, history.Event{Kind: history.Seen, Fault: "partition", Node: 1})
	s.add(2*ms, history.Event{Kind: history.Seen, Fault: "partition", Node: 3})
	assert.Equal(t, 1, report.Summarize(report.Run{History: s.done(time.Second)}).Attacks[0].Seen)
}
