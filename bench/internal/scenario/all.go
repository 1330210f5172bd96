package scenario

import (
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
)

// All are the scenarios of this module's client, in the order of the report.
var All = []Scenario{Commands, Bounds, Wire(ours)}

// ours is the client as the benchmark has it: with a node time-out of a second,
// since two cores cannot answer for 512 goroutines in 50 ms.
var ours = contender.Redlock("redlock", time.Second)
