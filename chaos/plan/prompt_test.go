package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/plan"
)

func TestWhenEveryMessageArrivesWithinATTL(t *testing.T) {
	for _, test := range []struct {
		what   string
		change func(p *plan.Plan)
		want   bool
	}{
		{"as it is", func(*plan.Plan) {}, true},
		{"a late delivery", func(p *plan.Plan) { p.Steps[0].By = 800 * time.Millisecond }, false},
		{"a short TTL", func(p *plan.Plan) { p.TTLs = append(p.TTLs, 300*time.Millisecond) }, false},
		{"copies", func(p *plan.Plan) { p.Network.Duplicate = 0.1 }, false},
		{"a fault that copies", func(p *plan.Plan) { p.Steps[0].Fault = plan.Duplicate }, false},
		{"a node that stops for long", func(p *plan.Plan) {
			p.Steps[0] = plan.Step{Fault: plan.Pause, For: 900 * time.Millisecond, Nodes: []int{1}}
		}, false},
	} {
		p := plan.Plan{
			TTLs:  []time.Duration{time.Second},
			Steps: []plan.Step{{Fault: plan.LateDeliver, By: 300 * time.Millisecond, Nodes: []int{1}}},
		}
		test.change(&p)
		require.Equal(t, test.want, p.IsPrompt(), test.what)
	}
}
