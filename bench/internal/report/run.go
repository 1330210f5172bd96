package report

import (
	"slices"
	"time"
)

// A Run is one execution of a benchmark command.
type Run struct {
	Command  string    `json:"command"` // that repeats it
	Date     time.Time `json:"date"`
	Took     string    `json:"took"`
	Machine  Machine   `json:"machine"`
	Nodes    string    `json:"nodes"`    // "process" or "embedded"
	Versions []Param   `json:"versions"` // of everything that matters
	Quick    bool      `json:"quick"`    // too short for times to be worth anything
	Sections []Section `json:"sections"`
}

// A Section is what one scenario measured.
type Section struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	About   string   `json:"about"` // what was done, for people
	Samples []Sample `json:"samples"`
}

// Section returns a section by name, or nil.
func (r *Run) Section(name string) *Section {
	for i := range r.Sections {
		if r.Sections[i].Name == name {
			return &r.Sections[i]
		}
	}
	return nil
}

// subjects returns the clients in the order in which they appear.
func (r *Run) subjects() []string {
	var all []string
	for i := range r.Sections {
		for _, s := range r.Sections[i].Samples {
			if !slices.Contains(all, s.Subject) {
				all = append(all, s.Subject)
			}
		}
	}
	return all
}

// Failures returns the samples that are not as predicted and have to be, a line
// each.
func (r *Run) Failures() []string { return r.lines((*Sample).Fails) }

// Missed returns the aims that were missed, a line each.
func (r *Run) Missed() []string {
	return r.lines(func(s *Sample) bool { return s.Want != nil && s.Want.Aim && !s.Met() })
}

// Checked returns how many predictions were checked, aims left out.
func (r *Run) Checked() int {
	return len(r.lines(func(s *Sample) bool { return s.Want != nil && !s.Want.Aim }))
}

func (r *Run) lines(which func(*Sample) bool) []string {
	var lines []string
	for i := range r.Sections {
		for j := range r.Sections[i].Samples {
			if s := &r.Sections[i].Samples[j]; which(s) {
				lines = append(lines, r.Sections[i].Title+": "+s.String())
			}
		}
	}
	return lines
}
