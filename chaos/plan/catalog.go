package plan

import (
	"slices"
	"time"
)

// A Maker makes a plan of a seed for so many nodes: 3, 5 or 7.
type Maker struct {
	Name string
	Make func(seed uint64, nodes int) Plan
}

// Catalog are the plans with a name, those in model first.
var Catalog = []Maker{
	{"random", Random},
	{"calm", calm},
	{"network", network},
	{"kill", kill},
	{"pause", pause},
	{"partition", partition},
	{"majority-down", majorityDown},
	{"errors", errorReplies},
	{"restart-late", restartLate},
	{"drift", drift},
	{"crash", crash},
	{"short-pause", shortPause},
	{"cancel", cancel},
	{"orphans", orphans},
	{"together", together},
	{"fast-alike", fastAlike},
	{"long-work", longWork},
	{"short-leases", shortLeases},
	{"hung-node", hungNode},
	{"slack", slack},

	{"unlike-lists", unlikeLists},
	{"clock-jump", clockJump},
	{"clock-fast", clockFast},
	{"client-slow", clientSlow},
	{"restart-forget", restartForget},
	{"flush-majority", flushMajority},
	{"long-pause", longPause},
}

// Named returns the maker called name.
func Named(name string) (Maker, bool) {
	i := slices.IndexFunc(Catalog, func(m Maker) bool { return m.Name == name })
	if i < 0 {
		return Maker{}, false
	}
	return Catalog[i], true
}

// base is the ground that the plans with a name stand on: three clients that
// contend for one lock, on a good network with sound clocks.
func base(name string, nodes int) Plan {
	return Plan{
		Name: name, Class: InModel, Nodes: nodes, Clients: 3, Names: 1,
		TTLs: []time.Duration{800 * time.Millisecond}, Length: 6 * time.Second,
		Traffic: Traffic{
			Workers: 1,
			Think:   Span{0, 50 * time.Millisecond}, Hold: Span{20 * time.Millisecond, 200 * time.Millisecond},
			Patience: Span{500 * time.Millisecond, 2 * time.Second},
			Try:      0.3, KeepAlive: 0.4, Extend: 0.3, Cancel: 0.05, Abandon: 0.02,
		},
		Network: Network{Delay: Span{100 * time.Microsecond, 3 * time.Millisecond}},
		Floors:  Floors{Attempts: 50, Grants: 5, Contended: 10, Faults: 2, Healed: 1},
	}
}

// minority and majority draw nodes.
func (d Dice) minority(p *Plan) []int { return d.some(p.Nodes, p.Nodes-p.Quorum()) }
func (d Dice) majority(p *Plan) []int { return d.some(p.Nodes, p.Quorum()) }

// repeat makes steps one after the other until the plan's end: each lasts for
// each, with a pause after it.
func (p *Plan) repeat(seed uint64, each, pause time.Duration, step func(d Dice) Step) {
	for i, at := uint64(0), 300*time.Millisecond; at+each < p.Length-300*time.Millisecond; i, at = i+1, at+each+pause {
		s := step(Dice(seed).ForText(p.Name).For(i))
		s.At = at
		if fault, _ := Find(s.Fault); !fault.Instant {
			s.For = each
		}
		p.Steps = append(p.Steps, s)
	}
}

func calm(_ uint64, nodes int) Plan {
	p := base("calm", nodes)
	p.About, p.Expect = "nothing: the lock at work", "one holder at a time"
	p.Floors.Faults = 0
	return p
}

func network(seed uint64, nodes int) Plan {
	p := base("network", nodes)
	p.About = "A3 assumes nothing: messages are lost, doubled, delayed beyond every limit"
	p.Expect = "one holder at a time"
	p.Network.DropRequest, p.Network.DropReply, p.Network.Duplicate, p.Network.Delayed = 0.03, 0.03, 0.03, 0.03
	p.Network.Late = Span{5 * time.Millisecond, 600 * time.Millisecond}
	faults := []string{DropRequest, DropReply, Duplicate, LateDeliver, Reset}
	p.repeat(seed, 350*time.Millisecond, 150*time.Millisecond, func(d Dice) Step {
		return Step{Fault: faults[d.Int(len(faults))], Nodes: d.majority(&p), By: 300 * time.Millisecond}
	})
	return p
}

func kill(seed uint64, nodes int) Plan {
	return ofMinorities(seed, nodes, "kill", Kill, "a minority is killed and comes back with its keys")
}

func pause(seed uint64, nodes int) Plan {
	return ofMinorities(seed, nodes, "pause", Pause, "a minority hangs, and then carries out what it was sent")
}

// ofMinorities makes a plan whose fault strikes one minority after the other.
func ofMinorities(seed uint64, nodes int, name, fault, about string) Plan {
	p := base(name, nodes)
	p.About, p.Expect = about, "one holder at a time, and no pause in granting"
	p.KeepsPace = true
	p.repeat(seed, 700*time.Millisecond, 300*time.Millisecond, func(d Dice) Step { return Step{Fault: fault, Nodes: d.minority(&p)} })
	return p
}

func partition(seed uint64, nodes int) Plan {
	p := base("partition", nodes)
	p.About = "each client is cut off from other nodes, sometimes from most of them"
	p.Expect = "one holder at a time; who cannot reach a quorum learns it"
	p.repeat(seed, 300*time.Millisecond, 100*time.Millisecond, func(d Dice) Step {
		return Step{Fault: Partition, Nodes: d.some(p.Nodes, 1+d.Int(p.Quorum())), Clients: d.For(1).some(p.Clients, 1+d.For(2).Int(2))}
	})
	return p
}

func majorityDown(seed uint64, nodes int) Plan {
	p := base("majority-down", nodes)
	p.About, p.Expect = "a majority is killed and comes back with its keys", "no grant meanwhile, grants soon afterwards"
	p.repeat(seed, time.Second, time.Second, func(d Dice) Step { return Step{Fault: Kill, Nodes: d.majority(&p)} })
	return p
}

func errorReplies(seed uint64, nodes int) Plan {
	p := base("errors", nodes)
	p.About, p.Expect = "nodes answer LOADING, OOM, READONLY, NOSCRIPT, BUSY, MISCONF, NOPERM", "one holder at a time"
	p.repeat(seed, 300*time.Millisecond, 200*time.Millisecond, func(d Dice) Step {
		return Step{Fault: ErrorReply, Nodes: d.majority(&p), Reply: randomReplies[d.For(1).Int(len(randomReplies))]}
	})
	return p
}

func restartLate(seed uint64, nodes int) Plan {
	p := base("restart-late", nodes)
	p.About = "a minority dies and comes back empty, after more than the longest TTL"
	p.Expect = "one holder at a time: whatever was forgotten had run out"
	p.repeat(seed, p.MaxTTL()+p.MaxTTL()/20, 200*time.Millisecond, func(d Dice) Step {
		return Step{Fault: RestartLate, Nodes: d.minority(&p)}
	})
	return p
}

func drift(seed uint64, nodes int) Plan {
	p := base("drift", nodes)
	p.About = "clocks at the edge of what A1 allows: nodes 1 % faster than clients"
	p.Expect = "one holder at a time"
	// 0.995 / 1.005 is a little more than 0.99.
	for i := range nodes {
		p.Steps = append(p.Steps, Step{
			Fault: ClockRate, At: 10 * time.Millisecond, For: p.Length - 20*time.Millisecond,
			Nodes: []int{i + 1}, Rate: []float64{1.005, 1.005, 0.995}[Dice(seed).For(uint64(i)).Int(3)],
		})
	}
	for range p.Clients {
		p.ClientRates = append(p.ClientRates, 0.995)
	}
	p.Traffic.Hold = Span{100 * time.Millisecond, 900 * time.Millisecond} // often to the end
	p.Traffic.Extend, p.Traffic.Abandon = 0.6, 0.5
	p.Traffic.Try, p.Traffic.Think = 0.9, Span{0, 20 * time.Millisecond} // somebody asks soon after the end
	p.StopMargin, p.Network.Delay.Max = 1, 15*time.Millisecond
	return p
}

func crash(seed uint64, nodes int) Plan {
	p := base("crash", nodes)
	p.About, p.Expect = "clients die without a word and start again", "their locks are free within the TTL"
	p.repeat(seed, 200*time.Millisecond, 100*time.Millisecond, func(d Dice) Step {
		return Step{Fault: CrashClient, Clients: []int{1 + d.Int(p.Clients)}}
	})
	return p
}

// pauses makes holders that look at their lock, stop for so long, and write.
func (p *Plan) pauses(seed uint64, each time.Duration) {
	p.Traffic.KeepAlive, p.Traffic.Extend, p.Traffic.Cancel, p.Traffic.Abandon = 0, 0, 0, 0
	p.Traffic.Hold = Span{30 * time.Millisecond, 150 * time.Millisecond}
	p.Length = 10 * time.Second
	p.repeat(seed, each, 150*time.Millisecond, func(d Dice) Step {
		return Step{Fault: PauseClient, Clients: d.some(p.Clients, p.Clients-1)}
	})
}

func shortPause(seed uint64, nodes int) Plan {
	p := base("short-pause", nodes)
	p.About = "A4 kept: holders stop between looking at the lock and writing, for less than it is valid"
	p.Expect = "no lost update"
	p.pauses(seed, 300*time.Millisecond)
	return p
}

func slack(seed uint64, nodes int) Plan {
	p := base("slack", nodes)
	p.Class = Slack
	p.About = "what A2 leaves: all nodes had confirmed the lock, and all that a quorum can do without forget it"
	p.Expect = "no overlap; the holder puts his key back with the next extension"
	// The first client gets the lock uncontended, so from all, and keeps it; the
	// others come later and ask all the time.
	p.Traffic = Traffic{
		Workers: 1, Think: Span{0, 10 * time.Millisecond}, Hold: Span{p.Length, p.Length},
		Patience: Span{time.Second, time.Second}, Try: 0.5, KeepAlive: 1,
		Stagger: Span{200 * time.Millisecond, 200 * time.Millisecond},
	}
	p.Floors.Attempts, p.Floors.Grants = 30, 1
	// The same nodes each time. A heal meets contenders who have the node for a
	// moment, so it may fail as often as it likes: others on top of these would be
	// more than A2 allows.
	forgetful := Dice(seed).ForText(p.Name).minority(&p)
	for at := 500 * time.Millisecond; at < p.Length; at += 600 * time.Millisecond {
		p.Steps = append(p.Steps, Step{Fault: Flush, At: at, Nodes: forgetful, IfHeld: true})
	}
	return p
}

// rivals makes two clients of which each reaches a bare quorum, and both of them
// the node in the middle.
func rivals(name string, nodes int) (p Plan, middle int) {
	p = base(name, nodes)
	p.Class, p.Clients = OutOfModel, 2
	p.Traffic = Traffic{
		Workers: 1, Think: Span{0, 20 * time.Millisecond}, Hold: Span{500 * time.Millisecond, 600 * time.Millisecond},
		Patience: Span{time.Second, 2 * time.Second},
	}
	middle = p.Quorum()
	for i := 1; i <= nodes; i++ {
		if i != middle {
			client := 2 // cannot reach the first nodes
			if i > middle {
				client = 1
			}
			p.Steps = append(p.Steps, Step{Fault: Partition, At: 0, For: p.Length, Nodes: []int{i}, Clients: []int{client}})
		}
	}
	return p, middle
}

func clockJump(seed uint64, nodes int) Plan {
	p, middle := rivals("clock-jump", nodes)
	p.Breaks = "A1"
	p.About = "the clock of the node that both quorums share jumps past the TTL (Kleppmann)"
	p.Expect = "two holders: the key ran out on that node while its holder was right to believe in it"
	p.repeat(seed, 0, 700*time.Millisecond, func(Dice) Step {
		return Step{Fault: ClockJump, Nodes: []int{middle}, By: 2 * time.Second}
	})
	return p
}

func restartForget(seed uint64, nodes int) Plan {
	p, middle := rivals("restart-forget", nodes)
	p.Breaks = "A2"
	p.About = "the node that both quorums share restarts empty within the TTL"
	p.Expect = "two holders: the node gave its vote twice"
	// Long enough for a container, which takes a second to come back, and two on
	// a busy machine.
	p.TTLs, p.Length = []time.Duration{5 * time.Second}, 16*time.Second
	p.Traffic.Hold, p.Traffic.Patience = Span{4 * time.Second, 4400 * time.Millisecond}, Span{5 * time.Second, 6 * time.Second}
	for i := range p.Steps {
		p.Steps[i].For = p.Length
	}
	p.repeat(seed, 60*time.Millisecond, 3*time.Second, func(Dice) Step {
		return Step{Fault: RestartForget, Nodes: []int{middle}}
	})
	return p
}

func flushMajority(seed uint64, nodes int) Plan {
	p := base("flush-majority", nodes)
	p.Class, p.Breaks = OutOfModel, "A2"
	p.About = "a majority loses its keys at once (FLUSHALL, eviction, failover to replicas)"
	p.Expect = "two holders"
	p.Traffic.Hold = Span{300 * time.Millisecond, 600 * time.Millisecond}
	p.repeat(seed, 0, 450*time.Millisecond, func(d Dice) Step { return Step{Fault: Flush, Nodes: d.majority(&p)} })
	return p
}

func clockFast(seed uint64, nodes int) Plan {
	p := base("clock-fast", nodes)
	p.Class, p.Breaks = OutOfModel, "A1"
	p.About = "the clocks of a majority run at three times their rate"
	p.Expect = "two holders: keys last a third of what was asked for"
	p.Traffic.Hold, p.Traffic.KeepAlive, p.Traffic.Extend = Span{400 * time.Millisecond, 700 * time.Millisecond}, 0, 0
	p.repeat(seed, 2*time.Second, 100*time.Millisecond, func(d Dice) Step {
		return Step{Fault: ClockRate, Nodes: d.majority(&p), Rate: 3}
	})
	return p
}

func clientSlow(_ uint64, nodes int) Plan {
	p := base("client-slow", nodes)
	p.Class, p.Breaks = OutOfModel, "A1"
	p.About = "a client's clock runs at a third of its rate"
	p.Expect = "two holders: it believes in its lock three times too long"
	p.Clients, p.Length, p.Floors.Faults = 2, 10*time.Second, 1
	p.Traffic.Hold, p.Traffic.KeepAlive, p.Traffic.Extend = Span{1200 * time.Millisecond, 2 * time.Second}, 0, 0
	p.Traffic.Patience = Span{3 * time.Second, 5 * time.Second}
	p.Steps = []Step{{Fault: ClientClockRate, At: 100 * time.Millisecond, For: p.Length - 200*time.Millisecond, Clients: []int{1}, Rate: 1.0 / 3}}
	return p
}

func unlikeLists(_ uint64, nodes int) Plan {
	p := base("unlike-lists", nodes)
	p.Class, p.Breaks, p.Clients = OutOfModel, "A0", 2
	p.About = "two clients are configured with lists of nodes that are not the same"
	p.Expect = "two holders: two quorums without a node in common"
	all := make([]int, nodes)
	for i := range all {
		all[i] = i + 1
	}
	half := nodes / 2
	p.Members = [][]int{all[:half], all[half:]}
	p.Floors.Faults = 0
	return p
}

func longPause(seed uint64, nodes int) Plan {
	p := base("long-pause", nodes)
	p.Class, p.Breaks = OutOfModel, "A4"
	p.About = "holders stop between looking at the lock and writing, for longer than it is valid"
	p.Expect = "stale writes and lost updates: the store has to refuse them, no lock can"
	p.pauses(seed, 1200*time.Millisecond)
	return p
}
