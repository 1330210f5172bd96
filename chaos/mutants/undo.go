package main

import "github.com/quorumlock/redlock/chaos/check"

// What failed attempts and releases leave behind.
var undoMutants = []Mutant{
	{
		Name: "no-undo", Breaks: "a failed attempt leaves its keys",
		Edits: []Edit{{
			"attempt.go", "undo := a.claim.undo(true)", "undo := hit[*round](nil)",
		}},
		Trials: sim("cancel", "random"), Killers: []string{check.CheckHygiene, check.CheckSkip, check.CheckLiveness},
	},
	{
		Name: "undo-with-the-caller's-context", Breaks: "nothing is undone for a caller who has cancelled",
		Edits: []Edit{{
			"attempt.go", "	if err := r.wait(a.ctx, c.draining); err != nil {\n		a.claim.undo(false)\n",
			`	if err := r.wait(a.ctx, c.draining); err != nil {
		if a.ctx.Err() == nil {
			a.claim.undo(false)
		} else {
			reached()
		}
`,
		}},
		Trials: sim("cancel"), Killers: []string{check.CheckHygiene, check.CheckSkip},
	},
	{
		Name: "undo-only-where-yes", Breaks: "nodes that did not answer the SET are left alone",
		Edits: []Edit{
			{
				"claim.go", "	case round.undoing && !round.looking && !touched:\n",
				`	case round.undoing && !c.places[r.index].granted:
		reached()
		r.withdraw(errNothing)
	case round.undoing && !round.looking && !touched:
`,
			},
			{"claim.go", "mine := p.granted || p.unanswered > 0", "mine := p.granted"},
		},
		Trials: sim("orphans", "cancel"), Killers: []string{check.CheckHygiene, check.CheckSkip},
	},
	{
		Name: "no-hunt", Breaks: "an undo that was not answered is not repeated",
		Edits: []Edit{{
			"round.go", "	if o.hunt {\n", "	if o.hunt && hit(false) {\n",
		}},
		Trials: sim("orphans"), Killers: []string{check.CheckHygiene},
	},
	{
		Name: "hunt-ends-at-absent", Breaks: "a hunt believes a node that it has nothing, though the SET may still arrive",
		Edits: []Edit{{
			"hunt.go", "(v == VoteAbsent || v == VoteForeign) && !h.unanswered {", "(v == VoteAbsent || v == VoteForeign) && (!h.unanswered || hit(true)) {",
		}},
		Trials: sim("orphans"), Killers: []string{check.CheckHygiene},
	},
	{
		Name: "release-overtakes-the-set", Breaks: "a release is sent before the SET was answered",
		Edits: []Edit{{
			"claim.go", "	if busy == nil {\n", "	if busy == nil || r.Op == OpRelease && hit(true) {\n",
		}},
		Trials: sim("orphans", "random"), Killers: []string{check.CheckHygiene},
	},
	{
		Name: "release-at-a-quorum-only", Breaks: "a release deletes the key on as many nodes as it needs",
		Edits: []Edit{{
			"round.go", "	for i := range c.voters {\n		r.add(i)\n		if !r.force",
			`	for i := range c.voters {
		if r.command.Op == OpRelease && i >= c.need && hit(true) {
			r.votes.Answer(i, quorum.Fault, ballot{})
			continue
		}
		r.add(i)
		if !r.force`,
		}},
		Trials: sim("cancel", "orphans"), Killers: []string{check.CheckHygiene, check.CheckSkip},
	},
	{
		Name: "held-by-an-own-orphan", Breaks: "a key of the client's own failed attempt counts as a holder",
		Edits: []Edit{{
			"attempt.go", "e.holder(c.orphans.has)", "e.holder(hit[func(string) bool](nil))",
		}},
		Trials: sim("cancel", "orphans"), Killers: []string{check.CheckSkip},
	},
	{
		Name: "own-orphan-forgotten-at-once", Breaks: "an own orphan is forgotten as soon as its undo is answered, while attempts may just have met it",
		Edits: []Edit{{
			"redlock.go", "newOrphans(2 * o.NodeTimeout)", "newOrphans(hit(0 * o.NodeTimeout))",
		}},
		Trials: sim("cancel", "orphans"), Killers: []string{check.CheckSkip},
	},
}
