package check_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A story is a history told line by line, in milliseconds. Clients are 1, 2, 3;
// the lock is called job.
type story struct {
	history.History
	name  string
	calls map[int]int // by client: the latest
	next  int
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// tell begins a story of five nodes in simulated time and in model.
func tell() *story {
	return &story{
		name: "job", calls: map[int]int{},
		History: history.History{Header: history.Header{
			Format: history.Format, Class: history.InModel, Nodes: 5, Quorum: 3, Clients: 3, Drift: 0.01,
			MaxTTL: time.Second, Bound: 500 * time.Millisecond, Timeout: 50 * time.Millisecond, Clean: 1050 * time.Millisecond, Exact: true,
		}},
	}
}

// with changes the header.
func (s *story) with(change func(*history.Header)) *story {
	change(&s.Header)
	return s
}

// elsewhere makes the following lines be about another lock.
func (s *story) elsewhere() *story {
	s.name = "else"
	return s
}

func (s *story) then(at int, e history.Event) *story {
	e.At = ms(at)
	s.Events = append(s.Events, e)
	return s
}

func (s *story) asks(at, client int) *story { return s.begins(at, client, false) }
func (s *story) tries(at, client int) *story {
	return s.begins(at, client, true)
}

// asksFor asks with a TTL of its own.
func (s *story) asksFor(at, client, ttl int) *story {
	s.asks(at, client)
	s.Events[len(s.Events)-1].TTL = ms(ttl)
	return s
}

func (s *story) begins(at, client int, try bool) *story {
	s.next++
	s.calls[client] = s.next
	return s.then(at, history.Event{Kind: history.Begin, Client: client, Name: s.name, Call: s.next, TTL: s.MaxTTL, Try: try})
}

func (s *story) holds(at, client int, token string, until int) *story {
	return s.then(at, history.Event{Kind: history.Holds, Client: client, Name: s.name, Token: token, Call: s.calls[client], Until: ms(until)})
}

func (s *story) fails(at, client int, class string, holder int) *story {
	e := history.Event{Kind: history.Failed, Client: client, Name: s.name, Call: s.calls[client], Class: class}
	if holder != 0 {
		e.Holder = history.Owner(holder)
	}
	return s.then(at, e)
}

func (s *story) releases(at, client int, token string) *story {
	return s.then(at, history.Event{Kind: history.Release, Client: client, Name: s.name, Token: token})
}

func (s *story) loses(at, client int, token string) *story {
	return s.then(at, history.Event{Kind: history.Lost, Client: client, Name: s.name, Token: token})
}

func (s *story) crashes(at, client int) *story {
	return s.then(at, history.Event{Kind: history.Crash, Client: client})
}

// writes makes a version out of another one.
func (s *story) writes(at, client int, token string, until, version, based int) *story {
	return s.then(at, history.Event{Kind: history.Write, Client: client, Name: s.name, Token: token, Until: ms(until), Version: version, Based: based})
}

func (s *story) keeps(at, node, client int, token string, until int) *story {
	return s.then(at, history.Event{Kind: history.Kept, Node: node, Client: client, Name: s.name, Token: token, Until: ms(until)})
}

func (s *story) deletes(at, node int, token, by string) *story {
	return s.then(at, history.Event{Kind: history.Deleted, Node: node, Name: s.name, Token: token, By: by})
}

func (s *story) finds(at, node int, token string, until int) *story {
	return s.then(at, history.Event{Kind: history.Found, Node: node, Name: s.name, Token: token, Until: ms(until)})
}

func (s *story) fault(at int, fault string, node, client int) *story {
	return s.then(at, history.Event{Kind: history.Fault, Fault: fault, Node: node, Client: client})
}

func (s *story) seen(at int, fault string, node, client int) *story {
	return s.then(at, history.Event{Kind: history.Seen, Fault: fault, Node: node, Client: client})
}

func (s *story) heals(at int, fault string, node, client int) *story {
	return s.then(at, history.Event{Kind: history.Heal, Fault: fault, Node: node, Client: client})
}

func (s *story) healed(at int) *story { return s.then(at, history.Event{Kind: history.Healed}) }
func (s *story) calm(at int) *story   { return s.then(at, history.Event{Kind: history.Calm}) }

func (s *story) measures(at, node, client, offset int) *story {
	return s.then(at, history.Event{Kind: history.Offset, Node: node, Client: client, Offset: ms(offset)})
}

func (s *story) ends(at, goroutines int) *story {
	return s.then(at, history.Event{Kind: history.End, Count: goroutines})
}

// inOrder sorts what was told about one thing after the other.
func (s *story) inOrder() *story {
	slices.SortStableFunc(s.Events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return s
}

// String is for failed tests.
func (s *story) String() string { return print(&s.History) }

func print(h *history.History) string {
	text := fmt.Sprintf("%+v\n", h.Header)
	for _, e := range h.Events {
		text += fmt.Sprintf("%4v %-8s", e.At, e.Kind)
		for _, field := range []struct {
			name  string
			value any
			set   bool
		}{
			{"client", e.Client, e.Client != 0},
			{"node", e.Node, e.Node != 0},
			{"", e.Name, e.Name != ""},
			{"call", e.Call, e.Call != 0},
			{"token", e.Token, e.Token != ""},
			{"by", e.By, e.By != ""},
			{"until", e.Until, e.Until != 0},
			{"ttl", e.TTL, e.TTL != 0},
			{"try", e.Try, e.Try},
			{"", cmp.Or(e.Class, e.Fault), e.Class+e.Fault != ""},
			{"holder", e.Holder, e.Holder != ""},
			{"version", e.Version, e.Version != 0},
			{"based", e.Based, e.Version != 0},
		} {
			if field.set {
				text += fmt.Sprintf(" %s %v", field.name, field.value)
			}
		}
		text += "\n"
	}
	return text
}
