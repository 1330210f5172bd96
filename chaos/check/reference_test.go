package check_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// The checkers once more, as slow and as plain as can be: for every thing to be
// judged they look at the whole history again. They share no code with the real
// ones. What they find is written as "name from-to".

type slow struct{ *history.History }

func found(name string, from, to time.Duration) string {
	return fmt.Sprintf("%s %v-%v", name, from, to)
}

func (h slow) end() time.Duration {
	if len(h.Events) == 0 {
		return 0
	}
	return h.Events[len(h.Events)-1].At
}

func (h slow) lease() time.Duration { return h.more(h.MaxTTL) }

func (h slow) more(d time.Duration) time.Duration { return d + time.Duration(float64(d)*h.Drift) }

func (h slow) names() []string {
	var names []string
	for _, e := range h.Events {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type belief struct {
	name, token     string
	client          int
	asked, from, to time.Duration
	released        time.Duration
	ttl             time.Duration
	extended        bool
	crashed         bool
	event           int // that it begins with
}

// beliefs returns the beliefs in the order of their beginning, and how many of
// them were revivals.
func (h slow) beliefs() (all []belief, revivals int) {
	seen := map[string]bool{}
	for i, e := range h.Events {
		id := fmt.Sprint(e.Client, "/", e.Token)
		if e.Kind != history.Holds || seen[id] {
			continue
		}
		seen[id] = true
		b := h.first(i)
		over, ended := false, e.At // no Holds any more; the event that did it
		done := func() { all = append(all, b) }
		for j, later := range h.Events[i+1:] {
			if later.Client != e.Client || (later.Token != e.Token && later.Kind != history.Crash) {
				continue
			}
			switch later.Kind {
			case history.Holds:
				switch {
				case over && later.At == ended:
				case over || later.At > b.to:
					revivals++
					done()
					b = belief{name: e.Name, token: e.Token, client: e.Client, asked: later.At, from: later.At, to: max(later.Until, later.At), event: i + 1 + j, ttl: h.first(i).ttl}
					over = false
				default:
					b.to, b.extended = max(later.Until, later.At), true
				}
			case history.Release, history.Lost, history.Crash:
				if !over {
					over, ended = true, later.At
					if later.At <= b.to {
						b.to, b.crashed = later.At, later.Kind == history.Crash
					}
				}
			case history.Released:
				if b.released == 0 {
					b.released = later.At
				}
			}
		}
		done()
	}
	slices.SortStableFunc(all, func(a, b belief) int { return a.event - b.event })
	return all, revivals
}

// first returns the belief that event i begins, as announced there.
func (h slow) first(i int) belief {
	e := h.Events[i]
	b := belief{event: i, name: e.Name, token: e.Token, client: e.Client, asked: e.At, from: e.At, to: max(e.Until, e.At)}
	for _, c := range h.calls() {
		if c.number == e.Call {
			b.ttl = c.ttl
			if c.granted && c.end == e.At {
				b.asked = c.begin
			}
		}
	}
	return b
}

type acquisition struct {
	number, client, life int
	name                 string
	begin, end, ttl      time.Duration
	granted, failed, try bool
	crashed              bool
	class, holder        string
}

func (h slow) calls() (all []acquisition) {
	lives := map[int]int{}
	for i, e := range h.Events {
		if e.Kind == history.Crash {
			lives[e.Client]++
		}
		if e.Kind != history.Begin {
			continue
		}
		c := acquisition{number: e.Call, client: e.Client, life: lives[e.Client], name: e.Name, begin: e.At, end: h.end(), ttl: e.TTL, try: e.Try}
	search:
		for _, later := range h.Events[i+1:] {
			switch {
			case later.Client != e.Client:
			case later.Kind == history.Crash:
				c.crashed = true
			case later.Call != e.Call:
			case later.Kind == history.Holds:
				c.granted = true
			case later.Kind == history.Failed:
				c.failed, c.class, c.holder = true, later.Class, later.Holder
			}
			if c.crashed || c.granted || c.failed {
				c.end = later.At
				break search
			}
		}
		all = append(all, c)
	}
	return all
}

func (h slow) overlaps() (all []string) {
	beliefs, _ := h.beliefs()
	for i, a := range beliefs {
		for _, b := range beliefs[:i] {
			if from, to := max(a.from, b.from), min(a.to, b.to); a.name == b.name && from < to {
				all = append(all, found(a.name, from, to))
			}
		}
	}
	return all
}

// store returns the violations, and how many updates were lost and writes stale.
func (h slow) store() (all []string, lost, stale int) {
	beliefs, _ := h.beliefs()
	state := func(w history.Event) (granted, inTime bool) {
		for _, b := range beliefs {
			if b.client == w.Client && b.token == w.Token && b.name == w.Name && b.from <= w.At {
				granted, inTime = true, b.to >= w.At // the last one counts
			}
		}
		return granted, (inTime || !granted) && (w.Until == 0 || w.At <= w.Until)
	}
	for i, w := range h.Events {
		if w.Kind != history.Write {
			continue
		}
		granted, inTime := state(w)
		if !granted {
			all = append(all, found(w.Name, w.At, w.At))
		}
		if !inTime {
			stale++
		}
		if w.Based == w.Version-1 {
			continue
		}
		lost++
		if !inTime {
			continue
		}
		from := time.Duration(-1)
		for _, v := range h.Events[:i] {
			if v.Kind != history.Write || v.Name != w.Name || v.Version <= w.Based {
				continue
			}
			if _, alsoInTime := state(v); alsoInTime {
				from = v.At
			}
		}
		if from >= 0 {
			all = append(all, found(w.Name, from, w.At))
		}
	}
	return all, lost, stale
}

type act struct {
	from, to     time.Duration
	node, client int
	fault        string
	seen         bool
}

func (h slow) faults() (all []act) {
	healing := map[int]bool{} // Heal events that are used
	for i, e := range h.Events {
		if e.Kind != history.Fault {
			continue
		}
		a := act{from: e.At, to: h.end(), node: e.Node, client: e.Client, fault: e.Fault}
		again := false
		over := false
		for j, later := range h.Events[i+1:] {
			same := later.Fault == e.Fault && later.Node == e.Node && later.Client == e.Client
			switch {
			case later.Kind == history.Fault && same:
				again = true
			case later.Kind == history.Seen && same && !again:
				a.seen = true
			case over:
			case later.Kind == history.Healed:
				a.to, over = later.At, true
			case later.Kind == history.Heal && same && !healing[i+1+j]:
				healing[i+1+j] = true
				a.to, over = later.At, true
			}
		}
		all = append(all, a)
	}
	return all
}

// trouble reports whether a fault of nodes touches [from, to], and how long
// faults go on from there without a gap.
func (h slow) trouble(from, to time.Duration) (until time.Duration, any bool) {
	until = -1
	for again := true; again; {
		again = false
		for _, f := range h.faults() {
			if f.node == 0 && f.client != 0 {
				continue
			}
			if f.from <= max(to, until) && f.to >= from && f.to > until {
				until, any, again = f.to, true, true
			}
		}
	}
	return until, any
}

func (h slow) last(kind history.Kind) time.Duration {
	last := time.Duration(-1)
	for _, e := range h.Events {
		if e.Kind == kind {
			last = e.At
		}
	}
	return last
}

// stuck looks at every piece of time between two moments at which anything
// happens.
func (h slow) stuck(tick time.Duration) (all []string) {
	beliefs, _ := h.beliefs()
	healed := h.last(history.Healed)
	for _, name := range h.names() {
		asked := func(t time.Duration) bool { // from t to t+tick
			before, after := time.Duration(-1), time.Duration(-1)
			for _, c := range h.calls() {
				if c.name != name {
					continue
				}
				if c.begin <= t && c.end > t {
					return true
				}
				if c.end <= t && c.end > before {
					before = c.end
				}
				if c.begin > t && (after < 0 || c.begin < after) {
					after = c.begin
				}
			}
			return before >= 0 && after >= 0 && after-before <= h.Bound
		}
		held := func(t time.Duration) bool {
			return slices.ContainsFunc(beliefs, func(b belief) bool { return b.name == name && b.from <= t && b.to > t })
		}
		begins := func(t time.Duration) bool {
			return slices.ContainsFunc(beliefs, func(b belief) bool { return b.name == name && b.from == t })
		}
		judge := func(from, to time.Duration) {
			if healed >= 0 && to > healed && to-max(from, healed) > h.lease()+time.Second+h.Bound {
				all = append(all, found(name, max(from, healed), to))
			}
			var after *belief
			for i, b := range beliefs {
				if b.name == name && b.from <= from && (after == nil || b.to > after.to || b.to == after.to && (b.crashed || !after.crashed)) {
					after = &beliefs[i]
				}
			}
			if after == nil || !after.crashed {
				return
			}
			ttl := after.ttl
			if ttl == 0 || after.extended {
				ttl = h.MaxTTL
			}
			limit := max(after.to+h.more(ttl), from) + h.Bound
			if to <= limit {
				return
			}
			for _, f := range h.faults() {
				if f.from <= limit && f.to >= after.to && (f.node != 0 || f.client != after.client) {
					return
				}
			}
			all = append(all, found(name, from, to))
		}
		from := time.Duration(-1)
		for t := time.Duration(0); t <= h.end()+tick; t += tick {
			free := asked(t) && !held(t)
			if from >= 0 && (!free || begins(t)) {
				judge(from, t)
				from = -1
			}
			if free && from < 0 {
				from = t
			}
		}
	}
	return all
}

// key is a time during which a node kept a client's key.
type key struct {
	name     string
	client   int // -1: nobody knows
	from, to time.Duration
}

func (h slow) keys() (all []key) {
	if !h.Watched {
		return nil
	}
	beliefs, _ := h.beliefs()
	for i, e := range h.Events {
		if e.Kind != history.Kept {
			continue
		}
		k := key{e.Name, e.Client, e.At, e.At + h.more(e.Until-e.At)}
		if e.Until == 0 {
			k.to = h.end()
		}
		if k.client == 0 {
			k.client = -1
			for _, b := range beliefs {
				if b.token == e.Token {
					k.client = b.client
				}
			}
		}
		for _, later := range h.Events[i+1:] {
			if later.Node == e.Node && later.Name == e.Name &&
				(later.Kind == history.Kept || later.Kind == history.Deleted && later.Token == e.Token) {
				k.to = min(k.to, later.At)
				break
			}
		}
		k.to = max(min(k.to, h.end()), k.from)
		all = append(all, k)
	}
	return all
}

// after returns until when keys of what was done from, to may be left.
func (h slow) after(from, to time.Duration) time.Duration {
	if until, any := h.trouble(from, to); any {
		to = max(to, until)
	}
	return to + h.lease() + h.Timeout
}

// skips returns the calls with wrong holders, and the groups that got nothing.
func (h slow) skips() (all, groups []string) {
	beliefs, _ := h.beliefs()
	calls := h.calls()
	for i, c := range calls {
		if c.failed && c.class == history.IsHeld && !h.holderIsRight(i, calls, beliefs) {
			all = append(all, found(c.name, c.begin, c.end))
		}
	}
	return all, h.together(calls, beliefs)
}

func (h slow) holderIsRight(i int, calls []acquisition, beliefs []belief) bool {
	c := calls[i]
	var holder int
	if _, err := fmt.Sscanf(c.holder, "client-%d", &holder); err != nil || holder > h.Clients {
		return false
	}
	meets := func(from, to time.Duration) bool { return from <= c.end && to >= c.begin }
	for _, k := range h.keys() {
		if k.name == c.name && meets(k.from, k.to) && (k.client == holder || k.client == -1) {
			if holder != c.client {
				return true
			}
			if _, recent := h.trouble(c.begin-h.lease()-h.Timeout, c.end); !h.Reliable || recent {
				return true
			}
		}
	}
	for j, other := range calls {
		if other.client != holder || other.name != c.name {
			continue
		}
		until := other.end
		if holder != c.client {
			if !h.Watched {
				until = h.after(other.begin, other.end)
			}
			if meets(other.begin, until) {
				return true
			}
			continue
		}
		if j != i && meets(other.begin, other.end) {
			return true
		}
		if other.life < c.life && meets(other.begin, h.after(other.begin, other.end)) {
			return true
		}
	}
	for _, b := range beliefs {
		if b.client != holder || b.name != c.name {
			continue
		}
		end := max(b.to, b.released)
		if holder == c.client {
			if meets(b.from, h.after(b.asked, end)) {
				return true
			}
			continue
		}
		if !h.Watched {
			end = h.after(b.asked, end)
		}
		if meets(b.asked, end) {
			return true
		}
	}
	if holder == c.client && !h.Watched {
		_, recent := h.trouble(c.begin-h.lease()-h.Timeout, c.end)
		return !h.Reliable || recent
	}
	return false
}

func (h slow) together(calls []acquisition, beliefs []belief) (all []string) {
	if !h.Reliable {
		return nil
	}
	for _, name := range h.names() {
		var ours []acquisition
		for _, c := range calls {
			if c.name == name {
				ours = append(ours, c)
			}
		}
		for len(ours) > 0 {
			size := 0
			for size < len(ours) && ours[size].begin <= ours[0].begin+h.Timeout {
				size++
			}
			group := ours[:size]
			ours = ours[size:]
			from, to := group[0].begin, time.Duration(0)
			for _, c := range group {
				to = max(to, c.end)
			}
			if len(group) > 1 && h.nobodyElse(name, from, to, group, calls, beliefs) && h.allWentWithout(group) {
				all = append(all, found(name, from, to))
			}
		}
	}
	return all
}

// allWentWithout reports whether all calls of the group failed, for no other
// reason than each other.
func (h slow) allWentWithout(group []acquisition) bool {
	for _, c := range group {
		noQuorum := h.Exact && c.class == history.NoQuorum
		if !c.try || !c.failed || (c.class != history.IsHeld && !noQuorum) {
			return false
		}
		for _, f := range h.faults() {
			if f.node == 0 && f.client == c.client && f.client != 0 && f.from <= c.end && f.to >= c.begin {
				return false
			}
		}
	}
	return true
}

func (h slow) nobodyElse(name string, from, to time.Duration, group, calls []acquisition, beliefs []belief) bool {
	if _, any := h.trouble(from, to); any {
		return false
	}
	for _, c := range calls {
		if c.name != name {
			continue
		}
		until := c.end
		if !h.Watched {
			until = h.after(c.begin, c.end)
		}
		if c.begin < from && until >= from {
			return false
		}
		if c.begin > group[len(group)-1].begin && c.begin <= to {
			return false
		}
	}
	for _, b := range beliefs {
		until := max(b.to, b.released)
		if !h.Watched {
			until = h.after(b.asked, until)
		}
		if b.name == name && b.asked < from && until >= from {
			return false
		}
	}
	for _, k := range h.keys() {
		if k.name == name && k.from < from && k.to >= from {
			return false
		}
	}
	return true
}

// dirt returns what hygiene finds.
func (h slow) dirt() (orphans, foreign, withoutTTL []string) {
	beliefs, _ := h.beliefs()
	calm := h.last(history.Calm)
	trouble := h.last(history.Crash)
	for _, f := range h.faults() {
		if f.node != 0 || f.client == 0 {
			trouble = max(trouble, f.to)
		}
	}
	trouble = max(trouble, 0)
	for i, e := range h.Events {
		switch {
		case e.Kind == history.Deleted && e.Token != e.By:
			foreign = append(foreign, found(e.Name, e.At, e.At))
		case (e.Kind == history.Kept || e.Kind == history.Found) && e.Until == 0:
			withoutTTL = append(withoutTTL, found(e.Name, e.At, e.At))
		case e.Kind == history.Found && calm >= 0 && e.At >= calm:
			held := slices.ContainsFunc(beliefs, func(b belief) bool { return b.token == e.Token && b.to >= e.At })
			gone := max(calm, trouble) + h.lease()
			for _, k := range h.Events[:i] {
				if k.Kind == history.Kept && k.Node == e.Node && k.Name == e.Name && k.Token == e.Token {
					gone = max(gone, k.At+h.lease())
				}
			}
			late := e.At > gone
			if h.Reliable && calm > trouble+h.lease() {
				late = e.At > calm+h.lease() || e.At >= calm+h.Clean
			}
			if late && !held {
				orphans = append(orphans, found(e.Name, e.At, max(e.At, e.Until)))
			}
		}
	}
	return orphans, foreign, withoutTTL
}

func (h slow) contended() (count int) {
	beliefs, _ := h.beliefs()
	for _, c := range h.calls() {
		with := false
		for _, other := range h.calls() {
			with = with || other.client != c.client && other.name == c.name && other.begin <= c.end && other.end >= c.begin
		}
		for _, b := range beliefs {
			with = with || b.client != c.client && b.name == c.name && b.from <= c.end && b.to >= c.begin
		}
		if with {
			count++
		}
	}
	return count
}
