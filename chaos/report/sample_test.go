package report_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/report"
)

const ms = time.Millisecond

// A script writes histories by hand.
type script struct {
	h     history.History
	calls int
}

func newScript(header history.Header) *script {
	header.Format = history.Format
	return &script{h: history.History{Header: header}}
}

func (s *script) add(at time.Duration, e history.Event) {
	e.At = at
	s.h.Events = append(s.h.Events, e)
}

// session lets a client ask at from, hold at held until end, and release at
// released. The nodes keep its key from held on.
func (s *script) session(client int, name string, from, held, end, released time.Duration, nodes ...int) string {
	s.calls++
	token := fmt.Sprintf("%08x/%s", s.calls*0x1234567, history.Owner(client))
	s.add(from, history.Event{Kind: history.Begin, Client: client, Name: name, Call: s.calls, TTL: end - held})
	for i, n := range nodes {
		sent := max(from, held-25*ms)
		at := sent + (held-sent)*time.Duration(i+1)/time.Duration(len(nodes)+1)
		s.add(at, history.Event{Kind: history.Kept, Node: n, Name: name, Token: token, Until: end + 20*ms})
		if released > 0 {
			s.add(released+time.Duration(i+1)*ms, history.Event{Kind: history.Deleted, Node: n, Name: name, Token: token, By: token})
		}
	}
	s.add(held, history.Event{Kind: history.Holds, Client: client, Name: name, Call: s.calls, Token: token, Until: end})
	if released > 0 {
		s.add(released, history.Event{Kind: history.Release, Client: client, Name: name, Token: token})
		s.add(released+3*ms, history.Event{Kind: history.Released, Client: client, Name: name, Token: token})
	}
	return token
}

// refused lets a client ask in vain.
func (s *script) refused(client int, name string, from, to time.Duration, holder int) {
	s.calls++
	s.add(from, history.Event{Kind: history.Begin, Client: client, Name: name, Call: s.calls, TTL: 2 * time.Second})
	s.add(to, history.Event{Kind: history.Failed, Client: client, Name: name, Call: s.calls, Class: history.IsHeld, Holder: history.Owner(holder)})
}

func (s *script) work(client int, name, token string, read, write time.Duration, based, version int, until time.Duration) {
	s.add(read, history.Event{Kind: history.Read, Client: client, Name: name, Token: token, Version: based})
	s.add(write, history.Event{Kind: history.Write, Client: client, Name: name, Token: token, Based: based, Version: version, Until: until})
}

func (s *script) fault(name string, node, client int, from, to time.Duration) {
	s.add(from, history.Event{Kind: history.Fault, Fault: name, Node: node, Client: client})
	s.add(from+ms, history.Event{Kind: history.Seen, Fault: name, Node: node, Client: client, Text: "looked"})
	if to > 0 {
		s.add(to, history.Event{Kind: history.Heal, Fault: name, Node: node, Client: client})
	}
}

func (s *script) done(end time.Duration) *history.History {
	s.add(end-100*ms, history.Event{Kind: history.Healed})
	s.add(end, history.Event{Kind: history.End})
	slices.SortStableFunc(s.h.Events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return &s.h
}

// calm is a run without any trouble.
func calm() report.Run {
	s := newScript(history.Header{Plan: "calm", Class: "in model", Backend: "sim", Seed: 1, Nodes: 5, Quorum: 3, Clients: 3, Watched: true})
	at, version := 20*ms, 0
	for i := range 9 {
		client := i%3 + 1
		asked := max(at-120*ms, 0) + time.Duration(client)*3*ms
		held, released := at+8*ms, at+80*ms
		token := s.session(client, "invoice", asked, held, held+800*ms, released, 1, 2, 3, 4, 5)
		s.work(client, "invoice", token, held+15*ms, held+60*ms, version, version+1, held+800*ms)
		version++
		if i%3 == 1 {
			s.refused(client%3+1, "invoice", held+10*ms, held+22*ms, client)
		}
		at = released + 35*ms
	}
	for n := 1; n <= 5; n++ {
		s.add(5*ms, history.Event{Kind: history.Offset, Node: n, Offset: 0})
	}
	return report.Run{History: s.done(1200 * ms), Verdict: "safe", Commit: "cc48117", Contended: 6}
}

// kleppmann is the violation that Martin Kleppmann described: node 3's clock
// jumps, and a second client gets a quorum.
func kleppmann() report.Run {
	s := newScript(history.Header{Plan: "node-clock-jump", Class: "out of model", Expect: "two holders", Backend: "sim", Seed: 7, Nodes: 5, Quorum: 3, Clients: 3, Watched: true})
	const name = "settle:2026-06-30"
	one := s.session(1, name, 100*ms, 160*ms, 2100*ms, 2050*ms, 1, 2, 3)
	s.refused(2, name, 350*ms, 520*ms, 1)
	s.fault("clock-jump", 3, 0, 900*ms, 0)
	// The node's key ends when its clock is set.
	s.add(900*ms, history.Event{Kind: history.Kept, Node: 3, Name: name, Token: one, Until: 900 * ms})
	two := s.session(2, name, 1050*ms, 1150*ms, 3100*ms, 2400*ms, 3, 4, 5)
	s.work(1, name, one, 300*ms, 1700*ms, 0, 1, 2100*ms)
	s.work(2, name, two, 1300*ms, 1950*ms, 0, 2, 3100*ms)
	s.refused(3, name, 1400*ms, 1520*ms, 2)
	three := s.session(3, name, 2350*ms, 2500*ms, 4450*ms, 2800*ms, 1, 2, 3, 4, 5)
	s.work(3, name, three, 2550*ms, 2700*ms, 2, 3, 4450*ms)
	for at := 0 * ms; at < 2900*ms; at += 300 * ms {
		for n := 1; n <= 5; n++ {
			offset := time.Duration(0)
			if n == 3 && at >= 900*ms {
				offset = 20 * time.Second
			}
			s.add(at, history.Event{Kind: history.Offset, Node: n, Offset: offset})
		}
	}
	return report.Run{History: s.done(3000 * ms), Verdict: "unsafe by design, detected", Commit: "cc48117", Contended: 3, Marks: []report.Mark{
		{Kind: report.Overlap, Name: name, From: 1150 * ms, To: 2050 * ms, Clients: []int{1, 2}, Text: "both hold"},
	}}
}

// noisy is a long run with many clients, locks and faults.
func noisy(seed uint64, length time.Duration) report.Run { return violated(seed, length, 0) }

// violated is a noisy run in which, now and then, another client is granted a
// lock that is held.
func violated(seed uint64, length time.Duration, overlaps int) report.Run {
	dice := rand.New(rand.NewPCG(seed, 1))
	in := func(low, high time.Duration) time.Duration { return low + time.Duration(dice.Int64N(int64(high-low))) }
	s := newScript(history.Header{Plan: "everything", Class: "in model", Backend: "embedded", Seed: seed, Nodes: 5, Quorum: 3, Clients: 8, Watched: true})
	run := report.Run{Verdict: "UNEXPECTED", Commit: "cc48117"}
	for _, name := range []string{"orders", "invoice", "report <daily> & \"weekly\""} {
		version := 0
		for at := 10 * ms; at < length; {
			client := 1 + dice.IntN(8)
			asked := max(0, at-in(0, 150*ms))
			end, released := at+in(100*ms, 500*ms), at+in(20*ms, 100*ms)
			nodes := dice.Perm(5)[:3+dice.IntN(3)]
			for i := range nodes {
				nodes[i]++
			}
			token := s.session(client, name, asked, at, end, released, nodes...)
			s.work(client, name, token, at+in(1*ms, 4*ms), released-5*ms, version, version+1, end)
			version++
			for range dice.IntN(4) {
				from := at + in(0, 20*ms)
				s.refused(1+dice.IntN(8), name, from, from+in(2*ms, 40*ms), client)
			}
			if dice.IntN(60) == 0 {
				s.add(at+5*ms, history.Event{Kind: history.Stall, Client: client})
				s.add(at+15*ms, history.Event{Kind: history.Wake, Client: client})
			}
			if name == "orders" && len(run.Marks) < overlaps && at > length/2 {
				other := client%8 + 1
				to := released + 20*ms
				s.session(other, name, at-30*ms, at+10*ms, to+100*ms, to, nodes[1]%5+1, nodes[2])
				run.Marks = append(run.Marks, report.Mark{Kind: report.Overlap, Name: name, From: at + 10*ms, To: released, Clients: []int{client, other}})
				released = to
			}
			at = released + in(1*ms, 30*ms)
		}
	}
	names := []string{"kill", "pause", "drop-reply", "slow", "partition", "reset", "flush"}
	for at := 500 * ms; at < length-500*ms; at += in(50*ms, 400*ms) {
		name, node := names[dice.IntN(len(names))], 1+dice.IntN(5)
		switch name {
		case "partition":
			to := at + in(50*ms, 300*ms)
			for _, c := range []int{2, 3, 7} {
				s.fault(name, node, c, at, to)
			}
		case "flush":
			s.fault(name, node, 0, at, 0)
		default:
			s.fault(name, node, 0, at, at+in(50*ms, 500*ms))
		}
	}
	for at := time.Duration(0); at < length; at += 250 * ms {
		s.add(at, history.Event{Kind: history.Offset, Node: 2, Offset: at / 20})
	}
	run.History = s.done(length + 200*ms)
	return run
}

// empty is the header of a run in which nothing happened.
var empty = history.Header{Nodes: 3, Quorum: 2, Clients: 2}

// stalled is a holder that sleeps past its end and writes.
func stalled() report.Run {
	s := newScript(history.Header{Plan: "pause-holder", Class: "out of model", Backend: "embedded", Seed: 4, Nodes: 3, Quorum: 2, Clients: 2, Watched: true})
	one := s.session(1, "job", 10*ms, 30*ms, 330*ms, 0, 1, 2, 3)
	s.fault("pause-client", 0, 1, 90*ms, 520*ms)
	s.add(90*ms, history.Event{Kind: history.Stall, Client: 1})
	s.add(520*ms, history.Event{Kind: history.Wake, Client: 1})
	s.work(1, "job", one, 60*ms, 525*ms, 0, 2, 330*ms)
	s.add(526*ms, history.Event{Kind: history.Lost, Client: 1, Name: "job", Token: one})
	two := s.session(2, "job", 320*ms, 360*ms, 660*ms, 500*ms, 1, 2, 3)
	s.work(2, "job", two, 380*ms, 450*ms, 0, 1, 660*ms)
	s.session(2, "job", 600*ms, 620*ms, 920*ms, 0, 1, 2, 3)
	s.add(680*ms, history.Event{Kind: history.Crash, Client: 2})
	return report.Run{History: s.done(800 * ms), Verdict: "unsafe by design, detected", Marks: []report.Mark{
		{Kind: report.LostUpdate, Name: "job", From: 525 * ms, To: 525 * ms, Clients: []int{1}, Text: "which is known already"},
		{Kind: report.Note, From: 700 * ms, To: 700 * ms, Text: "node 2 kept a key without TTL"},
	}}
}
