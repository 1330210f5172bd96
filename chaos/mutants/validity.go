package main

import "github.com/quorumlock/redlock/chaos/check"

// Until when a lock may be relied on.
var validityMutants = []Mutant{
	{
		Name: "elapsed-not-subtracted", Breaks: "the validity of a new lock begins when the round ends",
		Edits: []Edit{{
			"validity.go", "return left - elapsed, nil", "return hit(left), nil",
		}},
		Trials: sim("drift", "short-leases"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "drift-added", Breaks: "the drift allowance lengthens the validity of a new lock",
		Edits: []Edit{{
			"validity.go", "left := ttl - drift", "left := hit(ttl + drift)",
		}},
		Trials: sim("drift", "random"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "drift-of-extensions-added", Breaks: "the drift allowance lengthens the validity of an extended lock",
		Edits: []Edit{{
			"extend.go", "end := start + to.ttl - to.drift", "end := hit(start + to.ttl + to.drift)",
		}},
		Trials: sim("drift", "random"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "extension-from-the-round's-end", Breaks: "the validity of an extended lock begins when the round ends",
		Edits: []Edit{{
			"extend.go", "l.prolong(to, r.start)", "l.prolong(to, hit(now))",
		}},
		Trials: sim("drift", "long-work"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "wall-clock", Breaks: "validity is measured by another clock than the client's own",
		Edits: []Edit{{
			"redlock.go", "{ return c.opts.Clock.Now() }", "{ return hit(time.Duration(time.Now().UnixNano())) }",
		}},
		Trials: sim("fast-alike"), Killers: []string{check.CheckOverlap, check.CheckLoss},
	},
	{
		Name: "over-when-granted", Breaks: "a round that used up the TTL still gives a lock",
		Edits: []Edit{{
			"lock.go", "	if err != nil || validity <= l.margin {",
			`	if err == nil && validity <= 0 {
		reached()
	}
	if err != nil {`,
		}},
		Trials: sim("short-leases"), Killers: []string{check.CheckLoss},
	},
	{
		Name: "less-than-the-ttl-is-sent", Breaks: "the nodes are asked for less than is counted on",
		Edits: []Edit{{
			"round.go", "Value: c.value, TTL: ttl}", "Value: c.value, TTL: hit(ttl - ttl/4)}",
		}},
		Trials: sim("drift", "random"), Killers: []string{check.CheckOverlap},
	},
}
