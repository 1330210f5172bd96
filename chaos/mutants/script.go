package main

import "github.com/quorumlock/redlock/chaos/check"

// notCompared makes a script's reply 2 mean 1, and the mutant reached.
var notCompared = Edit{
	"redis.go", "		if reply == 1 && script {", "		if reply == 2 {\n			reply = hit(int64(1))\n		}\n		if reply == 1 && script {",
}

// What nodes do: the scripts, which run on miniredis, and the simulated node's
// idea of them.
var scriptMutants = []Mutant{
	{
		Name: "delete-without-comparing", Breaks: "a release deletes whatever key is there",
		Edits: []Edit{
			{
				"lua/release.lua", "if found == ARGV[1] then\n	redis.call('DEL', KEYS[1])\n	return 1",
				"if found then\n	redis.call('DEL', KEYS[1])\n	if found ~= ARGV[1] then return 2 end\n	return 1",
			},
			notCompared,
		},
		Trials: []Trial{{Plan: "calm", Embedded: true}}, Killers: []string{check.CheckOverlap},
	},
	{
		Name: "extension-creates", Breaks: "an extension sets a key that is not there, also after the release",
		Edits: []Edit{{
			"redlocktest/node.go", "case !ok && !create:", "case !ok && !create && !(c.Op == redlock.OpExtend && redlock.MutantReached()):",
		}},
		Trials: sim("orphans"), Killers: []string{check.CheckHygiene},
	},
}
