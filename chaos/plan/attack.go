package plan

import (
	"slices"
	"time"
)

// Attack returns a plan of that length, in model, for real time: a series of
// faults, each of a minority or of the network, with quiet times between them.
// faults limits it to those; none means all that the model allows. can tells
// whether the cluster can do one.
func Attack(seed uint64, nodes, clients int, length time.Duration, faults []string, can func(string) bool) Plan {
	p := base("attack", nodes)
	p.About = "everything that the assumptions allow, one fault after the other"
	p.Expect = "one holder at a time; granting goes on while a minority is struck"
	p.Clients, p.Names, p.Length = clients, 2, length
	p.TTLs = []time.Duration{300 * time.Millisecond, 800 * time.Millisecond, 1500 * time.Millisecond}
	p.Traffic.Workers, p.Traffic.Cancel = 2, 0.1
	possible := slices.DeleteFunc(attackFaults(), func(f string) bool {
		return !can(f) || len(faults) > 0 && !slices.Contains(faults, f)
	})
	if len(possible) == 0 {
		p.Floors.Faults = 0
		return p
	}
	d := Dice(seed).ForText("attack")
	at := time.Second
	for i := uint64(0); ; i++ {
		one := d.For(i)
		s := Step{Fault: possible[int(i)%len(possible)], At: at, For: one.ForText("for").In(Span{400 * time.Millisecond, 900 * time.Millisecond})}
		s.Nodes = one.minority(&p)
		switch s.Fault {
		case RestartLate:
			s.For = p.MaxTTL() + p.MaxTTL()/20
		case Partition:
			s.Nodes, s.Clients = one.some(p.Nodes, 1+one.Int(p.Quorum())), one.For(1).some(p.Clients, 1+one.For(2).Int(p.Clients))
		case Slow, LateDeliver, Duplicate:
			s.By = one.ForText("by").In(Span{20 * time.Millisecond, 300 * time.Millisecond})
		case ErrorReply:
			s.Reply = randomReplies[one.ForText("reply").Int(len(randomReplies))]
		case ClockRate:
			s.Rate = 1.004
		case CrashClient:
			s.Nodes, s.Clients, s.For = nil, []int{1 + one.Int(p.Clients)}, 0
		}
		if s.At+s.For+500*time.Millisecond > p.Length {
			break
		}
		p.Steps = append(p.Steps, s)
		at += s.For + one.ForText("gap").In(Span{200 * time.Millisecond, 600 * time.Millisecond})
	}
	p.Floors.Faults = min(2, len(p.Steps))
	return p
}

func attackFaults() []string {
	return append(slices.Clone(randomFaults), Cut, ClockRate, CrashClient)
}
