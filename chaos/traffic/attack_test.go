package traffic

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A sluggish cluster takes its time to heal, as containers do on a busy machine.
type sluggish struct {
	cluster.Cluster
	heals time.Duration
	found []history.Event
}

func (s *sluggish) Inspect(context.Context, []string) []history.Event { return s.found }

func (s *sluggish) Begin(*plan.Step, int) (end func(), err error) {
	return func() { time.Sleep(s.heals) }, nil
}

// What a plan has one after the other never adds up, however long healing takes;
// what it has at one time goes on at one time.
func TestFaultsDoNotPileUpWhereHealingTakesLong(t *testing.T) {
	const second = time.Second
	p := &plan.Plan{Length: 20 * second, Steps: []plan.Step{
		{Fault: plan.Partition, At: 0, For: 19 * second, Nodes: []int{5}}, // beside all others
		{Fault: plan.Kill, At: second, For: second, Nodes: []int{1, 2}},
		{Fault: plan.Kill, At: 3 * second, For: second, Nodes: []int{3, 4}},
		{Fault: plan.Pause, At: 5 * second, For: second, Nodes: []int{1, 2}},
		{Fault: plan.Flush, At: 18 * second, Nodes: []int{3}},
	}}
	for heals, want := range map[time.Duration]string{
		0:           "partition 0-19s, kill 1-2s, kill 1-2s, kill 3-4s, kill 3-4s, pause 5-6s, pause 5-6s, flush 18-18s, ",
		4 * second:  "partition 0-23s, kill 1-6s, kill 1-6s, kill 7-12s, kill 7-12s, pause 13-18s, pause 13-18s, flush 30-34s, ",
		40 * second: "partition 0-59s, kill 1-42s, kill 1-42s, kill 43-84s, kill 43-84s, ", // the rest would be 80 s late
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			log := history.NewRecorder(func() time.Duration { return time.Since(start) })
			r := &run{cluster: &sluggish{heals: heals}, log: log, plan: p}
			require.NoError(t, r.attack(t.Context()))
			got := ""
			events := log.Events()
			for _, e := range events {
				if e.Kind != history.Fault {
					continue
				}
				for _, end := range events {
					if end.Kind == history.Heal && end.Node == e.Node && end.Fault == e.Fault {
						got += fmt.Sprintf("%s %.0f-%.0fs, ", e.Fault, e.At.Seconds(), end.At.Seconds())
					}
				}
			}
			require.Equal(t, want, got)
		})
	}
}

// A step that takes what A2 leaves over strikes only where it takes no more.
func TestAStepForAHeldLockStrikesOnlyWhenTheOtherNodesHaveIt(t *testing.T) {
	found := func(token string, nodes ...int) (events []history.Event) {
		for _, n := range nodes {
			events = append(events, history.Event{Kind: history.Found, Name: nameOf(1), Token: token, Node: n})
		}
		return events
	}
	p := &plan.Plan{Length: time.Second, Nodes: 5, Names: 1, Steps: []plan.Step{
		{Fault: plan.Flush, At: 100 * time.Millisecond, Nodes: []int{1, 4}, IfHeld: true},
	}}
	for _, test := range []struct {
		what  string
		found []history.Event
		want  int
	}{
		{"all have it", found("a", 1, 2, 3, 4, 5), 2},
		{"those that are spared have it", found("a", 2, 3, 5), 2},
		{"one of these has not", found("a", 1, 2, 4, 5), 0},
		{"one of these has another's", append(found("a", 1, 2, 3, 4), found("b", 5)...), 0},
		{"nobody holds it", nil, 0},
	} {
		t.Run(test.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				log := history.NewRecorder(func() time.Duration { return time.Since(start) })
				r := &run{cluster: &sluggish{found: test.found}, log: log, plan: p}
				require.NoError(t, r.attack(t.Context()))
				require.Equal(t, test.want, log.Counts()[history.Fault])
			})
		})
	}
}
