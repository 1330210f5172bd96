package plan

import "time"

// Long TTLs show what undo and hunts do: a key that nobody deletes would run out
// too soon to be noticed otherwise.
func longLeases(name string, nodes int) Plan {
	p := base(name, nodes)
	p.Names, p.TTLs, p.Length = 2, []time.Duration{3 * time.Second}, 8*time.Second
	p.Traffic.Hold, p.Traffic.Abandon = Span{10 * time.Millisecond, 60 * time.Millisecond}, 0
	p.Network.Delay.Max = 8 * time.Millisecond
	return p
}

func cancel(_ uint64, nodes int) Plan {
	p := longLeases("cancel", nodes)
	p.About = "callers change their minds at any time, also in the middle of a round"
	p.Expect = "no key without an owner: what they began is undone"
	p.Length, p.Names, p.Traffic.Cancel, p.Traffic.Think = 5*time.Second, 1, 0.7, Span{0, 5 * time.Millisecond}
	p.Floors.Faults = 0
	return p
}

func orphans(seed uint64, nodes int) Plan {
	p := longLeases("orphans", nodes)
	p.About = "short faults, after each of which there is time to clear up"
	p.Expect = "no key without an owner, soon after the node answers again"
	p.Traffic.Cancel, p.Traffic.Hold.Max, p.Traffic.Extend = 0.2, 250*time.Millisecond, 0.8
	faults := []string{DropRequest, DropReply, LateDeliver, LateDeliver, Pause, Partition, Reset, Slow}
	p.repeat(seed, 150*time.Millisecond, 1500*time.Millisecond, func(d Dice) Step {
		s := Step{Fault: faults[d.Int(len(faults))], Nodes: d.minority(&p), By: 250 * time.Millisecond}
		if d.For(1).Chance(0.4) {
			s.Nodes = d.majority(&p)
		}
		return s
	})
	return p
}

func together(_ uint64, nodes int) Plan {
	p := base("together", nodes)
	p.About = "clients try for a free lock at the same time, as servers do that start one job"
	p.Expect = "one of them gets it: they do not all point at each other"
	p.Clients = 6                                                    // two alone cannot split an odd number of nodes
	p.Network.Delay = Span{200 * time.Microsecond, time.Millisecond} // whose SET is first is another one on each node
	p.Traffic = Traffic{Workers: 1, Beat: 300 * time.Millisecond, Think: Span{0, 20 * time.Microsecond}, Hold: Span{20 * time.Millisecond, 100 * time.Millisecond}, Try: 1}
	p.Floors.Faults = 0
	return p
}

func fastAlike(seed uint64, nodes int) Plan {
	p := base("fast-alike", nodes)
	p.About = "all clocks, of nodes and clients, run a third too fast: A1 asks only that they run alike"
	p.Expect = "one holder at a time"
	for i := range nodes {
		p.NodeRates = append(p.NodeRates, 1.3*(0.996+0.008*Dice(seed).ForText("fast").For(uint64(i)).Fraction()))
	}
	for range p.Clients {
		p.ClientRates = append(p.ClientRates, 1.3)
	}
	p.Traffic.Hold, p.Traffic.Abandon = Span{100 * time.Millisecond, 900 * time.Millisecond}, 0.3
	p.Floors.Faults, p.StopMargin = 0, 1
	return p
}

func longWork(seed uint64, nodes int) Plan {
	p := base("long-work", nodes)
	p.About = "holders work for several TTLs, through faults, and live by their extensions"
	p.Expect = "one holder at a time; who is not extended loses the lock in time"
	p.TTLs, p.StopMargin = []time.Duration{250 * time.Millisecond, 400 * time.Millisecond}, 1
	p.Traffic.Hold, p.Traffic.KeepAlive, p.Traffic.Extend = Span{100 * time.Millisecond, 1500 * time.Millisecond}, 0.4, 0.7
	p.Traffic.Abandon, p.Traffic.Try, p.Traffic.Think = 0.4, 0.8, Span{0, 20 * time.Millisecond} // somebody asks soon after an end
	p.Network.Delay.Max = 10 * time.Millisecond
	faults := []string{Partition, Pause, Kill, DropRequest, DropReply, Slow, Slow}
	p.repeat(seed, 350*time.Millisecond, 100*time.Millisecond, func(d Dice) Step {
		s := Step{Fault: faults[d.Int(len(faults))], Nodes: d.minority(&p), By: 30 * time.Millisecond}
		if d.For(1).Chance(0.5) {
			s.Nodes = d.majority(&p)
		}
		if s.Fault == Partition {
			s.Clients = d.For(2).some(p.Clients, 1+d.For(3).Int(2))
		}
		return s
	})
	return p
}

func shortLeases(_ uint64, nodes int) Plan {
	p := base("short-leases", nodes)
	p.About = "TTLs that a round can use up"
	p.Expect = "one holder at a time; no lock that is over already"
	p.TTLs, p.StopMargin = []time.Duration{25 * time.Millisecond, 40 * time.Millisecond}, 1
	p.Traffic.Hold = Span{0, 60 * time.Millisecond}
	p.Network.Delay.Max = 20 * time.Millisecond
	p.Length, p.Floors.Faults = 2*time.Second, 0
	return p
}

func hungNode(seed uint64, nodes int) Plan {
	p := together(seed, nodes)
	p.Name, p.KeepsPace = "hung-node", true
	p.About = "a node hangs for long, while clients try together for a lock that each needs for a moment"
	p.Expect = "one holder at a time, and granting goes on at its pace: nobody waits for the node"
	p.Clients, p.Length, p.Floors.Faults = 5, 5*time.Second, 1
	p.Traffic.Beat, p.Traffic.Hold = 20*time.Millisecond, Span{0, time.Millisecond}
	p.Steps = []Step{{Fault: Pause, At: 2400 * time.Millisecond, For: 2500 * time.Millisecond, Nodes: Dice(seed).ForText(p.Name).some(nodes, 1)}}
	return p
}
