package scenario

import (
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/report"
)

// Ours is the client with its defaults. Where hundreds of goroutines work at
// once, it is patient: two cores cannot answer for them within the default node
// time-out. Limit is what no client can beat.
var (
	Ours        = contender.Redlock("redlock", 0)
	PatientOurs = contender.Redlock("redlock", time.Second)
	Limit       = contender.Raw()
)

// All are the scenarios of this module's client, in the order of the report.
var All = []Scenario{
	Commands,
	Bounds,
	Wire(PatientOurs),
	Throughput([]contender.Contender{Limit, PatientOurs}, []Comparison{
		{Of: Ours.Name, To: Limit.Name, Quantity: "pairs/s", Relation: report.AtLeast, Aims: map[string]float64{"128": 0.75}},
		{Of: Ours.Name, To: Limit.Name, Quantity: "p50"},
	}),
	Faults([]contender.Contender{Ours}, []int{1, 16, 128}),
	Outage([]contender.Contender{Ours}),
	Contention([]contender.Contender{Ours}, []int{2, 16, 128}),
	Hygiene([]contender.Contender{Ours}),
	Held,
	Availability,
}
