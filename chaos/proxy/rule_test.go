package proxy_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/embedded"
	"github.com/quorumlock/redlock/chaos/proxy"
)

func TestTheFirstFaultThatMatchesActs(t *testing.T) {
	_, p := start(t)
	p.Add(proxy.Fault{Kind: proxy.ErrorReply, Reply: "ERR 1", After: 1, Count: 1})
	p.Add(proxy.Fault{Kind: proxy.ErrorReply, Reply: "ERR 2", Count: 1})
	w := dial(t, p)
	w.send("PING", "PING", "PING")
	w.expect("-ERR 2\n-ERR 1\n+PONG\n")
}

// failures returns what 100 commands on each of two connections were answered,
// the commands alternating or those of one connection first.
func failures(t *testing.T, seed uint64, alternating bool) (seen [2]string) {
	t.Helper()
	nodes, stop := embedded.Start(1)
	defer stop()
	p, err := proxy.StartDialer(nodes[0].Dial, seed)
	require.NoError(t, err)
	defer p.Close()
	p.Add(proxy.Fault{Kind: proxy.ErrorReply, Reply: "a", Probability: 0.3})
	p.Add(proxy.Fault{Kind: proxy.ErrorReply, Reply: "b", Probability: 0.5})
	wires := [2]*wire{dial(t, p), dial(t, p)}
	for i := range 200 {
		which := i / 100
		if alternating {
			which = i % 2
		}
		wires[which].send("PING")
		line, err := wires[which].r.ReadString('\n')
		require.NoError(t, err)
		seen[which] += line[1:2]
	}
	return seen
}

func TestSameSeedAndMessagesGiveTheSameFaults(t *testing.T) {
	first := failures(t, 2, true)
	require.Equal(t, first, failures(t, 2, false))
	require.NotEqual(t, first, failures(t, 3, true))
	require.NotEqual(t, first[0], first[1])
	all := first[0] + first[1]
	require.InDelta(t, 60, strings.Count(all, "a"), 15)
	require.InDelta(t, 70, strings.Count(all, "b"), 15, "not independent of the other fault's choice")
}

func TestDelaysAreDrawnFromTheirRangeAndTheSeed(t *testing.T) {
	nodes, stop := embedded.Start(1)
	defer stop()
	const low, high = 2 * time.Millisecond, 12 * time.Millisecond
	p, err := proxy.StartDialer(nodes[0].Dial, 7)
	require.NoError(t, err)
	defer p.Close()
	p.Add(proxy.Fault{Kind: proxy.Latency, Direction: proxy.ToServer, Min: low, Max: high})
	w := dial(t, p)
	var shortest, longest time.Duration = math.MaxInt64, 0
	for range 50 {
		took := within(t, func() {
			w.send("PING")
			w.expect("+PONG\n")
		})
		shortest, longest = min(shortest, took), max(longest, took)
	}
	require.GreaterOrEqual(t, shortest, low)
	require.Less(t, shortest, (low+high)/2)
	require.Greater(t, longest, (low+high)/2)
}

func TestFaultsThatMakeNoSenseAreRefusedByName(t *testing.T) {
	p := before(t, "127.0.0.1:1")
	for _, test := range []struct {
		fault proxy.Fault
		text  string
	}{
		{proxy.Fault{}, `"" is no kind`},
		{proxy.Fault{Kind: "fire"}, `"fire" is no kind`},
		{proxy.Fault{Kind: proxy.Latency}, "without a delay"},
		{proxy.Fault{Kind: proxy.LateDeliver}, "without a delay"},
		{proxy.Fault{Kind: proxy.Latency, Min: 2, Max: 1}, "2ns to 1ns"},
		{proxy.Fault{Kind: proxy.Latency, Min: -1}, "-1ns to 0s"},
		{proxy.Fault{Kind: proxy.Latency, Min: 1, Direction: "up"}, `direction "up"`},
		{proxy.Fault{Kind: proxy.Cut, Direction: proxy.ToClient}, "no direction"},
		{proxy.Fault{Kind: proxy.Cut, After: -1}, "After -1"},
		{proxy.Fault{Kind: proxy.Cut, Count: -1}, "Count -1"},
		{proxy.Fault{Kind: proxy.Cut, Probability: 1.5}, "1.5"},
		{proxy.Fault{Kind: proxy.Cut, Probability: math.NaN()}, "NaN"},
		{proxy.Fault{Kind: proxy.Bandwidth}, "rate of 0"},
		{proxy.Fault{Kind: proxy.Slice, Size: -1}, "-1 bytes"},
		{proxy.Fault{Kind: proxy.ErrorReply}, `""`},
		{proxy.Fault{Kind: proxy.ErrorReply, Reply: "a\r\n+OK"}, "one line"},
		{proxy.Fault{Kind: proxy.Refuse, Count: 1}, "no other fields"},
	} {
		require.ErrorContains(t, test.fault.Validate(), test.text)
		require.PanicsWithError(t, test.fault.Validate().Error(), func() { p.Add(test.fault) })
	}
}

func TestFaultsAreData(t *testing.T) {
	f := proxy.Fault{Kind: proxy.Latency, Commands: []string{"SET"}, Min: time.Second, Match: func([]string) bool { return true }}
	b, err := json.Marshal(f)
	require.NoError(t, err)
	var got proxy.Fault
	require.NoError(t, json.Unmarshal(b, &got))
	f.Match = nil
	require.Equal(t, f, got)
}
