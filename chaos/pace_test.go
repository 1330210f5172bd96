package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// A plan that is to keep its pace fails where a minority that is down stops the
// granting; others may.
func TestGrantingThatAMinorityStopsIsAViolation(t *testing.T) {
	h := &history.History{Header: history.Header{Class: history.InModel, Nodes: 5, Quorum: 3, Clients: 1, MaxTTL: time.Second, Bound: time.Minute}}
	add := func(at time.Duration, e history.Event) {
		e.At = at
		h.Events = append(h.Events, e)
	}
	token := 0
	for at := time.Duration(0); at < 10*time.Second; at += 50 * time.Millisecond {
		switch at {
		case 2 * time.Second:
			add(at, history.Event{Kind: history.Fault, Fault: plan.Kill, Node: 1})
			add(at, history.Event{Kind: history.Seen, Fault: plan.Kill, Node: 1})
		case 5 * time.Second:
			add(at, history.Event{Kind: history.Heal, Fault: plan.Kill, Node: 1})
		case 9 * time.Second:
			add(at, history.Event{Kind: history.Healed})
		}
		if at > 2*time.Second && at < 5*time.Second {
			continue
		}
		token++
		e := history.Event{Client: 1, Name: "job-1", Call: token, Token: time.Duration(token).String()}
		for i, kind := range []history.Kind{history.Begin, history.Holds, history.Release, history.Released} {
			e.Kind, e.Until = kind, at+time.Second
			add(at+time.Duration(i)*time.Millisecond, e)
		}
	}
	add(10*time.Second, history.Event{Kind: history.Calm})
	add(12*time.Second, history.Event{Kind: history.End})

	judged, _ := judge(h, &plan.Plan{})
	require.Equal(t, check.AsPromised, judged.Verdict, "%v", judged.Findings)
	judged, rates := judge(h, &plan.Plan{KeepsPace: true})
	require.Equal(t, check.Violation, judged.Verdict)
	require.Contains(t, judged.Why, "otherwise 20: it costs 98 %, want 20 % at most")
	require.Equal(t, judged.Why, pace(rates))
	require.Empty(t, pace(check.Rates{}))
}
