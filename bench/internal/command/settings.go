package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/scenario"
)

// errHelp: help was asked for and shown.
var errHelp = errors.New("help")

// settings are what the flags say.
type settings struct {
	command   string // that says the same
	quick     bool
	rounds    int
	out       string
	nodes     fleet.Kind
	scenarios []scenario.Scenario
}

// parse reads the flags.
func (b *Bench) parse(args []string, help io.Writer) (settings, error) {
	s := settings{command: strings.Join(append([]string{b.Use}, args...), " ")}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&s.quick, "quick", false, "a short run: all predictions are checked, times are too short to be quoted")
	flags.IntVar(&s.rounds, "rounds", 0, fmt.Sprintf("measure what takes time `n` times; medians are shown (default %d, with -quick 1)", b.Rounds))
	flags.StringVar(&s.out, "out", b.Out, "write benchmarks.md, tables, data and pictures into this `folder`")
	nodes := flags.String("nodes", string(fleet.Best()), "\"process\": redis-server processes; \"embedded\": nodes in this process, for counts only")
	only := flags.String("only", "", "run only these scenarios, a `list` such as commands,hygiene")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		b.help(flags, help)
		return s, errHelp
	case err != nil:
		return s, err
	case flags.NArg() > 0:
		return s, fmt.Errorf("there are no arguments, only flags: %q", flags.Args())
	case s.rounds < 0 || s.rounds > 100:
		return s, fmt.Errorf("-rounds %d, want 1 to 100", s.rounds)
	case s.out == "":
		return s, errors.New("-out is empty, want a folder")
	}
	if s.rounds == 0 {
		s.rounds = b.Rounds
		if s.quick {
			s.rounds = 1
		}
	}
	s.nodes = fleet.Kind(*nodes)
	if s.nodes != fleet.Process && s.nodes != fleet.Embedded {
		return s, fmt.Errorf("-nodes %q, want %s or %s", *nodes, fleet.Process, fleet.Embedded)
	}
	s.scenarios, err = b.choose(*only)
	return s, err
}

// choose returns the scenarios of a list, in their own order; all for "".
func (b *Bench) choose(list string) ([]scenario.Scenario, error) {
	if list == "" {
		return b.Scenarios, nil
	}
	wanted := strings.Split(list, ",")
	var chosen []scenario.Scenario
	for _, s := range b.Scenarios {
		if slices.Contains(wanted, s.Name) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(chosen, func(s scenario.Scenario) bool { return s.Name == name }) {
			return nil, fmt.Errorf("-only: there is no scenario %q; there are: %s", name, strings.Join(b.names(), ", "))
		}
	}
	return chosen, nil
}

func (b *Bench) names() []string {
	var names []string
	for _, s := range b.Scenarios {
		names = append(names, s.Name)
	}
	return names
}

func (b *Bench) help(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, `usage: %s [flags]

Measures locks on Redis servers that it starts itself. Scenarios:
`, b.Use)
	for _, s := range b.Scenarios {
		fmt.Fprintf(w, "  %-13s %s\n", s.Name, s.Title)
	}
	fmt.Fprintf(w, "\nFlags:\n")
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprintf(w, `
Tables go to standard output, what is being done to standard error.
Exit status: 0 all is as predicted, 1 something is not, 2 it could not measure
(go run itself exits with 1 then, and says "exit status 2").
`)
}
