package check

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// A span is a time, both ends included.
type span struct{ from, to time.Duration }

// spans are sorted and have gaps between them.
type spans []span

// union returns the times that are in any of all, and in the gaps of up to gap
// between them. It may use the memory of all.
func union(all []span, gap time.Duration) spans {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to+gap {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return spans(merged)
}

// touch returns the last span that has an instant in common with [from, to].
func (s spans) touch(from, to time.Duration) (span, bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].from > to })
	if i == 0 || s[i-1].to < from {
		return span{}, false
	}
	return s[i-1], true
}

// A crowd counts how many of many spans, which may overlap, have an instant in
// common with one.
type crowd struct{ starts, ends []time.Duration }

func (c *crowd) add(s span) {
	c.starts, c.ends = append(c.starts, s.from), append(c.ends, s.to)
}

func (c *crowd) sort() {
	slices.Sort(c.starts)
	slices.Sort(c.ends)
}

// meets needs a sorted crowd: those that began by to, less those that had ended
// before from.
func (c *crowd) meets(s span) int {
	begun, _ := slices.BinarySearch(c.starts, s.to+1)
	over, _ := slices.BinarySearch(c.ends, s.from)
	return begun - over
}
