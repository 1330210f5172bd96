package report

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// writes marks the stale writes and lost updates of h. That is no judgement:
// package history says what both are, and who is to blame for one is for the
// checkers to say.
func writes(h *history.History) []Mark {
	var all []Mark
	ended := map[grant]time.Duration{}
	end := func(g grant, at time.Duration) {
		if _, before := ended[g]; !before {
			ended[g] = at
		}
	}
	holders := map[int][]grant{} // since their last crash
	for i := range h.Events {
		e := &h.Events[i]
		g := grant{e.Client, e.Token}
		switch e.Kind {
		case history.Holds:
			holders[e.Client] = append(holders[e.Client], g)
		case history.Release, history.Lost:
			end(g, e.At)
		case history.Crash:
			for _, g := range holders[e.Client] {
				end(g, e.At)
			}
			delete(holders, e.Client)
		case history.Write:
			at, known := ended[g]
			if e.Until != 0 && (!known || e.Until < at) {
				at, known = e.Until, true
			}
			m := Mark{Name: e.Name, From: e.At, To: e.At, Clients: []int{e.Client}}
			if known && e.At > at {
				m.Kind, m.Text = StaleWrite, length(e.At-at)+" after its lock's end"
				all = append(all, m)
			}
			if lost := e.Version - 1; e.Based != lost {
				m.Kind, m.Text = LostUpdate, fmt.Sprintf("version %d is based on %d, so %s lost", e.Version, e.Based, versions(e.Based+1, lost))
				all = append(all, m)
			}
		}
	}
	return all
}

func versions(from, to int) string {
	if from >= to {
		return fmt.Sprintf("version %d is", to)
	}
	return fmt.Sprintf("versions %d to %d are", from, to)
}

// complete returns run with a mark for each stale write and lost update, once.
func (run Run) complete() Run {
	type place struct {
		kind   MarkKind
		name   string
		client int
		at     time.Duration
	}
	own := writes(run.History)
	known := map[place]bool{}
	for i := range own {
		m := &own[i]
		known[place{m.Kind, m.Name, m.Clients[0], m.From}] = true
	}
	for i := range run.Marks {
		m := &run.Marks[i]
		if len(m.Clients) > 0 && (known[place{m.Kind, m.Name, m.Clients[0], m.From}] || known[place{m.Kind, m.Name, m.Clients[0], m.To}]) {
			continue
		}
		own = append(own, *m)
	}
	run.Marks = own
	return run
}
