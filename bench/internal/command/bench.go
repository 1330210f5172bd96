// Package command is what the commands that measure have in common: flags,
// progress, files and the exit status.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/report"
	"github.com/quorumlock/redlock/bench/internal/scenario"
)

// Exit statuses.
const (
	AsPredicted = 0
	Different   = 1
	NotMeasured = 2
)

// A Bench is a command that measures.
type Bench struct {
	Name      string   // of its files
	Use       string   // how it is called
	Out       string   // the folder of results that nobody means to keep
	Rounds    int      // how often what takes time is measured
	Modules   []string // whose versions matter
	Scenarios []scenario.Scenario
}

// Main runs the command and returns its exit status.
func (b *Bench) Main(ctx context.Context, args []string, out, progress io.Writer) int {
	settings, err := b.parse(args, out)
	switch {
	case errors.Is(err, errHelp):
		return AsPredicted
	case err != nil:
		fmt.Fprintf(progress, "bench: %v\nRun `%s -h` for help.\n", err, b.Use)
		return NotMeasured
	}
	// go-redis tells stderr of every failed dial; here they fail on purpose.
	redis.SetLogger(silent{})
	run, err := b.measure(ctx, settings, out, progress)
	if err == nil {
		err = report.Write(settings.out, b.Name, run)
	}
	if err != nil {
		fmt.Fprintf(progress, "bench: could not measure: %v\n", err)
		return NotMeasured
	}
	return verdict(run, settings.out, out)
}

// measure runs the scenarios and shows what each has found.
func (b *Bench) measure(ctx context.Context, s settings, out, progress io.Writer) (*report.Run, error) {
	env := scenario.NewEnv(s.nodes, s.quick, s.rounds, progress)
	run := &report.Run{
		Command: s.command, Date: time.Now().UTC().Truncate(time.Second),
		Machine: report.ThisMachine(), Versions: report.Versions(b.Modules...),
		Nodes: string(s.nodes), Quick: s.quick,
	}
	began := time.Now()
	for _, which := range s.scenarios {
		sections, err := env.Run(ctx, which)
		if err != nil {
			return nil, err
		}
		for i := range sections {
			if len(sections[i].Samples) == 0 {
				continue
			}
			if err := sections[i].Text(out); err != nil {
				return nil, err
			}
			run.Sections = append(run.Sections, sections[i])
		}
	}
	run.Took = time.Since(began).Round(time.Second).String()
	return run, nil
}

// verdict says how the run ended, and returns the exit status.
func verdict(run *report.Run, folder string, out io.Writer) int {
	fmt.Fprintf(out, "took %s; files are in %s\n", run.Took, folder)
	if run.Nodes == string(fleet.Embedded) {
		fmt.Fprintln(out, "the nodes were inside this process: only counts mean anything")
	}
	if run.Quick {
		fmt.Fprintln(out, "a quick run: times are too short to be quoted")
	}
	for _, line := range run.Missed() {
		fmt.Fprintf(out, "missed the aim: %s\n", line)
	}
	failures := run.Failures()
	for _, line := range failures {
		fmt.Fprintf(out, "DIFFERENT: %s\n", line)
	}
	checked := run.Checked()
	if len(failures) > 0 {
		fmt.Fprintf(out, "%d of %d predictions are wrong\n", len(failures), checked)
		return Different
	}
	fmt.Fprintf(out, "all %d predictions are right\n", checked)
	return AsPredicted
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
