package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/quorumlock/redlock/chaos/plan"
)

// settings are what the flags say.
type settings struct {
	out io.Writer // what people asked for
	err io.Writer // progress and errors

	backend   string
	nodes     int
	clients   int
	duration  time.Duration
	round     time.Duration
	seed      uint64
	faults    []string
	plan      string
	schedules int
	matrix    bool
	list      bool
	replay    string
	folder    string
	binaries  []string
	apart     bool
	images    []string
	urls      []string
	prefix    string // of keys, with urls
	yes       bool

	chosen map[string]bool // flags that were given
}

var backends = []string{"embedded", "sim", "process", "docker", "urls"}

// parse reads the command line. If done, the program is over with the status.
func parse(args []string, out, errs io.Writer) (s *settings, status int, done bool) {
	s = &settings{out: out, err: errs, chosen: map[string]bool{}}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		fmt.Fprint(errs, "Attacks the lock and judges what comes of it: go run ./chaos [flags]\n\n"+
			"Without flags it attacks nodes inside the process for half a minute, and then shows that the same\n"+
			"checks do find two holders where an assumption is broken.\n\n")
		flags.PrintDefaults()
		fmt.Fprint(errs, "\nExit status: 0 as promised, 1 violation, 2 could not run, 3 proved nothing.\n")
	}
	var faults, binaries, images, urls string
	flags.StringVar(&s.backend, "backend", "embedded", "what to attack: "+strings.Join(backends, ", "))
	flags.IntVar(&s.nodes, "nodes", 5, "how many nodes: 3, 5 or 7")
	flags.IntVar(&s.clients, "clients", 4, "how many clients, in the default attack")
	flags.DurationVar(&s.duration, "duration", 25*time.Second, "how long the default attack takes; healing comes after it")
	flags.DurationVar(&s.round, "round", time.Minute, "an attack of at least two of these is a soak: judged and forgotten round by round, so that it may take days")
	flags.Uint64Var(&s.seed, "seed", 1, "what everything random follows from")
	flags.StringVar(&faults, "faults", "", "limit the default attack to these, with commas between; see -list")
	flags.StringVar(&s.plan, "plan", "", "run one plan; see -list")
	flags.IntVar(&s.schedules, "schedules", 0, "with -backend sim: so many schedules of the plan (default: random), from the seed on")
	flags.BoolVar(&s.matrix, "matrix", false, "run every assumption kept and broken, in simulated time unless a backend is named")
	flags.BoolVar(&s.list, "list", false, "list faults and plans, and where they can run")
	flags.StringVar(&s.replay, "replay", "", "run the plan in this `file` again: a history.jsonl, or a plan as JSON")
	flags.StringVar(&s.folder, "out", "", "the folder for the report (default: chaos-report); the default attack makes one of its own for each of its two reports in there")
	flags.StringVar(&binaries, "servers", "", "with -backend process: server programs, by node in turn, with commas between")
	flags.BoolVar(&s.apart, "client-processes", false, "make every client a process of its own, which faults kill and stop as the kernel does; not in simulated time")
	flags.StringVar(&images, "image", "redis:8", "with -backend docker: what runs in the containers, by node in turn, with commas between")
	flags.StringVar(&urls, "urls", "", "with -backend urls: your own masters, redis://user:password@host:port/db, with commas between (default: what is in the environment as "+urlsEnv+")")
	flags.BoolVar(&s.yes, "yes", false, "with -backend urls: go ahead; without it the run only says what it would do")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, exitAsPromised, true
	}
	if err != nil {
		return nil, exitCannotRun, true
	}
	flags.Visit(func(f *flag.Flag) { s.chosen[f.Name] = true })
	s.faults, s.binaries, s.images = split(faults), split(binaries), split(images)
	s.own(split(urls))
	if err := s.validate(flags.Args()); err != nil {
		fmt.Fprintf(errs, "chaos: %v; -h helps\n", err)
		return nil, exitCannotRun, true
	}
	if s.folder == "" {
		s.folder = "chaos-report"
	}
	return s, 0, false
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// validate returns which value makes no sense.
func (s *settings) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unknown argument %q", rest[0])
	case !slices.Contains(backends, s.backend):
		return fmt.Errorf("-backend %q, want one of %s", s.backend, strings.Join(backends, ", "))
	case s.backend == "urls" != (len(s.urls) > 0) && !s.list:
		return fmt.Errorf("-backend %s with %d -urls: want both or none", s.backend, len(s.urls))
	case s.yes && s.backend != "urls":
		return fmt.Errorf("-yes with -backend %s, want urls", s.backend)
	case len(s.urls) > 0 && s.nodes != len(s.urls):
		return fmt.Errorf("-nodes %d with %d -urls", s.nodes, len(s.urls))
	case s.nodes != 3 && s.nodes != 5 && s.nodes != 7:
		return fmt.Errorf("-nodes %d, want 3, 5 or 7", s.nodes)
	case s.clients < 2 || s.clients > 20:
		return fmt.Errorf("-clients %d, want 2 to 20", s.clients)
	case s.duration < 5*time.Second:
		return fmt.Errorf("-duration %v, want 5 s or more", s.duration)
	case s.round < 10*time.Second:
		return fmt.Errorf("-round %v, want 10 s or more", s.round)
	case s.schedules < 0 || s.schedules > 0 && s.backend != "sim":
		return fmt.Errorf("-schedules %d with -backend %s, want a number above 0 and sim", s.schedules, s.backend)
	case s.apart && (s.backend == "sim" || s.matrix && !s.chosen["backend"]):
		return errors.New("-client-processes in simulated time, want a backend in real time")
	case len(s.binaries) > 0 && s.backend != "process":
		return fmt.Errorf("-servers with -backend %s, want process", s.backend)
	case s.chosen["image"] && s.backend != "docker" && !s.list:
		return fmt.Errorf("-image with -backend %s, want docker", s.backend)
	case len(s.images) == 0:
		return errors.New("-image is empty")
	}
	for _, f := range s.faults {
		if _, ok := plan.Find(f); !ok {
			return fmt.Errorf("-faults %q is unknown, see -list", f)
		}
	}
	if _, ok := plan.Named(s.plan); s.plan != "" && !ok {
		return fmt.Errorf("-plan %q is unknown, see -list", s.plan)
	}
	modes := 0
	for _, name := range []string{"plan", "matrix", "list", "replay"} {
		if s.chosen[name] {
			modes++
		}
	}
	if modes > 1 {
		return errors.New("-plan, -matrix, -list and -replay: want one of them")
	}
	for _, name := range []string{"faults", "duration", "round", "clients"} {
		if s.chosen[name] && (modes > 0 || s.backend == "sim") {
			return fmt.Errorf("-%s is for the default attack, in real time", name)
		}
	}
	return nil
}
