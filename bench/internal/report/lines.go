package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// writeCSV writes a line for each value of each round.
func writeCSV(r *Run, b *bytes.Buffer) error {
	w := csv.NewWriter(b)
	lines := [][]string{{"scenario", "case", "client", "quantity", "unit", "round", "value", "relation", "want", "aim"}}
	for _, section := range r.Sections {
		for _, s := range section.Samples {
			var params []string
			for _, p := range s.Case {
				params = append(params, p.Name+"="+p.Value)
			}
			want := []string{"", "", ""}
			if s.Want != nil {
				want = []string{string(s.Want.Relation), number(s.Want.Value), strconv.FormatBool(s.Want.Aim)}
			}
			for i, v := range s.Rounds {
				line := []string{
					section.Name, strings.Join(params, " / "), s.Subject,
					s.Quantity, string(s.Unit), strconv.Itoa(i + 1), number(v),
				}
				lines = append(lines, append(line, want...))
			}
		}
	}
	return w.WriteAll(lines)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// writeBenchstat writes the run as `go test -bench` would, a line for each round
// of each case, for golang.org/x/perf/cmd/benchstat.
func writeBenchstat(r *Run, b *bytes.Buffer) error {
	fmt.Fprintf(b, "pkg: github.com/quorumlock/redlock/bench\ncpu: %s\n", r.Machine.Processor)
	for _, section := range r.Sections {
		var order []string
		lines := map[string][]string{} // by name: a line for each round
		for _, s := range section.Samples {
			name := s.benchmark(section.Name)
			if _, ok := lines[name]; !ok {
				order = append(order, name)
			}
			for i, v := range s.Rounds {
				if i == len(lines[name]) {
					lines[name] = append(lines[name], "")
				}
				lines[name][i] += "\t" + number(v) + " " + s.benchmarkUnit()
			}
		}
		for _, name := range order {
			for _, line := range lines[name] {
				fmt.Fprintf(b, "%s\t1%s\n", name, line)
			}
		}
	}
	return nil
}

// benchmark returns the name of the sample's case.
func (s *Sample) benchmark(section string) string {
	name := "Benchmark" + strings.ToUpper(section[:1]) + section[1:]
	for _, p := range s.Case {
		name += "/" + word(p.Name) + "=" + word(p.Value)
	}
	if s.Subject != "" {
		name += "/client=" + word(s.Subject)
	}
	return name
}

// benchmarkUnit returns quantity and unit as one word. For a rate it ends in
// "/s", so that more is better.
func (s *Sample) benchmarkUnit() string {
	name := word(strings.TrimSuffix(s.Quantity, "/s"))
	switch s.Unit {
	case Rate:
		return name + "/s"
	case Number:
		return name
	default:
		return name + "-" + word(string(s.Unit))
	}
}

// word makes one word that benchstat takes for a part of a name.
func word(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ReplaceAll(s, "%", "percent"), func(r rune) bool {
		return strings.ContainsRune(" /,=-()", r)
	}), "_")
}
