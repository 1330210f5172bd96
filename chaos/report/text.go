package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// shownFindings is how many findings are printed; the folder has more.
const shownFindings = 5

// WriteText writes the tables of a run for people: what was attacked, what was
// granted meanwhile, what was found, and last the verdict.
func (s *Summary) WriteText(w io.Writer) error {
	var out bytes.Buffer // no error until the end
	if len(s.Attacks) > 0 {
		_ = s.attackTable().text(&out)
		out.WriteByte('\n')
	}
	_ = s.phaseTable().text(&out)
	if len(s.Clocks) > 0 {
		out.WriteByte('\n')
		_ = s.clockTable().text(&out)
	}
	if s.Pace != "" {
		fmt.Fprintf(&out, "\n%s\n", s.Pace)
	}
	fmt.Fprintf(&out, "\n%s\n", s.found())
	for i := range s.Findings[:min(len(s.Findings), shownFindings)] {
		fmt.Fprintf(&out, "  %s\n", s.Findings[i].words())
	}
	all := s.Counts.Overlaps + s.Counts.LostUpdates + s.Counts.StaleWrites + s.Counts.Notes
	if left := all - shownFindings; left > 0 {
		fmt.Fprintf(&out, "  and %s more\n", thousands(left))
	}
	if s.Replay != "" && (s.Exit != 0 || all > 0) {
		fmt.Fprintf(&out, "again: %s\n", s.Replay)
	}
	fmt.Fprintf(&out, "\n%s\n", s.VerdictLine())
	_, err := w.Write(out.Bytes())
	return err
}

// VerdictLine returns the last line of a run.
func (s *Summary) VerdictLine() string {
	line := fmt.Sprintf("%s: plan %s, seed %d", strings.ToUpper(cmp.Or(s.Verdict, "no verdict")), cmp.Or(s.Plan, "without a name"), s.Seed)
	if s.Class != "" {
		line += " (" + s.Class + ")"
	}
	return fmt.Sprintf("%s: %s, %s, %s (exit status %d)", line, plural(s.Counts.Grants, "grant"),
		plural(s.Counts.Overlaps, "overlap"), plural(s.Counts.LostUpdates, "lost update"), s.Exit)
}

func (s *Summary) attackTable() *table {
	t := newTable("attacked with", "where", ">struck", ">seen", ">acted for", ">grants/s before", ">meanwhile", ">after", ">next grant after its end", ">at worst")
	for i := range s.Attacks {
		a := &s.Attacks[i]
		acted, meanwhile := "a moment", "-"
		if a.ActedMS > 0 {
			acted, meanwhile = length(ofMillis(a.ActedMS)), digits(float64(a.Grants)/ofMillis(a.ActedMS).Seconds())
		}
		middle, worst := "never", "never"
		if a.Recovered > 0 {
			middle, worst = length(ofMillis(a.RecoveryP50)), length(ofMillis(a.RecoveryMax))
			if a.Recovered < a.Struck {
				worst = fmt.Sprintf("never (%d of %d)", a.Struck-a.Recovered, a.Struck)
			}
		}
		t.add(a.Fault, a.Where, thousands(a.Struck), thousands(a.Seen), acted, digits(a.Before), meanwhile, digits(a.After), middle, worst)
	}
	return t
}

// clockTable shows how far clocks were measured to be ahead of the true time.
func (s *Summary) clockTable() *table {
	t := newTable("clock of", ">measured", ">ahead by at least", ">at most", ">at last")
	for i := range s.Clocks {
		c := &s.Clocks[i]
		t.add(c.Of, thousands(c.Measured), signed(ofMillis(c.LowMS)), signed(ofMillis(c.HighMS)), signed(ofMillis(c.LastMS)))
	}
	return t
}

func (s *Summary) phaseTable() *table {
	t := newTable("", ">time", ">grants", ">grants/s", ">acquired within (p50)", ">p99")
	add := func(name string, p *Phase) {
		rate, middle, most := "-", "-", "-"
		if p.Seconds > 0 {
			rate = digits(float64(p.Grants) / p.Seconds)
		}
		if p.Grants > 0 {
			middle, most = length(ofMillis(p.P50)), length(ofMillis(p.P99))
		}
		t.add(name, length(time.Duration(p.Seconds*float64(time.Second))), thousands(p.Grants), rate, middle, most)
	}
	if len(s.Attacks) > 0 {
		add("before the faults", &s.Before)
		add("during the faults", &s.During)
		add("after the faults", &s.After)
	}
	add("the whole run", &s.All)
	return t
}

// found says in one line what was counted.
func (s *Summary) found() string {
	c := &s.Counts
	line := fmt.Sprintf("%s (%s contended), %s, %s, %s, %s", plural(c.Acquisitions, "acquisition"), thousands(c.Contended),
		plural(c.Grants, "grant"), plural(c.Overlaps, "overlap"), plural(c.LostUpdates, "lost update"), plural(c.StaleWrites, "stale write"))
	if c.Notes > 0 {
		line += ", " + plural(c.Notes, "other finding")
	}
	return line
}

// words returns a finding as one line.
func (f *Finding) words() string {
	line := fmt.Sprintf("%s at %s", f.Kind, instant(ofMillis(f.FromMS)))
	if f.ToMS > f.FromMS {
		line += " for " + length(ofMillis(f.ToMS-f.FromMS))
	}
	if f.Name != "" {
		line += " in " + quoted(f.Name)
	}
	if len(f.Clients) > 0 {
		names := make([]string, len(f.Clients))
		for i, c := range f.Clients {
			names[i] = history.Owner(c)
		}
		line += ", " + listed(names)
	}
	if f.Text != "" {
		line += ": " + clean(f.Text)
	}
	return line
}

func ofMillis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// Totals are many runs in figures, such as the schedules of a simulation.
type Totals struct {
	Runs         int
	True         time.Duration // of all runs together
	Acquisitions int
	Contended    int
	Grants       int
	Overlaps     int
	LostUpdates  int
	Attacks      map[string]Attack // by fault; only Struck, Seen and ActedMS are summed
}

// Add adds a run.
func (t *Totals) Add(s *Summary) {
	t.Runs++
	t.True += time.Duration(s.Seconds * float64(time.Second))
	t.Acquisitions += s.Counts.Acquisitions
	t.Contended += s.Counts.Contended
	t.Grants += s.Counts.Grants
	t.Overlaps += s.Counts.Overlaps
	t.LostUpdates += s.Counts.LostUpdates
	if t.Attacks == nil {
		t.Attacks = map[string]Attack{}
	}
	for i := range s.Attacks {
		a := t.Attacks[s.Attacks[i].Fault]
		a.Fault = s.Attacks[i].Fault
		a.Struck += s.Attacks[i].Struck
		a.Seen += s.Attacks[i].Seen
		a.ActedMS += s.Attacks[i].ActedMS
		t.Attacks[a.Fault] = a
	}
}

// WriteText writes the totals for people; the runs took that long.
func (t *Totals) WriteText(w io.Writer, took time.Duration) error {
	var out bytes.Buffer
	if len(t.Attacks) > 0 {
		faults := newTable("attacked with", ">struck", ">seen", ">acted for")
		for _, fault := range slices.Sorted(maps.Keys(t.Attacks)) {
			a := t.Attacks[fault]
			acted := "moments"
			if a.ActedMS > 0 {
				acted = length(ofMillis(a.ActedMS))
			}
			faults.add(fault, thousands(a.Struck), thousands(a.Seen), acted)
		}
		_ = faults.text(&out)
		out.WriteByte('\n')
	}
	sum := newTable("", ">")
	sum.add("schedules", thousands(t.Runs))
	if took > 0 {
		sum.add("schedules/s", digits(float64(t.Runs)/took.Seconds()))
	}
	sum.add("simulated hours", digits(t.True.Hours()))
	sum.add("acquisitions", thousands(t.Acquisitions))
	sum.add("contended", thousands(t.Contended))
	sum.add("grants", thousands(t.Grants))
	sum.add("overlaps", thousands(t.Overlaps))
	sum.add("lost updates", thousands(t.LostUpdates))
	_ = sum.text(&out)
	_, err := w.Write(out.Bytes())
	return err
}
