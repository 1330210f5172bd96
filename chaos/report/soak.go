package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Use is what processes use when they are at rest.
type Use struct {
	Goroutines int    `json:"goroutines"`
	Heap       uint64 `json:"heap_bytes"`
}

// A SoakRound is a line of rounds.jsonl: one round of a soak in figures.
type SoakRound struct {
	Round   int      `json:"round"` // from 1
	Seed    uint64   `json:"seed"`
	Seconds float64  `json:"seconds"`
	Verdict string   `json:"verdict"`
	Exit    int      `json:"exit"`
	Events  int      `json:"events"`
	Counts  Counts   `json:"counts"`
	Attacks []Attack `json:"attacks,omitempty"`
	Own     Use      `json:"own"`               // of the program
	Clients Use      `json:"clients,omitempty"` // the most of a client's process, where they are
}

// A Soak adds up rounds. Its zero value has none. What it keeps of a round is a
// line's worth.
type Soak struct {
	rounds  []SoakRound // without Attacks
	seconds float64
	counts  Counts
	attacks map[string]*Attack
}

// Add adds a round.
func (s *Soak) Add(r SoakRound) {
	if s.attacks == nil {
		s.attacks = map[string]*Attack{}
	}
	for _, a := range r.Attacks {
		sum := s.attacks[a.Fault]
		if sum == nil {
			sum = &Attack{Fault: a.Fault}
			s.attacks[a.Fault] = sum
		}
		sum.Struck += a.Struck
		sum.Seen += a.Seen
		sum.ActedMS += a.ActedMS
		sum.Grants += a.Grants
		sum.Recovered += a.Recovered
		sum.RecoveryMax = max(sum.RecoveryMax, a.RecoveryMax)
	}
	c, of := &s.counts, &r.Counts
	c.Acquisitions += of.Acquisitions
	c.Contended += of.Contended
	c.Grants += of.Grants
	c.Overlaps += of.Overlaps
	c.LostUpdates += of.LostUpdates
	c.StaleWrites += of.StaleWrites
	c.Notes += of.Notes
	c.Faults += of.Faults
	s.seconds += r.Seconds
	r.Attacks, r.Counts.Failed = nil, nil
	s.rounds = append(s.rounds, r)
}

// Overlaps returns how many there were.
func (s *Soak) Overlaps() int { return s.counts.Overlaps }

// WriteText writes the tables of the soak: what was attacked, and what the
// program used at its beginning, in its middle and at its end.
func (s *Soak) WriteText(w io.Writer) error {
	var out bytes.Buffer // no error until the end
	t := newTable("attacked with", ">struck", ">seen", ">acted for", ">grants meanwhile", ">next grant at worst after")
	for _, fault := range slices.Sorted(maps.Keys(s.attacks)) {
		a := s.attacks[fault]
		acted, meanwhile := "a moment", "-"
		if a.ActedMS > 0 {
			acted, meanwhile = length(ofMillis(a.ActedMS)), thousands(a.Grants)
		}
		worst := length(ofMillis(a.RecoveryMax))
		if a.Recovered < a.Struck {
			worst = fmt.Sprintf("never (%d of %d)", a.Struck-a.Recovered, a.Struck)
		}
		t.add(fault, thousands(a.Struck), thousands(a.Seen), acted, meanwhile, worst)
	}
	if len(t.rows) > 0 {
		_ = t.text(&out)
		out.WriteByte('\n')
	}
	t = newTable("at rest after", ">heap", ">goroutines", ">a client's heap", ">goroutines", ">events judged", ">grants")
	for _, i := range s.shown() {
		r := &s.rounds[i]
		client, goroutines := "-", "-"
		if r.Clients != (Use{}) {
			client, goroutines = megabytes(r.Clients.Heap), thousands(r.Clients.Goroutines)
		}
		t.add(fmt.Sprintf("round %d of %d", r.Round, len(s.rounds)), megabytes(r.Own.Heap), thousands(r.Own.Goroutines),
			client, goroutines, thousands(r.Events), thousands(r.Counts.Grants))
	}
	_ = t.text(&out)
	sum := Summary{Counts: s.counts}
	fmt.Fprintf(&out, "\n%s in %s, judged after each: %s\n", plural(len(s.rounds), "round"), length(time.Duration(s.seconds*float64(time.Second))), sum.found())
	_, err := w.Write(out.Bytes())
	return err
}

// shown returns the first round, that in the middle and the last.
func (s *Soak) shown() []int {
	last := len(s.rounds) - 1
	if last < 0 {
		return nil
	}
	return slices.Compact([]int{0, (last + 1) / 2, last})
}

func megabytes(bytes uint64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// AppendRound writes a line to the folder's rounds.jsonl, of which round 1 makes
// a new one.
func (f *Folder) AppendRound(r SoakRound) (err error) {
	if err := ours(f.path); err != nil {
		return fmt.Errorf("report: %s: %w", f.path, err)
	}
	how := os.O_APPEND
	if r.Round == 1 {
		how = os.O_TRUNC
	}
	file, err := os.OpenFile(filepath.Join(f.path, RoundsFile), os.O_CREATE|os.O_WRONLY|how, 0o666)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
	}()
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = file.Write(append(data, '\n'))
	return err
}
