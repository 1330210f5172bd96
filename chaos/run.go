package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/report"
	"github.com/quorumlock/redlock/chaos/scratch"
	"github.com/quorumlock/redlock/chaos/simulate"
	"github.com/quorumlock/redlock/chaos/traffic"
)

// run does what the flags ask for, and returns the exit status.
func (s *settings) run(ctx context.Context) (status int, err error) {
	if s.backend == "urls" && !s.list {
		if goOn, err := s.announce(); err != nil || !goOn {
			return exitCannotRun, err
		}
	}
	switch {
	case s.list:
		return s.printList()
	case s.matrix:
		return s.runMatrix(ctx)
	case s.replay != "":
		p, seed, err := readPlan(s.replay)
		if err != nil {
			return 0, err
		}
		return s.runPlan(ctx, p, seed)
	case s.schedules > 0:
		return s.runSchedules(ctx)
	case s.plan != "" || s.backend == "sim":
		name := s.plan
		if name == "" {
			name = "random"
		}
		maker, _ := plan.Named(name)
		p := maker.Make(s.seed, s.nodes)
		return s.runPlan(ctx, &p, s.seed)
	default:
		return s.runAttack(ctx)
	}
}

// readPlan reads a plan, and the seed, from a history or from a plan's file.
func readPlan(path string) (*plan.Plan, uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	var header history.Header
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&header); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	raw, seed := []byte(header.PlanData), header.Seed
	if raw == nil {
		raw = data
	}
	var p plan.Plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return &p, seed, p.Validate()
}

// runAttack runs the default attack, and then a plan that breaks an assumption.
func (s *settings) runAttack(ctx context.Context) (int, error) {
	fmt.Fprintf(s.out, "The claim: as long as the assumptions of docs/guarantees.md hold, no two clients believe at one time\n"+
		"that they hold the same lock. The attack: %v on %d %s nodes with %d clients, seed %d.\n\n",
		s.duration, s.nodes, s.backend, s.clients, s.seed)
	c, err := s.probe(s.backend)
	if err != nil {
		return 0, err
	}
	can := func(fault string) bool { return c.Can(fault) == nil }
	attack := plan.Attack(s.seed, s.nodes, s.clients, s.duration, s.faults, can)
	maker := s.breaker(can)
	if err := c.Close(); err != nil {
		return 0, err
	}
	if s.isSoak() {
		return s.runSoak(ctx, can)
	}
	status, err := s.runPlan(ctx, &attack, s.seed)
	if err != nil || status != exitAsPromised {
		return status, err
	}
	broken := maker.Make(s.seed, s.nodes)
	fmt.Fprintf(s.out, "\nThe same checks where assumption %s does not hold: %s.\n\n", broken.Breaks, broken.About)
	return s.runPlan(ctx, &broken, s.seed)
}

// breaker returns the plan out of model that is to follow the attack: one that the
// backend can do.
func (s *settings) breaker(can func(string) bool) (maker plan.Maker) {
	for _, name := range []string{"clock-jump", "restart-forget", "client-slow"} {
		maker, _ = plan.Named(name)
		p := maker.Make(s.seed, s.nodes)
		if !slices.ContainsFunc(p.Faults(), func(fault string) bool { return !can(fault) }) {
			break
		}
	}
	return maker
}

// runPlan runs one plan, writes the report and prints what came of it.
func (s *settings) runPlan(ctx context.Context, p *plan.Plan, seed uint64) (int, error) {
	path := s.path(p)
	folder, err := report.OpenFolder(path)
	if err != nil {
		return 0, err
	}
	h, err := s.record(ctx, p, seed)
	if err != nil {
		return 0, err
	}
	judged, rates := judge(h, p)
	status := exitOf(judged.Verdict)
	run := s.reported(h, &judged, path)
	run.Pace = pace(rates)
	summary, err := folder.Write(run, func(w io.Writer) error { return check.Draw(h, w) })
	if err != nil {
		return 0, err
	}
	if err := summary.WriteText(s.out); err != nil {
		return 0, err
	}
	fmt.Fprintf(s.out, "\nreport: %s\n", path)
	if status != exitAsPromised {
		for _, missing := range judged.Missing {
			fmt.Fprintln(s.out, "missing:", missing)
		}
		fmt.Fprintln(s.out, "again: ", run.Replay)
	}
	return status, nil
}

// path returns where the plan's report goes: to the folder that was asked for, or
// into one of its own in there, since the default attack makes two reports.
func (s *settings) path(p *plan.Plan) string {
	if s.chosen["out"] && (s.plan != "" || s.replay != "" || s.backend == "sim") {
		return s.folder
	}
	return s.folder + "/" + p.Name
}

// reported returns what the report is made of.
func (s *settings) reported(h *history.History, judged *check.Report, path string) report.Run {
	return report.Run{
		History: h, Marks: marks(judged), Verdict: string(judged.Verdict), Exit: exitOf(judged.Verdict),
		Found:  map[report.MarkKind]int{report.Overlap: judged.Stats.Overlaps},
		Commit: commit(), Contended: judged.Stats.Contended,
		Replay: fmt.Sprintf("go run ./chaos -backend %s%s%s -replay %s/%s", s.backend, s.backendFlags(), s.apartFlag(), path, report.HistoryFile),
	}
}

// setup returns what a cluster in real time is made of. Its time begins with the
// first look at it, not before there is the cluster, which may take a while.
func (s *settings) setup(p *plan.Plan, seed uint64) cluster.Setup {
	start := sync.OnceValue(time.Now)
	log := history.NewRecorder(func() time.Duration { return time.Since(start()) })
	return cluster.Setup{Plan: p, Seed: seed, Apart: s.apart, Log: log}
}

// backendFlags returns the flags that the backend needs, without passwords.
func (s *settings) backendFlags() string {
	switch {
	case s.backend == "urls":
		return " -urls URLS -yes"
	case s.chosen["image"]:
		return " -image " + strings.Join(s.images, ",")
	default:
		return ""
	}
}

// apartFlag returns the flag that makes clients processes, if it was given.
func (s *settings) apartFlag() string {
	if s.apart {
		return " -client-processes"
	}
	return ""
}

func exitOf(v check.Verdict) int {
	switch {
	case v.OK():
		return exitAsPromised
	case v == check.ProvedNothing:
		return exitProvedNothing
	default:
		return exitViolation
	}
}

// record carries the plan out on the backend.
func (s *settings) record(ctx context.Context, p *plan.Plan, seed uint64) (*history.History, error) {
	if s.backend == "sim" {
		return s.simulated(ctx, p, seed)
	}
	setup := s.setup(p, seed)
	c, err := s.newCluster(s.backend, setup)
	if err != nil {
		return nil, err
	}
	if err := can(c, p); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	stop := report.Progress(s.err, s.isTerminal(), func() report.Status { return statusOf(setup.Log, p) })
	h, err := traffic.Run(ctx, setup, c)
	stop()
	h.Backend = s.backend
	return h, err
}

// can returns which of the plan's faults the cluster cannot do.
func can(c cluster.Cluster, p *plan.Plan) error {
	for _, fault := range p.Faults() {
		if err := c.Can(fault); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) isTerminal() bool {
	f, ok := s.err.(*os.File)
	return ok && report.Terminal(f)
}

// newCluster makes a cluster in real time.
func (s *settings) newCluster(backend string, setup cluster.Setup) (cluster.Cluster, error) {
	switch backend {
	case "process":
		return cluster.NewProcess(setup, s.binaries)
	case "docker":
		return cluster.NewDocker(setup, s.images)
	case "urls":
		setup.Plan.KeyPrefix = s.prefix
		return cluster.NewURLs(setup, s.urls)
	default:
		return cluster.NewEmbedded(setup)
	}
}

// simulated runs the plan in simulated time.
func (s *settings) simulated(ctx context.Context, p *plan.Plan, seed uint64) (*history.History, error) {
	if err := can(new(cluster.Sim), p); err != nil {
		return nil, err
	}
	folder, err := scratch.New()
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Remove() }() // or the next run does
	job := simulate.Job{Data: p, First: seed, Count: 1, Write: filepath.Join(folder.Path(), report.HistoryFile)}
	if err := simulate.Start(ctx, job, func(simulate.Result) {}); err != nil {
		return nil, err
	}
	f, err := os.Open(job.Write)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.Decode(f)
}

// statusOf returns how far a run in real time is.
func statusOf(log *history.Recorder, p *plan.Plan) report.Status {
	counts := log.Counts()
	return report.Status{
		Done: int(log.Now().Seconds()), Total: int(p.Length.Seconds()), Unit: "s",
		Grants: max(counts[history.Begin]-counts[history.Failed]-counts[history.Crash], 0), Faults: counts[history.Fault],
	}
}

// marks turns findings into what the report shows beside what it finds in the
// history itself: stale writes and lost updates.
func marks(r *check.Report) (marks []report.Mark) {
	for _, f := range r.Findings {
		kind := report.Note
		switch f.Check {
		case check.CheckOverlap:
			kind = report.Overlap
		case check.CheckStore:
			kind = report.LostUpdate
		}
		marks = append(marks, report.Mark{Kind: kind, Name: f.Name, From: f.From, To: f.To, Clients: f.Clients, Text: f.Text})
	}
	return marks
}

// commit returns the version of the code, if the build knows it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
