package main

import "github.com/quorumlock/redlock/chaos/check"

// What an extension changes.
var extensionMutants = []Mutant{
	{
		Name: "end-moved-before-the-answers", Breaks: "an extension moves the end first, and not back when it fails",
		Edits: []Edit{{
			"extend.go", "	r := l.claim.extension(to.ttl)\n", "	r := l.claim.extension(to.ttl)\n	l.prolong(to, hit(l.client.now()))\n",
		}},
		Trials: sim("partition", "random"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "late-answers-revive", Breaks: "an extension that is answered after the loss makes the lock held again",
		Edits: []Edit{
			{
				"extend.go", "	if err := l.check(now); err != nil {\n		return err // lost",
				"	if err := l.check(now); err != nil && !r.won() {\n		return err // lost",
			},
			{
				"extend.go", "	if l.reason != nil {\n		return\n	}\n	l.lastFailed = nil\n",
				"	if l.reason != nil {\n		reached()\n	}\n	l.reason = nil\n	l.lastFailed = nil\n",
			},
		},
		Trials: sim("long-work", "random"), Killers: []string{check.CheckOverlap},
	},
	{
		Name: "shorter-extension-moves-back", Breaks: "an extension for less than what is left shortens the lock",
		Edits: []Edit{{
			"extend.go", "	if end <= l.end {\n		return\n	}\n", "	if end < l.end {\n		reached()\n	}\n",
		}},
		Trials: sim("random"), Killers: []string{check.CheckLoss},
	},
	{
		Name: "extensions-block-each-other", Breaks: "an automatic extension does not give its turn back",
		Edits: []Edit{{
			"keepalive.go", "	turn <- struct{}{}\n	defer func() { <-turn }()\n	if l.Err", "	turn <- struct{}{}\n	reached()\n	if l.Err",
		}},
		Trials: sim("long-work"), Killers: []string{killLeak, check.CheckLoss},
	},
	{
		Name: "keep-alive-after-release", Breaks: "a released lock is extended on",
		Edits: []Edit{
			{"lock.go", "		l.keeper.timer.Stop()\n", "		_ = l.keeper.timer\n"},
			{
				"keepalive.go", "	if l.Err() != nil {\n		return\n	}\n	to, last, ok",
				"	if errors.Is(l.Err(), ErrReleased) {\n		reached()\n	} else if l.Err() != nil {\n		return\n	}\n	to, last, ok",
			},
			{"keepalive.go", "	\"fmt\"\n", "	\"errors\"\n	\"fmt\"\n"},
			{
				"extend.go", "	if err := l.Err(); err != nil {\n		return err\n	}\n	r := l.claim",
				"	if err := l.Err(); err != nil && !errors.Is(err, ErrReleased) {\n		return err\n	}\n	r := l.claim",
			},
			{"extend.go", "	\"context\"\n", "	\"context\"\n	\"errors\"\n"},
			{"claim.go", "case closed && r.Op != OpRelease:", "case closed && r.Op == OpAcquire:"},
		},
		Trials: sim("calm", "random"), Killers: []string{check.CheckHygiene},
	},
}
