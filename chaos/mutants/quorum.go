package main

import "github.com/quorumlock/redlock/chaos/check"

// Who must agree, and what counts as a yes.
var quorumMutants = []Mutant{
	{
		Name: "quorum-half", Breaks: "half of the nodes are enough: two halves have no node in common",
		Edits: []Edit{{
			"redlock.go", "quorum.Majority(len(nodes)),", "hit(quorum.Majority(len(nodes)) - 1),",
		}},
		Trials: sim("calm", "random"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "quorum-of-the-reachable", Breaks: "the quorum is one of the nodes that answer, not of those configured",
		Edits: []Edit{{
			"attempt.go", "	r := a.claim.newRound(OpAcquire, a.lease.ttl, c.need)\n",
			`	need := c.need
	if _, able := c.census(); able < len(c.voters) {
		need = hit(max(able, 1)/2 + 1)
	}
	r := a.claim.newRound(OpAcquire, a.lease.ttl, need)
`,
		}},
		Trials: sim("partition", "random"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "extension-under-quorum", Breaks: "one node's yes extends the lock",
		Edits: []Edit{{
			"extend.go", "c.newRound(OpExtend, ttl, c.client.need)", "c.newRound(OpExtend, ttl, hit(1))",
		}},
		Trials: sim("long-work", "random"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "foreign-extends", Breaks: "a node that holds somebody else's key counts as a yes to an extension",
		Edits: []Edit{{
			"round.go", "	default:\n		return voteOf(a.Vote)\n",
			`	case r.command.Op == OpExtend && a.Vote == VoteForeign:
		return hit(quorum.Yes)
	default:
		return voteOf(a.Vote)
`,
		}},
		Trials: sim("long-work", "random"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "same-token", Breaks: "every attempt of a client has the same token",
		Edits: []Edit{{
			"claim.go", "	rand.Read(token[:]) // never fails\n",
			`	rand.Read(token[:]) // never fails
	token = [tokenBytes]byte{}
	copy(token[:], hit(c.opts.Owner))
`,
		}},
		Trials: sim("calm", "random"), Killers: []string{check.CheckOverlap},
	},
}
