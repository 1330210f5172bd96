package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// Maker is the value of "made_by" in every summary.json: a folder with another
// one, or without, is not ours.
const Maker = "github.com/quorumlock/redlock/chaos"

// SummaryFormat is the version of summary.json. It grows when a field changes
// its meaning; new fields do not count.
const SummaryFormat = 1

// A Summary is a run in figures. It is what summary.json holds, under the names
// below. Times are in milliseconds of true time unless their name says seconds.
type Summary struct {
	MadeBy string `json:"made_by"` // Maker
	Format int    `json:"format"`  // SummaryFormat

	Plan    string `json:"plan"`
	Class   string `json:"class"`  // "in model", "slack", "out of model"
	Expect  string `json:"expect"` // what the plan is expected to show
	Backend string `json:"backend"`
	Seed    uint64 `json:"seed"`
	Commit  string `json:"commit,omitempty"`
	Replay  string `json:"replay,omitempty"`  // the command that runs it again
	History string `json:"history,omitempty"` // history.Hash: equal hashes are equal runs

	Nodes   int     `json:"nodes"`
	Quorum  int     `json:"quorum"`
	Clients int     `json:"clients"`
	Seconds float64 `json:"seconds"` // true time from the first to the last event

	Verdict string `json:"verdict"`
	Exit    int    `json:"exit"` // 0 as promised, 1 violation, 2 could not run, 3 proved nothing

	Counts  Counts   `json:"counts"`
	Before  Phase    `json:"before"`            // the first fault
	During  Phase    `json:"during"`            // from the first fault until all are over
	After   Phase    `json:"after"`             // all faults are over
	All     Phase    `json:"all"`               // the whole run
	Attacks []Attack `json:"attacks,omitempty"` // by the name of the fault
	Clocks  []Clock  `json:"clocks,omitempty"`  // that were measured
	Pace    string   `json:"pace,omitempty"`    // what faults of a minority cost

	// Findings are the first findings, by time. Counts has the numbers of all.
	Findings []Finding `json:"findings,omitempty"`
}

// maxFindings limits Summary.Findings: a broken lock has one each millisecond.
const maxFindings = 100

// Counts are the totals of a run.
type Counts struct {
	Acquisitions int            `json:"acquisitions"` // begun
	Contended    int            `json:"contended"`    // of them: met another client
	Grants       int            `json:"grants"`
	Failed       map[string]int `json:"failed,omitempty"` // acquisitions, by class of error
	Lost         int            `json:"lost"`             // locks that their holder saw as lost
	Writes       int            `json:"writes"`           // to the store, under a lock
	Crashes      int            `json:"crashes"`
	Faults       int            `json:"faults"`
	Overlaps     int            `json:"overlaps"`
	LostUpdates  int            `json:"lost_updates"`
	StaleWrites  int            `json:"stale_writes"`
	Notes        int            `json:"notes"` // other findings
}

// A Phase is a part of a run.
type Phase struct {
	Seconds float64 `json:"seconds"`
	Grants  int     `json:"grants"`
	P50     float64 `json:"acquire_p50_ms"` // of successful acquisitions; 0 without any
	P99     float64 `json:"acquire_p99_ms"`
}

// An Attack is all that one kind of fault did.
type Attack struct {
	Fault  string `json:"fault"`
	Where  string `json:"where"`  // "nodes 1-5"
	Struck int    `json:"struck"` // how often it began
	Seen   int    `json:"seen"`   // how often an independent look confirmed it

	ActedMS float64 `json:"acted_ms"` // for how long, all in all; 0: it has no duration
	Grants  int     `json:"grants"`   // while it acted

	// Grants a second in the half second before it began, and in that after its end.
	Before float64 `json:"grants_per_s_before"`
	After  float64 `json:"grants_per_s_after"`

	// From its end to the next grant of any lock.
	Recovered   int     `json:"recovered"` // how often there was one
	RecoveryP50 float64 `json:"recovery_p50_ms"`
	RecoveryMax float64 `json:"recovery_max_ms"`
}

// A Clock is one that was measured, as how far it was ahead of the true time.
type Clock struct {
	Of       string  `json:"of"` // "node 3", "client 1"
	Measured int     `json:"measured"`
	LowMS    float64 `json:"low_ms"`  // the least
	HighMS   float64 `json:"high_ms"` // the most
	LastMS   float64 `json:"last_ms"`
}

// A Finding is a Mark in summary.json.
type Finding struct {
	Kind    MarkKind `json:"kind"`
	Name    string   `json:"name,omitempty"`
	FromMS  float64  `json:"from_ms"`
	ToMS    float64  `json:"to_ms"`
	Clients []int    `json:"clients,omitempty"`
	Text    string   `json:"text,omitempty"`
}

// Summarize counts what was in a run.
func Summarize(run Run) Summary {
	run = run.bounded().complete()
	h := run.History
	s := Summary{
		MadeBy: Maker, Format: SummaryFormat,
		Plan: h.Plan, Class: h.Class, Expect: h.Expect, Backend: h.Backend, Seed: h.Seed,
		Commit: run.Commit, Replay: run.Replay,
		Nodes: h.Nodes, Quorum: h.Quorum, Clients: h.Clients,
		Verdict: run.Verdict, Exit: run.Exit, Pace: run.Pace,
	}
	s.Counts.Contended = run.Contended
	s.Counts.Overlaps = run.count(Overlap)
	s.Counts.LostUpdates = run.count(LostUpdate)
	s.Counts.StaleWrites = run.count(StaleWrite)
	s.Counts.Notes = run.count(Note)
	s.Findings = findings(run.Marks)

	grants, end := s.Counts.tally(h)
	s.Seconds = end.Seconds()
	healed := healedAt(h, end)
	blows := strikes(h, healed)
	s.Counts.Faults = len(blows)
	begun := end + 1 // without faults all is before them
	for i := range blows {
		begun = min(begun, blows[i].from)
	}
	healed = max(healed, min(begun, end))
	s.Before = phase(grants, span{0, min(begun, end)}, end < begun)
	s.During = phase(grants, span{min(begun, end), healed}, false)
	s.After = phase(grants, span{healed, end}, begun <= end)
	s.All = phase(grants, span{0, end}, true)
	s.Attacks = attacks(blows, grants, calmAt(h, end))
	s.Clocks = clocks(h)
	return s
}

// A granted acquisition.
type grantedAt struct{ at, took time.Duration }

// tally counts the events of h, and returns its grants in the order in which
// they were recorded, and its end.
func (c *Counts) tally(h *history.History) (grants []grantedAt, end time.Duration) {
	begun := map[int]time.Duration{} // by call
	known := map[grant]bool{}
	for i := range h.Events {
		e := &h.Events[i]
		end = max(end, e.At)
		switch e.Kind {
		case history.Begin:
			c.Acquisitions++
			begun[e.Call] = e.At
		case history.Holds:
			if g := (grant{e.Client, e.Token}); !known[g] {
				known[g] = true
				c.Grants++
				from, ok := begun[e.Call]
				if !ok {
					from = e.At
				}
				grants = append(grants, grantedAt{e.At, max(0, e.At-from)})
			}
		case history.Failed:
			if c.Failed == nil {
				c.Failed = map[string]int{}
			}
			c.Failed[cmp.Or(e.Class, "other")]++
		case history.Lost:
			c.Lost++
		case history.Write:
			c.Writes++
		case history.Crash:
			c.Crashes++
		}
	}
	return grants, end
}

// healedAt returns when every fault of h was over: as recorded, or else with
// the last Heal.
func healedAt(h *history.History, end time.Duration) time.Duration {
	last := time.Duration(-1)
	for i := range h.Events {
		switch e := &h.Events[i]; e.Kind {
		case history.Healed:
			return e.At
		case history.Heal:
			last = e.At
		}
	}
	if last < 0 {
		return end
	}
	return last
}

// calmAt returns from when on no client asks for a lock.
func calmAt(h *history.History, end time.Duration) time.Duration {
	for i := range h.Events {
		if h.Events[i].Kind == history.Calm {
			return h.Events[i].At
		}
	}
	return end
}

// phase counts the grants in [of.from, of.to), or in [of.from, of.to] if closed.
func phase(grants []grantedAt, of span, closed bool) Phase {
	var took []time.Duration
	for _, g := range grants {
		if g.at >= of.from && (g.at < of.to || closed && g.at == of.to) {
			took = append(took, g.took)
		}
	}
	slices.Sort(took)
	return Phase{Seconds: of.length().Seconds(), Grants: len(took), P50: quantile(took, 0.5), P99: quantile(took, 0.99)}
}

// quantile returns the q-quantile of sorted values in milliseconds: the
// smallest that at least a share q does not exceed.
func quantile(values []time.Duration, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return millis(values[max(0, int(math.Ceil(q*float64(len(values))))-1)])
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// findings returns the first marks, by time.
func findings(marks []Mark) []Finding {
	marks = slices.Clone(marks)
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.From, b.From) })
	var all []Finding
	for i := range marks[:min(len(marks), maxFindings)] {
		m := &marks[i]
		all = append(all, Finding{m.Kind, m.Name, millis(m.From), millis(m.To), m.Clients, m.Text})
	}
	return all
}
