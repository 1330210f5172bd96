package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"text/tabwriter"
)

// settings are what the flags say.
type settings struct {
	out io.Writer
	err io.Writer

	mutants  []Mutant // those that are to run
	seeds    int
	parallel int
	list     bool
}

// parse reads the command line. If done, the program is over with the status.
func parse(args []string, out, errs io.Writer) (s *settings, status int, done bool) {
	s = &settings{out: out, err: errs}
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		fmt.Fprint(errs, "Plants bugs in the lock and shows that the chaos suite finds them: go run ./chaos/mutants [flags]\n\n"+
			"First the lock as it is must pass, with the same plans and seeds. Then each mutant is built and run until a\n"+
			"check kills it or the seeds are used up.\n\n")
		flags.PrintDefaults()
		fmt.Fprint(errs, "\nExit status: 0 all killed, 1 one survived or was not reached, 2 could not run.\n")
	}
	var pattern string
	flags.StringVar(&pattern, "run", "", "only mutants whose name matches this regular `expression`")
	flags.IntVar(&s.seeds, "seeds", 240, "how many seeds of each plan a mutant must survive to count as a survivor")
	flags.IntVar(&s.parallel, "parallel", min(runtime.GOMAXPROCS(0), 4), "how many mutants at a time")
	flags.BoolVar(&s.list, "list", false, "list the mutants")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, exitAllKilled, true
	}
	if err != nil {
		return nil, exitCannotRun, true
	}
	if err := s.choose(pattern, flags.Args()); err != nil {
		fmt.Fprintf(errs, "mutants: %v; -h helps\n", err)
		return nil, exitCannotRun, true
	}
	return s, 0, false
}

func (s *settings) choose(pattern string, rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unknown argument %q", rest[0])
	}
	if s.seeds < 1 || s.parallel < 1 {
		return fmt.Errorf("-seeds %d and -parallel %d, want 1 or more", s.seeds, s.parallel)
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	for _, m := range Catalog() {
		if expression.MatchString(m.Name) {
			s.mutants = append(s.mutants, m)
		}
	}
	if len(s.mutants) == 0 {
		return fmt.Errorf("-run %q matches no mutant", pattern)
	}
	return nil
}

// printList lists the mutants.
func (s *settings) printList() error {
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "MUTANT\tWHAT IT BREAKS\tMAY BE KILLED BY\tPLANS")
	for _, m := range s.mutants {
		var plans []string
		for _, t := range m.Trials {
			plans = append(plans, t.String())
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", m.Name, m.Breaks, strings.Join(m.Killers, ", "), strings.Join(plans, ", "))
	}
	return out.Flush()
}
