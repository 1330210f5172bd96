package main

import "github.com/quorumlock/redlock/chaos/check"

// When a holder learns that its lock has ended.
var lossMutants = []Mutant{
	{
		Name: "loss-timer-never-set", Breaks: "nothing tells the holder that its time is up",
		Edits: []Edit{{
			"lock.go", "AfterFunc(lock.lostAt-now, lock.timeIsUp)", "AfterFunc(hit(1000*time.Hour), lock.timeIsUp)",
		}},
		Trials: sim("calm"), Killers: []string{check.CheckLoss},
	},
	{
		Name: "timed-out-node-counts-as-no", Breaks: "a node that does not answer an extension counts as one that has lost the key",
		Edits: []Edit{{
			"extend.go", "if n.Vote == VoteAbsent || n.Vote == VoteForeign {", "if n.Vote == VoteAbsent || n.Vote == VoteForeign || n.Vote == VoteUnknown && hit(true) {",
		}},
		Trials: sim("long-work", "random"), Killers: []string{check.CheckLoss},
	},
}
