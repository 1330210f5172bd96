package check

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/quorumlock/redlock/chaos/history"
)

// A Result is the lock model's.
type Result string

// The results.
const (
	Legal   Result = "legal"   // one client after another can have had the lock
	Illegal Result = "illegal" // they cannot
	Unknown Result = "unknown" // it was not found out within the limit of steps
)

// An Opinion is what porcupine thinks of a history.
type Opinion struct {
	Result     Result
	Operations int
	Segments   int // independent parts
	Steps      int // of the model
	Findings   Findings
}

const (
	// segmentSize is how many beliefs are checked together, if they can be cut.
	segmentSize = 32
	// maxSteps bounds the search in one segment. A legal one takes at most about
	// as many as the third power of its size: who gets the lock next, and which
	// operations cannot follow.
	maxSteps = 1 << 18
)

// Porcupine asks a linearizability checker whether one lock per name can have
// behaved so: a second opinion, by somebody else's algorithm, on what Overlaps
// finds by sweeping.
//
// Each belief becomes two operations on a lock that is free or held by one
// belief. Acquire takes effect at some time between Begin and the belief's
// start; release at some time between the belief's end and the answer to
// Release, or at its end if it ended otherwise. Acquire needs a free lock,
// release the lock of its own belief. The belief itself lies between both, so
// there is an order exactly if no two beliefs overlap. Calls that failed are not
// operations: a quorum lock may refuse while nobody holds it.
//
// The search is exponential at worst. So it goes by name, and each name is cut
// where nobody believes in it; acquires and releases that reach across a cut end
// there, which changes nothing, since they can as well take effect at the
// belief's ends. Where more beliefs than segmentSize cannot be cut apart, theirs
// take no time at all, for the same reason. Each segment has a limit of steps,
// which unlike a time limit gives one history one answer. A segment over the
// limit makes the whole Unknown, unless another is Illegal.
func Porcupine(h *history.History) Opinion { return newIndex(h).opinion() }

func (x *index) opinion() Opinion {
	o := Opinion{Result: Legal}
	for _, n := range x.names {
		for _, s := range x.segments(n) {
			result, steps := x.check(s)
			o.Segments++
			o.Operations += 2 * len(s.beliefs)
			o.Steps += steps
			switch result {
			case Illegal:
				o.Result = Illegal
				o.Findings.add(func() Finding { return x.illegal(n, s) })
			case Unknown:
				if o.Result == Legal {
					o.Result = Unknown
				}
			}
		}
	}
	o.Findings.sort()
	return o
}

// dissent finds that both opinions differ, which is a mistake in a checker.
func (o *Opinion) dissent(overlaps Findings) (f Findings) {
	if o.Result != Unknown && (o.Result == Illegal) != (overlaps.Count > 0) {
		f.add(func() Finding {
			return Finding{Check: CheckPorcupine, Text: fmt.Sprintf("porcupine finds the history %s, but %d beliefs overlap: one of the checkers is wrong",
				o.Result, overlaps.Count)}
		})
	}
	return f
}

func (x *index) illegal(n *lock, s segment) Finding {
	return Finding{
		Check: CheckPorcupine, Name: n.name, From: s.start, To: s.end,
		Text: fmt.Sprintf("no order of acquires and releases explains these %d holders of %q", len(s.beliefs), n.name),
	}
}

// A segment is a part of a lock's history before and after which it is free.
type segment struct {
	start, end time.Duration // from the first belief's start to the last one's end
	since      time.Duration // the lock is free from here to start
	until      time.Duration // and from end to here
	beliefs    []int
}

// segments cuts the history of a lock. Beliefs that last no time are left out:
// they overlap nothing, but a closed interval of a belief holds its ends.
func (x *index) segments(n *lock) []segment {
	var all []segment
	var s segment
	for _, i := range n.beliefs {
		b := &x.beliefs[i]
		if b.From == b.To {
			continue
		}
		if len(s.beliefs) >= segmentSize && b.From >= s.end {
			s.until = b.From
			all = append(all, s)
			s = segment{since: s.end}
		}
		if len(s.beliefs) == 0 {
			s.start = b.From
		}
		s.beliefs = append(s.beliefs, i)
		s.end = max(s.end, b.To)
	}
	if len(s.beliefs) > 0 {
		s.until = math.MaxInt64
		all = append(all, s)
	}
	return all
}

func (x *index) operations(s segment) []porcupine.Operation {
	all := make([]porcupine.Operation, 0, 2*len(s.beliefs))
	for _, i := range s.beliefs {
		b := &x.beliefs[i]
		asked, released := b.From, b.To
		if len(s.beliefs) <= segmentSize {
			asked = min(max(b.begin, s.since), b.From)
		}
		if len(s.beliefs) <= segmentSize && b.End == history.Release {
			released = max(b.To, min(b.released, s.until))
		}
		all = append(all,
			porcupine.Operation{
				ClientId: b.Client, Input: operation{acquire, i},
				Call: int64(asked), Return: int64(b.From),
			},
			porcupine.Operation{
				ClientId: b.Client, Input: operation{release, i},
				Call: int64(b.To), Return: int64(released),
			})
	}
	return all
}

// An operation is the beginning or the end of a belief.
type operation struct {
	kind   string
	belief int
}

const (
	acquire = "acquire"
	release = "release"
	free    = -1 // the state of a lock that no belief has
)

// step is the lock.
func step(state, input any) (bool, any) {
	op, holder := input.(operation), state.(int)
	switch {
	case op.kind == acquire && holder == free:
		return true, op.belief
	case op.kind == release && holder == op.belief:
		return true, free
	}
	return false, state
}

// check checks one segment within the limit of steps.
func (x *index) check(s segment) (Result, int) {
	steps := 0
	model := x.model()
	model.Step = func(state, input, _ any) (bool, any) {
		if steps++; steps > maxSteps {
			return false, state // no way on: the search ends soon
		}
		return step(state, input)
	}
	switch ok := porcupine.CheckOperations(model, x.operations(s)); {
	case ok:
		return Legal, steps
	case steps > maxSteps:
		return Unknown, maxSteps
	}
	return Illegal, steps
}

func (x *index) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return free },
		Step: func(state, input, _ any) (bool, any) { return step(state, input) },
		Hash: func(state any) uint64 { return uint64(state.(int)) + 1 },
		DescribeOperation: func(input, _ any) string {
			op := input.(operation)
			return fmt.Sprintf("%s %q (token %s)", op.kind, x.beliefs[op.belief].Name, short(x.beliefs[op.belief].Token))
		},
		DescribeState: func(state any) string {
			if state.(int) == free {
				return "free"
			}
			b := &x.beliefs[state.(int)]
			return fmt.Sprintf("held by %s (token %s)", history.Owner(b.Client), short(b.Token))
		},
	}
}
