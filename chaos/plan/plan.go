// Package plan describes attacks as data: who contends for what, over which
// network, and which faults strike when. A plan says which class it is in, and
// so what its run must show, before anything has run.
package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A Class says what a plan promises. It follows from the faults that the plan
// injects, never from what a run of it showed.
type Class string

const (
	// InModel plans keep every assumption: no two clients may ever believe that
	// they hold the same lock.
	InModel Class = history.InModel
	// Slack plans use up what assumption A2 leaves: nodes forget a lock that
	// more nodes than a quorum had confirmed. No overlap either.
	Slack Class = history.Slack
	// OutOfModel plans break an assumption. Two holders are possible, and the
	// run has to show them.
	OutOfModel Class = history.OutOfModel
)

// A Plan is an attack.
type Plan struct {
	Name   string `json:"name"`
	About  string `json:"about"`  // what is attacked
	Expect string `json:"expect"` // what it is expected to show
	Class  Class  `json:"class"`
	Breaks string `json:"breaks,omitempty"` // the assumption that it breaks: "A0" to "A4"

	Nodes   int             `json:"nodes"`
	Clients int             `json:"clients"`
	Names   int             `json:"names"`  // of locks
	TTLs    []time.Duration `json:"ttls"`   // one is drawn for each acquisition
	Length  time.Duration   `json:"length"` // of the attack; after it everything is healed
	Traffic Traffic         `json:"traffic"`

	// StopMargin is the clients', 0 the default. The default, a tenth of the TTL,
	// hides mistakes about the end that are smaller.
	StopMargin time.Duration `json:"stop_margin,omitempty"`

	Network Network `json:"network"`

	// NodeRates and ClientRates are the rates of clocks against true time, by
	// number; missing ones are 1.
	NodeRates   []float64 `json:"node_rates,omitempty"`
	ClientRates []float64 `json:"client_rates,omitempty"`

	// Members are the nodes, from 1, that a client is configured with, by
	// client; missing ones have all. Anything but all breaks A0.
	Members [][]int `json:"members,omitempty"`

	// KeyPrefix is what the clients' keys begin with, for masters that are also
	// somebody else's.
	KeyPrefix string `json:"key_prefix,omitempty"`

	Steps []Step `json:"steps,omitempty"`

	// KeepsPace: of what strikes the nodes, a minority is down or hangs and
	// nothing else, so that granting must go on about as fast as before.
	KeepsPace bool `json:"keeps_pace,omitempty"`

	Floors Floors `json:"floors"`
}

// Floors are what a run of the plan must have seen at least to prove anything.
type Floors struct {
	Attempts  int `json:"attempts"` // rounds of SETs
	Grants    int `json:"grants"`
	Contended int `json:"contended"` // calls during which another client asked for that lock or held it
	Faults    int `json:"faults"`    // that were seen to take effect
	Healed    int `json:"healed"`    // locks granted after everything was healed
}

// Traffic is what the clients do. Each client has Workers, and each of them
// thinks, asks for a lock, works under it, and gives it up, again and again.
type Traffic struct {
	Workers   int           `json:"workers"`
	Think     Span          `json:"think"`          // between two acquisitions
	Beat      time.Duration `json:"beat,omitempty"` // what all wait for before they think: its multiples; 0: nothing
	Hold      Span          `json:"hold"`           // the work under a lock
	Patience  Span          `json:"patience"`
	Try       float64       `json:"try"`        // share of TryAcquire; the rest is Acquire for Patience
	KeepAlive float64       `json:"keep_alive"` // share of locks kept alive
	Extend    float64       `json:"extend"`     // share of the others extended once by hand
	Cancel    float64       `json:"cancel"`     // share of acquisitions whose context is cancelled at a random time
	Abandon   float64       `json:"abandon"`    // share of locks never released
	Stagger   Span          `json:"stagger"`    // client i starts i-1 draws of it later
}

// A Span is what a duration is drawn from, evenly.
type Span struct {
	Min time.Duration `json:"min"`
	Max time.Duration `json:"max"`
}

// Network is what happens to every message between a client and a node, in
// simulated time.
type Network struct {
	Delay       Span    `json:"delay"` // one way
	DropRequest float64 `json:"drop_request,omitempty"`
	DropReply   float64 `json:"drop_reply,omitempty"`
	Duplicate   float64 `json:"duplicate,omitempty"` // requests, the copy after Late
	Delayed     float64 `json:"delayed,omitempty"`   // requests that take Late longer
	Late        Span    `json:"late"`
}

// A Step is a fault that begins At and ends after For. A fault without duration
// (flush, clock-jump, crash-client) has no For.
type Step struct {
	Fault   string        `json:"fault"`
	At      time.Duration `json:"at"`
	For     time.Duration `json:"for,omitempty"`
	Nodes   []int         `json:"nodes,omitempty"`   // from 1
	Clients []int         `json:"clients,omitempty"` // from 1; of partition: cut off from Nodes; empty: all
	By      time.Duration `json:"by,omitempty"`      // of clock-jump and clock-strobe: how far; of slow: how much later
	Rate    float64       `json:"rate,omitempty"`    // of clock-rate: against true time
	Reply   string        `json:"reply,omitempty"`   // of error-reply: a code

	// IfHeld leaves the step out unless all nodes that it spares have one
	// holder's keys: then it takes from him no more than what A2 leaves over.
	IfHeld bool `json:"if_held,omitempty"`
}

// IsReliable reports whether the network loses, doubles or delays nothing by
// itself.
func (n *Network) IsReliable() bool {
	return n.DropRequest == 0 && n.DropReply == 0 && n.Duplicate == 0 && n.Delayed == 0
}

// IsPrompt reports whether every message arrives at most once, and before an
// attempt's keys would have run out: then a client knows of all that it has left
// anywhere.
func (p *Plan) IsPrompt() bool {
	late := p.Network.Delay.Max
	if p.Network.Delayed > 0 {
		late += p.Network.Late.Max
	}
	most := time.Duration(0)
	for _, s := range p.Steps {
		switch s.Fault {
		case Duplicate:
			return false
		case LateDeliver:
			most = max(most, s.By)
		case Pause:
			most = max(most, s.For)
		}
	}
	const others = 200 * time.Millisecond // waiting for a connection, and the undo
	return p.Network.Duplicate == 0 && late+most+others < slices.Min(p.TTLs)
}

// MaxTTL returns the longest TTL in use.
func (p *Plan) MaxTTL() time.Duration { return slices.Max(p.TTLs) }

// Quorum returns how many nodes make a client's quorum.
func (p *Plan) Quorum() int { return p.Nodes/2 + 1 }

// Faults returns the names of the faults in the plan's steps, sorted.
func (p *Plan) Faults() []string {
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Fault)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Validate returns nil, or which value of the plan makes no sense.
func (p *Plan) Validate() error {
	switch {
	case p.Nodes < 1 || p.Clients < 1 || p.Names < 1 || p.Traffic.Workers < 1:
		return fmt.Errorf("plan %q: %d nodes, %d clients, %d names, %d workers, want at least one of each",
			p.Name, p.Nodes, p.Clients, p.Names, p.Traffic.Workers)
	case len(p.TTLs) == 0 || p.Length <= 0:
		return fmt.Errorf("plan %q: %d TTLs and length %v, want some of both", p.Name, len(p.TTLs), p.Length)
	case p.Class == OutOfModel == (p.Breaks == ""):
		return fmt.Errorf("plan %q: class %q, but it breaks %q", p.Name, p.Class, p.Breaks)
	}
	for i := range p.Steps {
		if err := p.Steps[i].validate(p); err != nil {
			return fmt.Errorf("plan %q: step %d: %w", p.Name, i+1, err)
		}
	}
	return nil
}

func (s *Step) validate(p *Plan) error {
	fault, ok := Find(s.Fault)
	if !ok {
		return fmt.Errorf("unknown fault %q", s.Fault)
	}
	for _, n := range s.Nodes {
		if n < 1 || n > p.Nodes {
			return fmt.Errorf("%s of node %d, there are %d", s.Fault, n, p.Nodes)
		}
	}
	for _, c := range s.Clients {
		if c < 1 || c > p.Clients {
			return fmt.Errorf("%s of client %d, there are %d", s.Fault, c, p.Clients)
		}
	}
	switch {
	case fault.OfClients && len(s.Clients) == 0:
		return fmt.Errorf("%s of no client", s.Fault)
	case !fault.OfClients && len(s.Nodes) == 0:
		return fmt.Errorf("%s of no node", s.Fault)
	case s.At < 0 || s.For < 0 || s.At+s.For > p.Length:
		return fmt.Errorf("%s from %v for %v, the plan lasts %v", s.Fault, s.At, s.For, p.Length)
	case fault.Instant != (s.For == 0):
		return fmt.Errorf("%s for %v", s.Fault, s.For)
	case fault.needsRate && s.Rate <= 0:
		return fmt.Errorf("%s with rate %v, want above 0", s.Fault, s.Rate)
	case fault.needsBy && s.By == 0:
		return fmt.Errorf("%s by nothing", s.Fault)
	}
	return nil
}
