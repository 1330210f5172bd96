package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/report"
	"github.com/quorumlock/redlock/chaos/traffic"
)

// isSoak reports whether the attack takes so long that it is judged in rounds.
func (s *settings) isSoak() bool { return s.duration >= 2*s.round }

// errSoakOver ends a soak at its first violation.
var errSoakOver = errors.New("a round was a violation")

// runSoak attacks for long, in rounds on the same nodes and with the same
// clients. Each round is judged at its end, and then forgotten but for a line.
func (s *settings) runSoak(ctx context.Context, can func(string) bool) (int, error) {
	path := s.folder
	if !s.chosen["out"] {
		path += "/soak"
	}
	folder, err := report.OpenFolder(path)
	if err != nil {
		return 0, err
	}
	rounds := int(s.duration / s.round)
	planOf := func(number int) plan.Plan {
		// Healing and calm come after the attack, within the round.
		const rest = 6 * time.Second
		length := max(s.duration/time.Duration(rounds)-rest, 4*time.Second)
		p := plan.Attack(s.seed+uint64(number-1), s.nodes, s.clients, length, s.faults, can)
		p.Name = "soak"
		return p
	}
	first := planOf(1)
	setup := s.setup(&first, s.seed)
	c, err := s.newCluster(s.backend, setup)
	if err != nil {
		return 0, err
	}
	k := &soak{settings: s, folder: folder, plan: &first}
	stop := report.Progress(s.err, s.isTerminal(), func() report.Status { return k.status(setup.Log) })
	err = traffic.Soak(ctx, setup, c, func(number int) (*plan.Plan, uint64) {
		p := planOf(number)
		if number > rounds {
			return nil, 0
		}
		k.begin(&p)
		return &p, s.seed + uint64(number-1)
	}, k.judge)
	stop()
	if err != nil && !errors.Is(err, errSoakOver) {
		return 0, err
	}
	return k.conclude()
}

// A soak is one that goes on.
type soak struct {
	*settings
	folder *report.Folder
	worst  int // exit status
	why    string

	own, clients report.Use // the most in the first rounds

	mu   sync.Mutex
	plan *plan.Plan  // of this round; guarded by mu
	sum  report.Soak // guarded by mu
}

func (k *soak) begin(p *plan.Plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plan = p
}

// judge judges a round. The report is that of the first which is worse than all
// before it, or else of the last.
func (k *soak) judge(r traffic.Round) error {
	h := r.History
	h.Backend = k.backend
	k.mu.Lock()
	floors := k.plan.Floors
	k.mu.Unlock()
	judged := check.Judge(h, check.Floors(floors))
	status := exitOf(judged.Verdict)
	run := k.reported(h, &judged, k.folder.Path())
	summary := report.Summarize(run)
	if status == exitAsPromised && k.worst == exitAsPromised || severity(status) > severity(k.worst) {
		var err error
		if summary, err = k.folder.Write(run, func(w io.Writer) error { return check.Draw(h, w) }); err != nil {
			return err
		}
	}
	line := report.SoakRound{
		Round: r.Number, Seed: h.Seed, Seconds: summary.Seconds, Verdict: summary.Verdict, Exit: status,
		Events: len(h.Events), Counts: summary.Counts, Attacks: summary.Attacks, Own: report.Use(r.Own),
	}
	for _, c := range r.Clients {
		line.Clients = most(line.Clients, report.Use(c))
	}
	why := judged.Why
	if grown := k.grown(&line); grown != "" {
		line.Verdict, line.Exit = grown, exitViolation
		status, why = exitViolation, grown
	}
	if severity(status) > severity(k.worst) {
		k.worst, k.why = status, fmt.Sprintf("round %d (seed %d): %s", r.Number, h.Seed, why)
	}
	k.mu.Lock()
	k.sum.Add(line)
	k.mu.Unlock()
	if err := k.folder.AppendRound(line); err != nil {
		return err
	}
	if status == exitViolation {
		return errSoakOver
	}
	return nil
}

// most returns the larger of each.
func most(a, b report.Use) report.Use {
	return report.Use{Goroutines: max(a.Goroutines, b.Goroutines), Heap: max(a.Heap, b.Heap)}
}

// grown returns what a program at rest uses more of than it did after the first
// rounds, in which all is made that lasts: memory, or in a client's process
// goroutines (those of this one are in the history, and so judged); "": nothing.
func (k *soak) grown(r *report.SoakRound) string {
	const warm = 2
	if r.Round <= warm {
		k.own, k.clients = most(k.own, r.Own), most(k.clients, r.Clients)
		return ""
	}
	// Histories, of which one is in memory, are of unlike length, and a client
	// may have a connection more than it had then.
	grew := func(heap, usual uint64) bool { return heap > usual+usual/2+8<<20 }
	switch {
	case grew(r.Own.Heap, k.own.Heap):
		return fmt.Sprintf("memory at rest has grown from %d bytes to %d", k.own.Heap, r.Own.Heap)
	case grew(r.Clients.Heap, k.clients.Heap):
		return fmt.Sprintf("a client's memory at rest has grown from %d bytes to %d", k.clients.Heap, r.Clients.Heap)
	case r.Clients.Goroutines > k.clients.Goroutines+16:
		return fmt.Sprintf("a client's goroutines at rest have grown from %d to %d", k.clients.Goroutines, r.Clients.Goroutines)
	}
	return ""
}

// severity orders exit statuses by how bad they are.
func severity(status int) int {
	switch status {
	case exitAsPromised:
		return 0
	case exitProvedNothing:
		return 1
	default:
		return 2
	}
}

// status returns how far the soak is, and what it uses.
func (k *soak) status(log *history.Recorder) report.Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	status := statusOf(log, k.plan)
	status.Total = int(k.duration.Seconds())
	status.Overlaps = k.sum.Overlaps()
	status.Now = report.Use(traffic.OwnUse())
	return status
}

func (k *soak) conclude() (int, error) {
	if err := k.sum.WriteText(k.out); err != nil {
		return 0, err
	}
	fmt.Fprintf(k.out, "\nreport: %s (%s has a line for each round)\n", k.folder.Path(), report.RoundsFile)
	verdict := "AS PROMISED"
	switch k.worst {
	case exitViolation:
		verdict = "VIOLATION"
	case exitProvedNothing:
		verdict = "PROVED NOTHING"
	}
	if k.why != "" {
		verdict += ": " + k.why
	}
	fmt.Fprintf(k.out, "%s: soak of %v, seed %d (exit status %d)\n", verdict, k.duration, k.seed, k.worst)
	return k.worst, nil
}
