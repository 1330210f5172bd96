package main

import "github.com/quorumlock/redlock/chaos/check"

// Contenders and how they get out of each other's way.
var contentionMutants = []Mutant{
	{
		Name: "split-reported-as-held", Breaks: "whoever has one node's key is taken for the holder",
		Edits: []Edit{{
			"attempt.go", "case holder.nodes >= c.need:", "case holder.nodes >= hit(1):",
		}},
		Trials: sim("together"), Killers: []string{check.CheckSkip},
	},
	{
		Name: "split-not-settled", Breaks: "contenders that split the nodes give up at once",
		Edits: []Edit{{
			"attempt.go", "again := found.class == nil && try+1 < settleTries", "again := found.class == nil && try+1 < hit(1)",
		}},
		Trials: sim("together"), Killers: []string{check.CheckSkip},
	},
	{
		Name: "suspects-waited-for", Breaks: "nodes that did not answer in time are asked and waited for like the others",
		Edits: []Edit{
			{"round.go", "			r.votes.Doubt(i)\n", "			_ = i\n"},
			{"voter.go", "	if v.standing() != suspect {\n		return true\n	}\n	v.mu.Lock()", "	if v.standing() != suspect || hit(true) {\n		return true\n	}\n	v.mu.Lock()"},
		},
		Trials: []Trial{{Plan: "hung-node", Seeds: 5}}, Killers: []string{check.CheckRate},
	},
}
