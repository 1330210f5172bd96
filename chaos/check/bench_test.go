package check_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
)

// long is a history of about so many events: 16 clients that contend for 4
// locks, faults and crashes, all as it should be.
func long(events int) *history.History {
	h := &history.History{Header: history.Header{
		Format: history.Format, Class: history.InModel, Nodes: 5, Quorum: 3, Clients: 16, Drift: 0.01,
		MaxTTL: time.Second, Bound: 500 * time.Millisecond, Timeout: 50 * time.Millisecond, Clean: 1050 * time.Millisecond, Exact: true, Watched: true, Reliable: true,
	}}
	at := time.Duration(0)
	add := func(e history.Event) {
		at += 20 * time.Microsecond
		e.At = at
		h.Events = append(h.Events, e)
	}
	versions := [4]int{}
	asking := make([]int, 17) // by client: its call
	call := 0
	for i := 0; len(h.Events) < events; i++ {
		lock, client := i%4, 1+i%16
		name, token := fmt.Sprint("job-", lock), fmt.Sprintf("%040x", i)
		if asking[client] == 0 {
			call++
			asking[client] = call
			add(history.Event{Kind: history.Begin, Client: client, Name: name, Call: call, TTL: time.Second})
		}
		if loser := 1 + (i+4)%16; asking[loser] == 0 { // asks for the same lock
			call++
			asking[loser] = call
			add(history.Event{Kind: history.Begin, Client: loser, Name: name, Call: call, TTL: time.Second})
			if i%3 == 0 {
				add(history.Event{Kind: history.Failed, Client: loser, Name: name, Call: call, Class: history.IsHeld, Holder: history.Owner(client)})
				asking[loser] = 0
			}
		}
		for node := 1; node <= 3; node++ {
			add(history.Event{Kind: history.Kept, Node: node, Client: client, Name: name, Token: token, Until: at + time.Second})
		}
		add(history.Event{Kind: history.Holds, Client: client, Name: name, Call: asking[client], Token: token, Until: at + time.Second})
		asking[client] = 0
		versions[lock]++
		add(history.Event{Kind: history.Read, Client: client, Name: name, Token: token, Version: versions[lock] - 1})
		add(history.Event{Kind: history.Write, Client: client, Name: name, Token: token, Version: versions[lock], Based: versions[lock] - 1, Until: at + time.Second})
		if i%50 == 0 {
			add(history.Event{Kind: history.Fault, Fault: "kill", Node: 1 + i%5})
			add(history.Event{Kind: history.Heal, Fault: "kill", Node: 1 + i%5})
		}
		if i%100 == 99 {
			add(history.Event{Kind: history.Crash, Client: client})
			continue
		}
		add(history.Event{Kind: history.Release, Client: client, Name: name, Token: token})
		for node := 1; node <= 3; node++ {
			add(history.Event{Kind: history.Deleted, Node: node, Name: name, Token: token, By: token})
		}
		add(history.Event{Kind: history.Released, Client: client, Name: name, Token: token})
	}
	return h
}

func TestALongHistoryIsAsPromised(t *testing.T) {
	r := check.Judge(long(20000), check.Floors{Grants: 1000, Contended: 1000})
	require.Equal(t, check.AsPromised, r.Verdict, "%s\n%+v", r.Why, r.Findings)
}

// BenchmarkJudge judges ever longer histories: time an event must stay the same.
func BenchmarkJudge(b *testing.B) {
	for _, events := range []int{1000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			h := long(events)
			b.ReportAllocs()
			for b.Loop() {
				check.Judge(h, check.Floors{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

// BenchmarkChecks tells what each checker takes of a million events.
func BenchmarkChecks(b *testing.B) {
	h := long(1_000_000)
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"Beliefs", func() { check.Beliefs(h) }},
		{"Overlaps", func() { check.Overlaps(h) }},
		{"Porcupine", func() { check.Porcupine(h) }},
		{"Store", func() { check.Store(h) }},
		{"Liveness", func() { check.Liveness(h) }},
		{"Skip", func() { check.Skip(h) }},
		{"Hygiene", func() { check.Hygiene(h) }},
		{"Honesty", func() { check.Honesty(h, check.Floors{}) }},
		{"GrantRate", func() { check.GrantRate(h) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.run()
			}
		})
	}
}
