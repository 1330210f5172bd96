package scenario

import (
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// ours is the client with its defaults. Where 512 goroutines work at once, it is
// patient: two cores cannot answer for them within the default node time-out.
var (
	ours        = contender.Redlock("redlock", 0)
	patientOurs = contender.Redlock("redlock", time.Second)
	limit       = contender.Raw()
)

// All are the scenarios of this module's client, in the order of the report.
var All = []Scenario{
	Commands,
	Bounds,
	Wire(patientOurs),
	Throughput([]contender.Contender{limit, patientOurs}, []Comparison{
		{Of: ours.Name, To: limit.Name, Quantity: "pairs/s", Relation: report.AtLeast, Aims: map[string]float64{"128": 0.75}},
		{Of: ours.Name, To: limit.Name, Quantity: "p50"},
	}),
	Faults([]contender.Contender{ours}, []int{1, 16, 128}),
	Outage([]contender.Contender{ours}),
	Contention([]contender.Contender{ours}, []int{2, 16, 128}),
	Hygiene([]contender.Contender{ours}),
	Held,
	Availability,
}
