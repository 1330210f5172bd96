package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quorumlock/redlock/chaos/history"
)

// clocks returns the clocks that were measured, those of nodes first.
func clocks(h *history.History) []Clock {
	type whose struct{ node, client int }
	at := map[whose]int{}
	var all []Clock
	var order []whose
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Offset {
			continue
		}
		w, offset := whose{e.Node, e.Client}, millis(e.Offset)
		j, ok := at[w]
		if !ok {
			j = len(all)
			at[w], order = j, append(order, w)
			of := fmt.Sprintf("node %d", w.node)
			if w.node == 0 {
				of = fmt.Sprintf("client %d", w.client)
			}
			all = append(all, Clock{Of: of, LowMS: offset, HighMS: offset})
		}
		c := &all[j]
		c.Measured++
		c.LowMS, c.HighMS, c.LastMS = min(c.LowMS, offset), max(c.HighMS, offset), offset
	}
	slices.SortFunc(order, func(a, b whose) int {
		return cmp.Or(cmp.Compare(a.client, b.client), cmp.Compare(a.node, b.node))
	})
	sorted := make([]Clock, len(all))
	for i, w := range order {
		sorted[i] = all[at[w]]
	}
	return sorted
}
