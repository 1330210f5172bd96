package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// attacks sums blows up by fault. Up to asked clients ask for locks.
func attacks(blows []blow, grants []grantedAt, asked time.Duration) []Attack {
	times := make([]time.Duration, len(grants))
	for i := range grants {
		times[i] = grants[i].at
	}
	slices.Sort(times)
	byFault := map[string][]blow{}
	for _, b := range blows {
		byFault[b.fault] = append(byFault[b.fault], b)
	}
	var all []Attack
	for _, fault := range slices.Sorted(maps.Keys(byFault)) {
		all = append(all, attack(fault, byFault[fault], times, asked))
	}
	return all
}

// beside is how long before a fault and after its end grants are counted: less than
// that, and there are too few, more, and there are other faults.
const beside = 500 * time.Millisecond

func attack(fault string, blows []blow, times []time.Duration, asked time.Duration) Attack {
	a := Attack{Fault: fault, Where: where(blows), Struck: len(blows)}
	slices.SortFunc(blows, func(x, y blow) int { return cmp.Compare(x.from, y.from) })
	var recovery []time.Duration
	var during, before, after []span
	for _, b := range blows {
		if len(b.seen) > 0 {
			a.Seen++
		}
		if next, _ := slices.BinarySearch(times, b.to); next < len(times) {
			recovery = append(recovery, times[next]-b.to)
		}
		during = append(during, b.span)
		before = append(before, span{max(0, b.from-beside), b.from})
		after = append(after, span{b.to, min(b.to+beside, asked)})
	}
	slices.Sort(recovery)
	a.Recovered = len(recovery)
	a.RecoveryP50, a.RecoveryMax = quantile(recovery, 0.5), quantile(recovery, 1)
	var acted time.Duration
	a.Grants, acted = within(times, during)
	a.ActedMS = millis(acted)
	a.Before, a.After = perSecond(within(times, before)), perSecond(within(times, after))
	return a
}

// within returns how many of the times are in the spans, and how long these are
// together, what overlaps once.
func within(times []time.Duration, spans []span) (count int, long time.Duration) {
	slices.SortFunc(spans, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	covered := time.Duration(-1)
	for _, s := range spans {
		if from := max(s.from, covered); s.to > from {
			first, _ := slices.BinarySearch(times, from)
			next, _ := slices.BinarySearch(times, s.to)
			count += next - first
			long += s.to - from
			covered = s.to
		}
	}
	return count, long
}

func perSecond(count int, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return float64(count) / in.Seconds()
}

// where says whom blows struck: "nodes 1-5", "clients 2 and 3".
func where(blows []blow) string {
	var nodes, clients []int
	for _, b := range blows {
		switch {
		case b.node > 0:
			nodes = append(nodes, b.node)
		case b.client > 0:
			clients = append(clients, b.client)
		}
	}
	var words []string
	for noun, all := range map[string][]int{"node": nodes, "client": clients} {
		slices.Sort(all)
		all = slices.Compact(all)
		switch len(all) {
		case 0:
			continue
		case 1:
			words = append(words, fmt.Sprintf("%s %d", noun, all[0]))
		default:
			words = append(words, noun+"s "+numbers(all))
		}
	}
	slices.Sort(words)
	return listed(words)
}
