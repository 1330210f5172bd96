package report

import (
	"bytes"
	"fmt"
	"strings"
)

const pageHead = `# Benchmarks

This page is written by the commands named below; nobody edits it.
A cell is the median of the rounds, with the least and the greatest of them in brackets where they differ.
Compare within one table only: its clients and cases took turns in one run. The servers ran on the same machine as the clients, so absolute figures say little about yours: run the command there.
What each number of nodes is good for is in [choosing.md](choosing.md).

`

// titles say what a run is about.
var titles = map[string]string{
	"client": "The client",
	"peers":  "Beside other clients",
}

// page writes the run's part of the page.
func (r *Run) page(b *bytes.Buffer, name string, pictures []picture) {
	fmt.Fprintf(b, "## %s\n\n", titles[name])
	if r.Quick {
		b.WriteString("**A quick run, to see that all works: its times are not worth quoting.**\n\n")
	}
	if r.Nodes != "process" {
		b.WriteString("**There was no redis-server, and the nodes ran inside the client's process: only counts mean anything.**\n\n")
	}
	r.facts(b, name)
	list := func(head string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(b, "%s\n\n", head)
		for _, line := range lines {
			fmt.Fprintf(b, "- %s\n", line)
		}
		b.WriteString("\n")
	}
	list("**Not as predicted:**", r.Failures())
	list("Aims that this run missed:", r.Missed())
	for i := range r.Sections {
		s := &r.Sections[i]
		if len(s.Samples) == 0 {
			continue
		}
		fmt.Fprintf(b, "### %s\n\n%s\n\n%s\n", s.Title, s.About, s.table(true).markdown())
		for _, p := range pictures {
			if p.section == s.Name {
				fmt.Fprintf(b, "![%s](%s/%s)\n\n", p.title, folderName, p.file)
			}
		}
	}
}

// facts writes what the figures depend on.
func (r *Run) facts(b *bytes.Buffer, name string) {
	t := table{head: []string{"", ""}}
	fact := func(what, value string) {
		if value != "" {
			t.rows = append(t.rows, []string{what, value})
		}
	}
	fact("command", "`"+r.Command+"`")
	fact("date", r.Date.Format("2006-01-02 15:04 UTC")+", took "+r.Took)
	for _, v := range r.Versions {
		fact(v.Name, v.Value)
	}
	m := r.Machine
	fact("machine", strings.Join([]string{m.Processor, fmt.Sprint(m.Cores, " cores"), m.Memory}, ", "))
	fact("system", m.System)
	fact("mean load before the run", m.Load)
	fact("predictions", fmt.Sprintf("%d checked, %d wrong", r.Checked(), len(r.Failures())))
	fact("data", fmt.Sprintf("[JSON](%[1]s/%[2]s.json), [CSV](%[1]s/%[2]s.csv), [benchstat](%[1]s/%[2]s.txt)", folderName, name))
	b.WriteString(t.markdown() + "\n")
}
