package simulate

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A Job is a series of schedules: those of Seeds First, First+Stride and so on.
type Job struct {
	Plan   string     `json:"plan"`             // its name in the catalogue
	Data   *plan.Plan `json:"data,omitempty"`   // or the plan itself
	Nodes  int        `json:"nodes"`            // of a plan by name
	First  uint64     `json:"first"`            // the first seed
	Stride uint64     `json:"stride,omitempty"` // from one seed to the next
	Count  int        `json:"count"`            // how many
	Write  string     `json:"write,omitempty"`  // where to write the last history
}

// A Result is what came of one schedule.
type Result struct {
	Seed    uint64         `json:"seed"`
	Begun   bool           `json:"begun,omitempty"` // no result yet: a crash is this seed's
	Verdict check.Verdict  `json:"verdict,omitempty"`
	Why     string         `json:"why,omitempty"`
	Checks  []string       `json:"checks,omitempty"` // those that found something
	Hash    string         `json:"hash,omitempty"`
	True    time.Duration  `json:"true,omitempty"` // how long it was in its own time
	Stats   Stats          `json:"stats"`
	Rates   check.Rates    `json:"rates"`          // of a plan that KeepsPace
	Seen    map[string]int `json:"seen,omitempty"` // faults that were seen to take effect
}

// Stats are counts that add up.
type Stats struct {
	Attempts    int `json:"attempts"` // rounds of SETs
	Calls       int `json:"calls"`
	Contended   int `json:"contended"`
	Grants      int `json:"grants"`
	Overlaps    int `json:"overlaps"`
	LostUpdates int `json:"lost_updates"`
	StaleWrites int `json:"stale_writes"`
}

// Add adds other.
func (s *Stats) Add(other Stats) {
	s.Attempts += other.Attempts
	s.Calls += other.Calls
	s.Contended += other.Contended
	s.Grants += other.Grants
	s.Overlaps += other.Overlaps
	s.LostUpdates += other.LostUpdates
	s.StaleWrites += other.StaleWrites
}

// plan returns the plan of a seed.
func (j *Job) plan(seed uint64) (*plan.Plan, error) {
	if j.Data != nil {
		return j.Data, j.Data.Validate()
	}
	maker, ok := plan.Named(j.Plan)
	if !ok {
		return nil, fmt.Errorf("simulate: no plan is called %q", j.Plan)
	}
	p := maker.Make(seed, j.Nodes)
	return &p, p.Validate()
}

const workerVariable = "REDLOCK_CHAOS_WORKER"

// IsWorker reports whether this process is to call Work.
func IsWorker() bool { return os.Getenv(workerVariable) != "" }

// Work carries out the job that is on the standard input, and writes results to
// the standard output, a line each. It does not return: simulated time needs
// package testing, which ends the process.
func Work() {
	debug.SetGCPercent(400) // short runs, each of which leaves everything behind
	runtime.GOMAXPROCS(1)   // once: Run, which needs it, would stop the world twice a schedule
	var job Job
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		fmt.Fprintln(os.Stderr, "simulate: job:", err)
		os.Exit(2)
	}
	os.Args = os.Args[:1]
	testing.Init()
	flag.CommandLine.Init(os.Args[0], flag.ContinueOnError)
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "Schedules", F: job.run}}, nil, nil)
}

func (j *Job) run(t *testing.T) {
	out := json.NewEncoder(os.Stdout)
	say := func(r Result) {
		if err := out.Encode(r); err != nil {
			os.Exit(2) // nobody listens any more
		}
	}
	for i := range j.Count {
		seed := j.First + uint64(i)*max(j.Stride, 1)
		p, err := j.plan(seed)
		if err != nil {
			t.Fatal(err)
		}
		say(Result{Seed: seed, Begun: true})
		var h *history.History
		t.Run(fmt.Sprint(seed), func(t *testing.T) { h = Run(t, p, seed) })
		if h == nil {
			return
		}
		say(resultOf(h, p))
		if i == j.Count-1 && j.Write != "" {
			if err := write(h, j.Write); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func write(h *history.History, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := h.Encode(f); err != nil {
		return err
	}
	return f.Close()
}

func resultOf(h *history.History, p *plan.Plan) Result {
	judged := check.Judge(h, check.Floors(p.Floors))
	s := &judged.Stats
	r := Result{
		Seed: h.Seed, Verdict: judged.Verdict, Why: judged.Why, Seen: map[string]int{},
		Stats: Stats{
			Attempts: h.Attempts, Calls: s.Attempts, Contended: s.Contended, Grants: s.Grants, Overlaps: s.Overlaps,
			LostUpdates: s.Damage.Lost, StaleWrites: s.Damage.Stale,
		},
	}
	for _, f := range judged.Findings {
		if !slices.Contains(r.Checks, f.Check) {
			r.Checks = append(r.Checks, f.Check)
		}
	}
	if p.KeepsPace {
		r.Rates = check.GrantRate(h)
	}
	if n := len(h.Events); n > 0 {
		r.True = h.Events[n-1].At
	}
	for fault, count := range s.Faults {
		if count.Seen > 0 {
			r.Seen[fault] = count.Seen
		}
	}
	return r
}
