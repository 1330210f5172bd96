package report

import "io"

// A Line is one plan of the assumption matrix: an assumption kept or broken, and
// what came of it.
type Line struct {
	Assumption  string // "A1 kept", "A1 broken: a node's clock is set", ...
	Plan        string
	Grants      int
	Overlaps    int
	LostUpdates int
	Verdict     string // "safe", "unsafe by design, detected", "UNEXPECTED"
}

// A Matrix shows what each assumption is good for.
type Matrix []Line

// WriteText writes the matrix for a terminal.
func (m Matrix) WriteText(w io.Writer) error { return m.table().text(w) }

// WriteMarkdown writes the matrix for a page.
func (m Matrix) WriteMarkdown(w io.Writer) error { return m.table().markdown(w) }

func (m Matrix) table() *table {
	t := newTable("assumption", "plan", ">grants", ">overlaps", ">lost updates", "verdict")
	for i := range m {
		l := &m[i]
		t.add(l.Assumption, l.Plan, thousands(l.Grants), thousands(l.Overlaps), thousands(l.LostUpdates), l.Verdict)
	}
	return t
}
