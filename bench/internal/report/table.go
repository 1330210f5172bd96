package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A table is a section's samples: a line for each subject and case, a column for
// each quantity.
type table struct {
	head []string
	rows [][]string
}

// table arranges the samples. spread: cells say how far the rounds lie apart.
func (s *Section) table(spread bool) table {
	var t table
	rows := map[string]int{}
	columns := map[string]int{}
	var params []string
	subjects := false
	for i := range s.Samples {
		m := &s.Samples[i]
		subjects = subjects || m.Subject != ""
		for _, p := range m.Case {
			if _, ok := columns[p.Name]; !ok {
				columns[p.Name] = len(params)
				params = append(params, p.Name)
			}
		}
	}
	t.head = append(t.head, params...)
	if subjects {
		t.head = append(t.head, "client")
	}
	first := len(t.head) // the first column with a quantity
	quantities := map[string]int{}
	for i := range s.Samples {
		m := &s.Samples[i]
		column, ok := quantities[m.Quantity]
		if !ok {
			column = len(t.head)
			quantities[m.Quantity] = column
			t.head = append(t.head, m.Quantity)
		}
		key := fmt.Sprint(m.Subject, m.Case)
		row, ok := rows[key]
		if !ok {
			row = len(t.rows)
			rows[key] = row
			var labels []string
			for _, p := range params {
				labels = append(labels, m.Param(p))
			}
			if subjects {
				labels = append(labels, m.Subject)
			}
			t.rows = append(t.rows, labels[:first:first])
		}
		for len(t.rows[row]) <= column {
			t.rows[row] = append(t.rows[row], "")
		}
		t.rows[row][column] = m.cell(spread)
	}
	for i := range t.rows {
		for len(t.rows[i]) < len(t.head) {
			t.rows[i] = append(t.rows[i], "")
		}
	}
	return t
}

// cell is the sample in its table.
func (s *Sample) cell(spread bool) string {
	c := s.Unit.Format(s.Median())
	if low, high := s.Spread(); spread && low != high {
		c += fmt.Sprintf(" (%s-%s)", s.Unit.bare(low), s.Unit.bare(high))
	}
	if !s.Met() {
		c += fmt.Sprintf(" [want %s %s]", s.Want.Relation, s.Unit.Format(s.Want.Value))
	}
	return c
}

// bare is Format without what is the same for the number beside it.
func (u Unit) bare(v float64) string {
	if u == Time {
		return u.Format(v)
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(u.Format(v), "x"), " %"), " B")
}

// Text writes the section for a terminal.
func (s *Section) Text(w io.Writer) error {
	t := s.table(false)
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Title)
	for _, row := range append([][]string{t.head}, t.rows...) {
		line := ""
		for i, cell := range row {
			line += "  " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// markdown is the table for a page.
func (t table) markdown() string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + strings.ReplaceAll(c, "|", "\\|") + " |")
		}
		b.WriteString("\n")
	}
	line(t.head)
	b.WriteString("|" + strings.Repeat(" --- |", len(t.head)) + "\n")
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}
