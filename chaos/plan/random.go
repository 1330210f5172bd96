package plan

import (
	"fmt"
	"time"
)

// Random returns a plan that keeps every assumption and attacks with all that
// they allow: it follows from the seed. Node and client clocks differ in rate by
// less than the drift factor of 1 %, a minority of the nodes at a time is struck,
// whatever forgets its keys stays away for longer than the longest TTL, and the
// network does what it likes.
func Random(seed uint64, nodes int) Plan {
	d := Dice(seed).ForText("plan")
	p := Plan{
		Name: "random", Class: InModel,
		About:  "everything that the assumptions allow, drawn from the seed",
		Expect: "no overlap, no orphan, progress after healing",
		Nodes:  nodes, Clients: 3 + d.ForText("clients").Int(3), Names: 1 + d.ForText("names").Int(2),
	}
	for i := range 1 + d.ForText("how many ttls").Int(3) {
		ttl := d.ForText("ttl").For(uint64(i)).In(Span{50 * time.Millisecond, 350 * time.Millisecond})
		p.TTLs = append(p.TTLs, ttl)
	}
	p.Traffic = Traffic{
		Workers: 1 + d.ForText("workers").Int(2),
		Think:   Span{0, 40 * time.Millisecond}, Hold: Span{0, 100 * time.Millisecond},
		Patience: Span{50 * time.Millisecond, 600 * time.Millisecond},
		Try:      0.3, KeepAlive: 0.4, Extend: 0.4,
		Cancel: d.ForText("cancel").Fraction() * 0.3, Abandon: d.ForText("abandon").Fraction() * 0.1,
		Stagger: Span{0, 30 * time.Millisecond},
	}
	// The more contend, the sooner there is enough of it.
	longest := 950*time.Millisecond - 45*time.Millisecond*time.Duration(p.Clients*p.Traffic.Workers)
	p.Length = d.ForText("length").In(Span{500 * time.Millisecond, longest})
	p.Network = Network{Delay: Span{100 * time.Microsecond, d.ForText("delay").In(Span{time.Millisecond, 12 * time.Millisecond})}}
	if d.ForText("lossy").Chance(0.7) {
		part := func(what string, most float64) float64 { return d.ForText(what).Fraction() * most }
		p.Network.DropRequest, p.Network.DropReply = part("drop request", 0.05), part("drop reply", 0.05)
		p.Network.Duplicate, p.Network.Delayed = part("duplicate", 0.05), part("delayed", 0.05)
		p.Network.Late = Span{5 * time.Millisecond, 400 * time.Millisecond}
	}
	// 0.996 / 1.005 is a little more than 0.99.
	for i := range nodes {
		p.NodeRates = append(p.NodeRates, 0.995+0.010*d.ForText("node rate").For(uint64(i)).Fraction())
	}
	for i := range p.Clients {
		p.ClientRates = append(p.ClientRates, 0.996+0.008*d.ForText("client rate").For(uint64(i)).Fraction())
	}
	if d.ForText("margin").Chance(0.5) {
		p.StopMargin = 1 // holders believe to the very end
	}
	steps := d.ForText("steps")
	p.Steps = steps.onNodes(&p)
	for len(p.Steps) < 3 { // one may meet nobody
		p.Length += 100 * time.Millisecond
		p.Steps = steps.onNodes(&p)
	}
	p.Steps = append(p.Steps, steps.crashes(&p)...)
	p.Floors = Floors{Attempts: 50, Grants: 5, Contended: 10, Faults: 2, Healed: 1}
	return p
}

// gap is between two faults, and between the last one and the end.
const gap = time.Millisecond

// onNodes draws faults of nodes, of a minority each, one after the other.
func (d Dice) onNodes(p *Plan) (steps []Step) {
	spans := Span{20 * time.Millisecond, 200 * time.Millisecond}
	// On the slowest clock the longest TTL takes longer.
	late := p.MaxTTL() + p.MaxTTL()/50 + 10*time.Millisecond
	at := d.ForText("first").In(Span{20 * time.Millisecond, 60 * time.Millisecond})
	for i := uint64(0); at+spans.Min+gap <= p.Length; i++ {
		left := p.Length - gap - at
		one := d.For(i)
		s := one.nodeStep(p)
		s.At, s.For = at, min(one.ForText("for").In(spans), left)
		if s.Fault == RestartLate {
			if late > left {
				continue
			}
			s.For = late
		}
		steps = append(steps, s)
		at += s.For + gap + one.ForText("gap").In(Span{0, 30 * time.Millisecond})
	}
	return steps
}

// crashes draws crashes of clients, at any time.
func (d Dice) crashes(p *Plan) (steps []Step) {
	for i := range d.ForText("crashes").Int(3) {
		one := d.ForText("crash").For(uint64(i))
		steps = append(steps, Step{
			Fault: CrashClient, Clients: []int{1 + one.Int(p.Clients)},
			At: one.ForText("at").In(Span{50 * time.Millisecond, p.Length - gap}),
		})
	}
	return steps
}

var (
	randomFaults  = []string{Kill, RestartLate, Pause, Partition, Slow, DropRequest, DropReply, Duplicate, LateDeliver, Reset, ErrorReply}
	randomReplies = []string{"LOADING", "OOM", "READONLY", "NOSCRIPT", "BUSY", "MISCONF", "NOPERM"}
)

// nodeStep draws a fault of nodes; only forgetting is limited to a minority.
func (d Dice) nodeStep(p *Plan) Step {
	s := Step{Fault: randomFaults[d.ForText("fault").Int(len(randomFaults))]}
	count := 1 + d.ForText("count").Int(p.Nodes-p.Quorum())
	if s.Fault != RestartLate && d.ForText("many").Chance(0.2) {
		count = p.Quorum() + d.ForText("more").Int(p.Nodes-p.Quorum()+1)
	}
	s.Nodes = d.ForText("nodes").some(p.Nodes, count)
	switch s.Fault {
	case Partition:
		s.Clients = d.ForText("clients").some(p.Clients, 1+d.ForText("how many").Int(p.Clients))
	case Slow:
		s.By = d.ForText("by").In(Span{5 * time.Millisecond, 100 * time.Millisecond})
	case LateDeliver:
		s.By = d.ForText("by").In(Span{20 * time.Millisecond, 400 * time.Millisecond})
	case ErrorReply:
		s.Reply = randomReplies[d.ForText("reply").Int(len(randomReplies))]
	}
	return s
}

// some draws count of the numbers 1 to n, in order.
func (d Dice) some(n, count int) (numbers []int) {
	for i := 1; i <= n && count > 0; i++ {
		if d.For(uint64(i)).Int(n-i+1) < count {
			numbers = append(numbers, i)
			count--
		}
	}
	return numbers
}

// String returns the plan's name and what it consists of.
func (p *Plan) String() string {
	return fmt.Sprintf("%s (%s): %d nodes, %d clients, %d steps", p.Name, p.Class, p.Nodes, p.Clients, len(p.Steps))
}
