package check

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// redial is how often go-redis tries a node again that was down.
const redial = time.Second

// A Progress tells whether locks were granted when they had to be.
type Progress struct {
	Healed   int           // names asked for after everything was healed
	Recovery time.Duration // the longest of them had to wait for its first grant
	Crashes  int           // crashes of holders after which somebody asked
	Judged   int           // of those, the ones that no fault overlaid
	Stuck    Findings
}

// Liveness looks for locks that were asked for and free, and yet not granted.
//
// A name is asked for during every call, and in the pauses of up to Bound
// between two calls, since clients that poll ask too. It is stuck while it is
// asked for and no client believes in it; a grant ends that, and so does the end
// of asking. It must not be stuck
//   - after Healed for longer than the longest TTL in use on the slowest clock
//     (what the heal delivered may live so long), one second (go-redis dials once
//     a second) and Bound;
//   - after the crash of its holder for longer than that lock's TTL on the
//     slowest clock and Bound. This is judged where no other fault acts from the
//     crash to the grant, or to that time.
func Liveness(h *history.History) Progress { return newIndex(h).liveness() }

func (x *index) liveness() Progress {
	var p Progress
	troubled := x.troubled()
	sick, sickOf := x.unwell()
	quiet := func(client int, from, to time.Duration) bool {
		if _, touched := troubled.touch(from, to); touched {
			return false
		}
		others := sick.meets(span{from, to})
		if own := sickOf[client]; own != nil {
			others -= own.meets(span{from, to})
		}
		return others == 0
	}
	for _, n := range x.names {
		healed := false
		for _, s := range x.stretches(n) {
			if x.healed >= 0 && s.to > x.healed {
				healed = true
				s := s
				s.from = max(s.from, x.healed)
				if s.first {
					p.Recovery = max(p.Recovery, s.to-s.from)
				}
				if limit := x.lease() + redial + x.h.Bound; s.to-s.from > limit {
					p.Stuck.add(func() Finding {
						return stuck(n.name, s.span, nil, fmt.Sprintf("after everything was healed, want a grant within %v", limit))
					})
				}
			}
			b := s.after
			if b == nil || b.End != history.Crash {
				continue
			}
			if s.afterwards {
				p.Crashes++
			}
			ttl := b.TTL
			if ttl == 0 || b.extended {
				ttl = x.h.MaxTTL // who knows what he asked for last
			}
			limit := max(b.To+x.grown(ttl), s.from) + x.h.Bound
			if !quiet(b.Client, b.To, min(limit, s.to)) {
				continue
			}
			if s.afterwards {
				p.Judged++
			}
			if s.to > limit {
				p.Stuck.add(func() Finding {
					return stuck(n.name, s.span, b, fmt.Sprintf("after %s crashed, want it free by %v", history.Owner(b.Client), limit))
				})
			}
		}
		if healed {
			p.Healed++
		}
	}
	p.Stuck.sort()
	return p
}

// A stretch is a time during which a lock is asked for and nobody holds it.
type stretch struct {
	span
	after      *Belief // the one that ended last before; nil: none
	afterwards bool    // it is the first after that belief
	first      bool    // it is the first after Healed
}

// stretches returns those of a lock, by time.
func (x *index) stretches(n *lock) []stretch {
	calls := make([]span, len(n.calls))
	for i, c := range n.calls {
		calls[i] = span{x.calls[c].begin, x.calls[c].end}
	}
	var all []stretch
	var after *Belief // of those that began so far, the one that ends last, by a crash if one of them did
	next := 0         // belief
	take := func() {
		b := &x.beliefs[n.beliefs[next]]
		if after == nil || b.To > after.To || b.To == after.To && (b.End == history.Crash || after.End != history.Crash) {
			after = b
		}
		next++
	}
	for _, asked := range union(calls, x.h.Bound) {
		from := asked.from
		for from <= asked.to {
			for next < len(n.beliefs) && x.beliefs[n.beliefs[next]].From <= from {
				take()
			}
			if after != nil && after.To > from {
				from = after.To // held until then
				continue
			}
			to := asked.to
			if next < len(n.beliefs) {
				to = min(to, x.beliefs[n.beliefs[next]].From)
			}
			if to > from {
				s := stretch{span: span{from, to}, after: after}
				if last := len(all) - 1; last < 0 || all[last].after != after {
					s.afterwards = after != nil
				}
				if last := len(all) - 1; to > x.healed && (last < 0 || all[last].to <= x.healed) {
					s.first = true
				}
				all = append(all, s)
			}
			if to == asked.to {
				break
			}
			from = to // the next belief begins
		}
	}
	return all
}

func stuck(name string, s span, b *Belief, text string) Finding {
	f := Finding{
		Check: CheckLiveness, Name: name, From: s.from, To: s.to,
		Text: fmt.Sprintf("%q was asked for and free for %v, and not granted, %s", name, s.to-s.from, text),
	}
	if b != nil {
		f.Clients, f.Tokens = []int{b.Client}, []string{b.Token}
	}
	return f
}
