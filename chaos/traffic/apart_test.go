package traffic

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// What a process said in full before it was killed counts, with its own times;
// what was cut off does not.
func TestWhatAKilledProcessSaidInFullCounts(t *testing.T) {
	log := history.NewRecorder(func() time.Duration { return 100 })
	r := &run{
		log: log, apart: &apart{log: log}, healed: newHealed(plan.Floors{}), failed: func(err error) { require.NoError(t, err) },
		store: &store{log: log, versions: map[string]int{}},
	}
	stdin, in, err := os.Pipe()
	require.NoError(t, err)
	out, stdout, err := os.Pipe()
	require.NoError(t, err)
	p := &remote{run: r, number: 2, in: in, orders: line{to: in}, ended: make(chan struct{}), waiting: map[int]chan struct{}{}, held: map[string]bool{}}
	p.die()
	said := line{to: stdout}
	require.NoError(t, said.say(message{Attempts: 3, Event: &history.Event{At: 40, Kind: history.Begin, Name: "job-1", Call: 6}}))
	require.NoError(t, said.say(message{Attempts: 4, Event: &history.Event{At: 50, Kind: history.Holds, Name: "job-1", Token: "t", Call: 6, Until: 90}}))
	require.NoError(t, said.say(message{Attempts: 4, Ask: &question{Number: 1, Write: true, Name: "job-1", Token: "t", Until: 90}}))
	cut, err := json.Marshal(message{Event: &history.Event{At: 60, Kind: history.Release, Token: "t"}})
	require.NoError(t, err)
	_, err = stdout.Write(cut) // without an end of line
	require.NoError(t, err)
	require.NoError(t, stdout.Close())

	p.listen(out)
	r.log.Add(history.Event{Kind: history.Crash, Client: 2}) // as crash does
	require.NoError(t, stdin.Close())
	require.Equal(t, []history.Event{
		{At: 40, Kind: history.Begin, Client: 2, Name: "job-1", Call: 6},
		{At: 50, Kind: history.Holds, Client: 2, Name: "job-1", Token: "t", Call: 6, Until: 90},
		{At: 100, Kind: history.Write, Client: 2, Name: "job-1", Token: "t", Version: 1, Until: 90},
		{At: 100, Kind: history.Crash, Client: 2},
	}, log.Events())
	require.Equal(t, 6, p.usedCalls(), "the next process goes on from there")
	require.EqualValues(t, 4, r.attempts.Load())
}

func TestCallsOfClientsAndOfTheirProcessesAreNumberedApart(t *testing.T) {
	seen := map[int]bool{}
	for client := 1; client <= 4; client++ {
		used := 0
		for range 3 { // lives
			c := &told{client: client, clients: 4, calls: used}
			for range 5 {
				used = c.NextCall()
				require.False(t, seen[used], "call %d", used)
				seen[used] = true
			}
		}
	}
	require.Len(t, seen, 60)
}

func TestProcessesOfAMachineHaveOneClock(t *testing.T) {
	start := time.Now().Add(-time.Hour) // of the program that runs the plan
	now := func() time.Duration { return time.Since(start) }
	origin, err := originOf(now)
	if err != nil {
		t.Skip(err)
	}
	other, err := since(origin)
	require.NoError(t, err)
	for range 1000 {
		before := now()
		there := other()
		after := now()
		require.Greater(t, there, before-200*time.Microsecond)
		require.Less(t, there, after+200*time.Microsecond)
	}
}
