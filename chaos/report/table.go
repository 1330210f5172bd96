package report

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// A table is rows of words under a header. Columns of numbers are aligned to
// the right.
type table struct {
	header []string
	right  []bool
	rows   [][]string
}

// newTable returns a table with columns; those that begin with ">" are of
// numbers.
func newTable(columns ...string) *table {
	t := &table{}
	for _, c := range columns {
		name, right := strings.CutPrefix(c, ">")
		t.header = append(t.header, name)
		t.right = append(t.right, right)
	}
	return t
}

// add adds a row with a cell for each column.
func (t *table) add(cells ...string) {
	row := make([]string, len(t.right))
	for i := range row {
		if i < len(cells) {
			row[i] = clean(cells[i])
		}
	}
	t.rows = append(t.rows, row)
}

func (t *table) widths() []int {
	widths := make([]int, len(t.right))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// text writes the table for a terminal.
func (t *table) text(w io.Writer) error {
	out := bufio.NewWriter(w)
	widths := t.widths()
	for i, row := range append([][]string{t.header}, t.rows...) {
		if i == 0 && strings.Join(row, "") == "" {
			continue // a list needs no header
		}
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(padded(cell, widths[i], t.right[i]))
		}
		_, _ = out.WriteString(strings.TrimRight(line.String(), " ") + "\n") // Flush reports it
	}
	return out.Flush()
}

// markdown writes the table for a page.
func (t *table) markdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;")
	line := func(cells []string) { _, _ = out.WriteString("| " + strings.Join(cells, " | ") + " |\n") } // Flush reports it
	line(t.header)
	rule := make([]string, len(t.header))
	for i := range rule {
		rule[i] = "---"
		if t.right[i] {
			rule[i] = "---:"
		}
	}
	line(rule)
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i := range row {
			cells[i] = escape.Replace(row[i])
		}
		line(cells)
	}
	return out.Flush()
}

func padded(cell string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell)))
	if right {
		return space + cell
	}
	return cell + space
}
