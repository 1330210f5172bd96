package report

import (
	"fmt"
	"path/filepath"
	"slices"
)

// A chart says how a section becomes a picture.
type chart struct {
	section string
	title   string
	along   string // the circumstance on the horizontal axis
	label   string // of it
	only    map[string]string
	low     string // the quantity; with high, the lower end of a range
	high    string
	unit    string  // on the vertical axis
	scale   float64 // of the values on it; 0 is 1
	bars    bool    // from zero; otherwise lines, on a logarithmic scale
}

// charts are the pictures of a run.
var charts = []chart{
	{section: "commands", title: "Commands for one lock, on all nodes together", along: "N", label: "nodes", low: "total", unit: "commands", bars: true},
	{section: "price", title: "Commands for one lock, on all nodes together", along: "N", label: "nodes", low: "sent for a lock", unit: "commands", bars: true},
	{section: "throughput", title: "Throughput: locks acquired and released", along: "goroutines", label: "goroutines", low: "pairs/s", unit: "pairs/s"},
	{section: "faults", title: "Acquiring, 16 goroutines: median to 99th percentile", along: "fault", label: "one of five nodes", only: map[string]string{"step": "acquire", "goroutines": "16"}, low: "p50", high: "p99", unit: "microseconds"},
	{section: "contention", title: "Locks handed out, of the ideal: 16 waiters", along: "hold", label: "held for", only: map[string]string{"waiters": "16"}, low: "locks/s", unit: "locks/s"},
	{section: "availability", title: "Time a year in which no lock can be had, if each node is down", along: "N", label: "nodes", low: "without, a year", unit: "minutes", scale: 1 / 60e6},
}

// A picture is a chart that was drawn.
type picture struct{ section, title, file string }

// picturesOf returns the pictures of a run.
func picturesOf(r *Run, name string) []picture {
	var pictures []picture
	for _, c := range charts {
		if s := r.Section(c.section); s != nil && len(c.series(s)) > 0 {
			pictures = append(pictures, picture{c.section, c.title, name + "-" + c.section + ".png"})
		}
	}
	return pictures
}

// drawAll draws the pictures of a run into a folder.
func drawAll(r *Run, folder, name string) ([]picture, error) {
	pictures := picturesOf(r, name)
	order := r.subjects()
	for _, p := range pictures {
		i := slices.IndexFunc(charts, func(c chart) bool { return c.section == p.section })
		if err := charts[i].draw(r.Section(p.section), order, filepath.Join(folder, p.file)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
	}
	return pictures, nil
}

// A series is one line of a chart.
type series struct {
	name      string
	low, high map[string]float64 // by where it is along the axis
}

// series returns the lines, one for each client, or for each other circumstance
// where there is one client.
func (c *chart) series(s *Section) []series {
	var all []series
	for i := range s.Samples {
		m := &s.Samples[i]
		if !c.shows(m) {
			continue
		}
		name := c.nameOf(m)
		at := slices.IndexFunc(all, func(o series) bool { return o.name == name })
		if at < 0 {
			at = len(all)
			all = append(all, series{name, map[string]float64{}, map[string]float64{}})
		}
		values := all[at].low
		if m.Quantity == c.high {
			values = all[at].high
		}
		v := m.Median()
		if c.scale != 0 {
			v *= c.scale
		}
		values[m.Param(c.along)] = v
	}
	return all
}

func (c *chart) shows(m *Sample) bool {
	for name, value := range c.only {
		if m.Param(name) != value {
			return false
		}
	}
	return (m.Quantity == c.low || m.Quantity == c.high) && len(m.Rounds) > 0 && m.Median() > 0
}

// nameOf is the sample's in the legend: all that is not on an axis.
func (c *chart) nameOf(m *Sample) string {
	name := m.Subject
	for _, p := range m.Case {
		if _, fixed := c.only[p.Name]; p.Name != c.along && !fixed {
			if name != "" {
				name += ", "
			}
			name += p.Value
		}
	}
	return name
}

// places returns what is along the horizontal axis, in the order of the samples.
func (c *chart) places(s *Section) []string {
	var places []string
	for i := range s.Samples {
		m := &s.Samples[i]
		if at := m.Param(c.along); c.shows(m) && !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	return places
}
