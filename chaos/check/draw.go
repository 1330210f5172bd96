package check

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/anishathalye/porcupine"

	"github.com/quorumlock/redlock/chaos/history"
)

// What can be looked at: so many beliefs before the first overlap of a segment
// and after it, and so many parts of a history.
const (
	drawnBefore = 8
	drawnAfter  = 24
	drawnParts  = 6
)

// Draw writes porcupine's picture of a history as a page of HTML: the
// surroundings of overlaps if there are any, else the beginning. Rows are
// clients, by number; below them are their beliefs.
func Draw(h *history.History, w io.Writer) error {
	x := newIndex(h)
	var bad, good []segment
	for _, n := range x.names {
		for _, s := range x.segments(n) {
			switch {
			case len(bad) < drawnParts && x.overlapping(&s):
				bad = append(bad, s)
			case len(good) < drawnParts:
				good = append(good, s)
			}
		}
	}
	drawn := slices.Concat(bad, good)
	drawn = drawn[:min(len(drawn), drawnParts)]

	var parts [][]porcupine.Operation
	var beliefs []porcupine.Annotation
	for i, s := range drawn {
		parts = append(parts, x.operations(s))
		colour := "#c8e6c9"
		if i < len(bad) {
			colour = "#ffcdd2"
		}
		for _, j := range s.beliefs {
			b := &x.beliefs[j]
			beliefs = append(beliefs, porcupine.Annotation{
				Tag: history.Owner(b.Client) + " believes", Start: int64(b.From), End: int64(b.To),
				Description:     fmt.Sprintf("%q, token %s", b.Name, short(b.Token)),
				Details:         fmt.Sprintf("%v to %v", b.From, b.To),
				BackgroundColor: colour,
			})
		}
	}
	model := x.model()
	limited := model // parts are searched at the same time, each being small
	var steps atomic.Int64
	limited.Step = func(state, input, _ any) (bool, any) {
		if steps.Add(1) > maxSteps {
			return false, state
		}
		return step(state, input)
	}
	limited.Partition = func([]porcupine.Operation) [][]porcupine.Operation { return parts }
	_, info := porcupine.CheckOperationsVerbose(limited, nil, 0)
	info.AddAnnotations(beliefs)
	if err := porcupine.Visualize(model, info, w); err != nil {
		return fmt.Errorf("check: draw: %w", err)
	}
	return nil
}

// overlapping cuts the segment down to what is to be drawn, and reports whether
// beliefs in it overlap.
func (x *index) overlapping(s *segment) bool {
	at, end := -1, s.start
	for i, j := range s.beliefs {
		if b := &x.beliefs[j]; b.From < end {
			at = i // those before are one after the other, so the last one is met
			break
		} else {
			end = b.To
		}
	}
	first := max(at-drawnBefore, 0)
	s.beliefs = s.beliefs[first:min(len(s.beliefs), max(at, 0)+drawnAfter)]
	if first > 0 {
		// Cut where the lock is free, or where it is held by who is cut off.
		s.since = x.beliefs[s.beliefs[0]].From
	}
	return at >= 0
}
