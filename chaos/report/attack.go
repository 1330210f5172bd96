package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// attacks sums blows up by fault.
func attacks(blows []blow, grants []grantedAt) []Attack {
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
		all = append(all, attack(fault, byFault[fault], times))
	}
	return all
}

func attack(fault string, blows []blow, times []time.Duration) Attack {
	a := Attack{Fault: fault, Where: where(blows), Struck: len(blows)}
	slices.SortFunc(blows, func(x, y blow) int { return cmp.Compare(x.from, y.from) })
	var recovery []time.Duration
	covered := time.Duration(-1) // up to where grants were counted
	for _, b := range blows {
		if len(b.seen) > 0 {
			a.Seen++
		}
		next, _ := slices.BinarySearch(times, b.to)
		if next < len(times) {
			recovery = append(recovery, times[next]-b.to)
		}
		if from := max(b.from, covered); b.to > from {
			first, _ := slices.BinarySearch(times, from)
			a.Grants += next - first
			a.ActedMS += millis(b.to - from)
			covered = b.to
		}
	}
	slices.Sort(recovery)
	a.Recovered = len(recovery)
	a.RecoveryP50, a.RecoveryMax = quantile(recovery, 0.5), quantile(recovery, 1)
	return a
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
