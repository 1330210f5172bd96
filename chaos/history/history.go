package history

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Owner returns what client i calls itself in its keys.
func Owner(client int) string { return fmt.Sprintf("client-%d", client) }

// The classes of plans in a Header: what of a run is judged is decided by what
// its plan injects, never by what was seen.
const (
	InModel    = "in model"     // keeps every assumption: nothing may overlap
	Slack      = "slack"        // uses what A2 leaves over: the same
	OutOfModel = "out of model" // breaks one: the run must show it
)

// A Header says what was run. It is the first line of a written history.
type Header struct {
	Format   int             `json:"format"` // Format
	Plan     string          `json:"plan"`   // its name
	Class    string          `json:"class"`  // InModel, Slack or OutOfModel
	Expect   string          `json:"expect"` // what it is expected to show, for people
	Backend  string          `json:"backend"`
	Seed     uint64          `json:"seed"`
	Nodes    int             `json:"nodes"`
	Quorum   int             `json:"quorum"`
	Clients  int             `json:"clients"`
	Attempts int             `json:"attempts"`            // rounds of SETs that were decided
	Length   time.Duration   `json:"length"`              // of the attack; healing comes after it
	Drift    float64         `json:"drift"`               // the drift factor of the clients
	MaxTTL   time.Duration   `json:"max_ttl"`             // the longest in use
	Bound    time.Duration   `json:"bound"`               // within which a healed run grants, beyond the TTL
	Clean    time.Duration   `json:"clean"`               // within which a node that answers is rid of what attempts left, after Calm
	Timeout  time.Duration   `json:"node_timeout"`        // NodeTimeout
	Exact    bool            `json:"exact,omitempty"`     // no scheduling noise: simulated time
	Watched  bool            `json:"watched,omitempty"`   // Kept and Deleted are recorded
	Reliable bool            `json:"reliable,omitempty"`  // no message is lost, doubled or late but by a Fault
	Prompt   bool            `json:"prompt,omitempty"`    // a message arrives once at most, and before a TTL is over
	PlanData json.RawMessage `json:"plan_data,omitempty"` // the whole plan, to be replayed
}

// Format is the version of the written form.
const Format = 1

// A History is a run's record: events in the order in which they happened.
type History struct {
	Header
	Events []Event
}

// Encode writes h as JSON lines: the header, and one line for each event.
func (h *History) Encode(w io.Writer) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	if err := lines.Encode(h.Header); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for i := range h.Events {
		if err := lines.Encode(&h.Events[i]); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return out.Flush()
}

// Decode reads what Encode wrote.
func Decode(r io.Reader) (*History, error) {
	lines := json.NewDecoder(r)
	h := &History{}
	if err := lines.Decode(&h.Header); err != nil {
		return nil, fmt.Errorf("history: header: %w", err)
	}
	if h.Format != Format {
		return nil, fmt.Errorf("history: format %d, want %d", h.Format, Format)
	}
	for {
		var e Event
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, fmt.Errorf("history: event %d: %w", len(h.Events)+1, err)
		}
		h.Events = append(h.Events, e)
	}
}

// Hash returns a digest of all that Encode writes: equal hashes are equal runs.
func (h *History) Hash() string {
	sum := sha256.New()
	if err := h.Encode(sum); err != nil {
		panic(err) // a digest takes everything, and all fields can be encoded
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// A Recorder collects the events of a run. It is safe for concurrent use.
type Recorder struct {
	now func() time.Duration

	mu     sync.Mutex
	events []Event      // guarded by mu
	counts map[Kind]int // guarded by mu
	calls  int          // guarded by mu
}

// NewRecorder returns an empty recorder with a true clock.
func NewRecorder(now func() time.Duration) *Recorder {
	return &Recorder{now: now, counts: map[Kind]int{}}
}

// Now returns the true time.
func (r *Recorder) Now() time.Duration { return r.now() }

// Add records e, which happens now.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = r.now()
	r.events = append(r.events, e)
	r.counts[e.Kind]++
}

// Put records e, which happened at e.At: another process saw it and has only now
// told. Of one process events must come in their order.
func (r *Recorder) Put(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.counts[e.Kind]++
}

// Counts returns how many events of each kind there are so far.
func (r *Recorder) Counts() map[Kind]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// NextCall returns the number of a new acquisition.
func (r *Recorder) NextCall() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return r.calls
}

// Events returns what was recorded, by time. Nothing may be recorded any more.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	sortByTime(r.events)
	return r.events
}

// sortByTime brings what was Put to where it belongs. Two events of one time stay
// in the order in which they were recorded.
func sortByTime(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}

// Cut returns what was recorded since the time from, which nothing that happened
// before may belong to, and forgets it; the times of what it returns count from
// there. So a long run is judged part by part, each as if it were a run: it may
// only be cut when nobody holds, asks for or believes anything.
func (r *Recorder) Cut(from time.Duration) []Event {
	r.mu.Lock()
	events := r.events
	r.events = nil
	r.mu.Unlock()
	sortByTime(events)
	first := 0
	for first < len(events) && events[first].At < from {
		first++ // told late by a process that was about something already over
	}
	events = events[first:]
	for i := range events {
		e := &events[i]
		e.At -= from
		if e.Until != 0 {
			e.Until = max(e.Until-from, 1) // zero would mean that there is none
		}
		if e.Looked != 0 {
			e.Looked = max(e.Looked-from, 1)
		}
	}
	return events
}
