package redlocktest

import (
	"testing"

	"github.com/quorumlock/redlock"
)

// Conform tests whether nodes keep the contract of [redlock.Node]: each rule is
// a subtest, on a node of its own. open returns a node that is ready or will be
// soon; what it needs to clean up it does through t, and Conform has sometimes
// closed the node by then. The nodes may share a server: the keys of every
// subtest are new, and the last of them are gone after a minute.
//
// Conform uses a node as a client does, in real time, with TTLs of some tenths
// of a second. That something does not happen too early is tested strictly, less
// a hundredth for the rates of the clocks; that it happens at all within
// seconds, so that a busy machine fails no test.
//
// A node that also has methods Hang() and Resume(), which make its server silent
// for a while, is tested for what it does about silence as well.
func Conform(t *testing.T, open func(t *testing.T) redlock.Node) {
	for _, r := range rules() {
		t.Run(r.says, func(t *testing.T) { r.check(newSubject(t, open(t))) })
	}
}

// A rule is a part of the contract, as a sentence and as a test.
type rule struct {
	says  string
	check func(s *subject)
}

func rules() []rule {
	return []rule{
		{"acquire creates a key that is free", acquireCreates},
		{"acquire leaves a key that is taken as it is", acquireLeavesTaken},
		{"a key expires after its TTL and not before", keyExpires},
		{"heal does as acquire does", healAcquires},
		{"extend prolongs a key that holds our value", extendProlongs},
		{"extend never shortens", extendNeverShortens},
		{"extend never creates", extendNeverCreates},
		{"extend leaves a key of another as it is", extendLeavesForeign},
		{"release deletes a key that holds our value", releaseDeletes},
		{"release leaves a key of another as it is", releaseLeavesForeign},
		{"extend and release compare the whole value", wholeValueCompared},
		{"a key is any bytes", keyIsAnyBytes},
		{"a value is kept whole", valueKeptWhole},
		{"an unknown operation is an error and changes nothing", unknownOperation},

		{"the name is stable and shows no password", nameIsStable},
		{"connect returns when the node is ready", connectReturns},
		{"requests of one key are carried out in order", requestsInOrder},
		{"each of many requests at once is answered", manyAnswered},
		{"an answer may lead to the next request", answersReenter},
		{"a command is left as it was", commandUnchanged},
		{"a withdrawn request is not carried out", withdrawnIsNotSent},
		{"a request is either withdrawn or carried out", withdrawnOrSent},
		{"close answers what waits and refuses what follows", closeAnswers},

		{"a silent node is answered for in time", silenceTimesOut},
		{"what is withdrawn in a silence is not carried out after it", silenceWithdrawn},
		{"close does not wait for a silent node", silenceCloses},
	}
}
