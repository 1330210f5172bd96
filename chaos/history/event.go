// Package history is the record of a run: what every client believed and did,
// what the nodes kept, and which faults struck, as events on one true clock.
// Checkers and reports know a run from its history alone.
package history

import "time"

// A Kind says what happened.
type Kind string

// What clients do and believe. Each of them names its Client.
const (
	// Begin: an acquisition of Name for TTL has begun. Call numbers it. Try: by
	// TryAcquire, so it does not wait for a holder.
	Begin Kind = "begin"
	// Holds: the client believes from now on that it holds Name under Token,
	// until the true time Until at the latest. It comes with the grant, and
	// again whenever that end changes: after an extension, or when the client's
	// clock was changed. The first for a token ends the Begin of the same Call.
	Holds Kind = "holds"
	// Failed: the acquisition that Begin began returned an error of Class. With
	// Class Held, Holder names the owner that the error names ("" if it names
	// none).
	Failed Kind = "failed"
	// Release: the client calls Release for Token, and does not believe in it
	// any more.
	Release Kind = "release"
	// Released: that call returned; Class is its error's, "" for nil.
	Released Kind = "released"
	// Lost: the client has seen that the lock under Token is lost.
	Lost Kind = "lost"
	// Crash: the client has ended without releasing anything. It believes in
	// nothing any more, and what runs under the same Client number afterwards
	// is a new process.
	Crash Kind = "crash"
	// Stall: the client stops between a check of its lock and the next step, and
	// sees nothing until Wake.
	Stall Kind = "stall"
	Wake  Kind = "wake"
)

// What clients send, where it is recorded.
const (
	// Prolongs: the client sends Node what makes Token's key last longer, or sets it
	// anew: an extension or a heal, as Text says.
	Prolongs Kind = "prolongs"
)

// What the store sees: a cell for each Name, with a version that every write
// raises by one. It does not refuse stale writers, so that the checkers see
// them.
const (
	// Read: the client, holding Token, read Version.
	Read Kind = "read"
	// Write: the client, holding Token until the true time Until, made Version
	// out of Based, the version that it had read. An update in between is lost
	// if Based is not Version-1.
	Write Kind = "write"
)

// What nodes do, as far as the layer can see it. Each of them names its Node.
const (
	// Kept: the node set Token's key of Name, or prolonged it, or its clock was
	// changed. It keeps it until the true time Until, as its clock runs now (now,
	// if a clock that was set is past the key's end); zero: it has no TTL. Client
	// is whose it is, as the key's owner says. A node keeps one key of a name: what
	// it kept before is gone.
	Kept Kind = "kept"
	// Deleted: the node deleted Token's key of Name, which By asked for: another
	// token's deletion is a violation.
	Deleted Kind = "deleted"
	// Found: an inspection saw Token's key of Name on the node. It will last
	// until the true time Until; zero: it has no TTL.
	Found Kind = "found"
)

// What is done to the run.
const (
	// Fault: Fault began to act on Node, or on Client, or on both's connection.
	Fault Kind = "fault"
	// Heal: it ended.
	Heal Kind = "heal"
	// Seen: an independent look confirmed that Fault took effect there, as Text
	// says.
	Seen Kind = "seen"
	// Offset: the clock of Node, or of Client, was measured: it is Offset ahead
	// of the true one.
	Offset Kind = "offset"
	// Healed: every fault is over; from now on the run must make progress.
	Healed Kind = "healed"
	// Calm: no client does anything any more, everything was released.
	Calm Kind = "calm"
	// End: the run is over and closed, with so many goroutines more than before
	// (Count).
	End Kind = "end"
)

// The classes of errors in Failed and Released.
const (
	OK       = ""
	IsHeld   = "held"
	NoQuorum = "no quorum"
	IsLost   = "lost"
	WasDone  = "released"
	Closed   = "closed"
	Context  = "context" // the caller's context ended
	Invalid  = "invalid"
)

// An Event is one thing that happened. Fields that its kind does not mention
// are zero.
type Event struct {
	At     time.Duration `json:"at"` // true time since the run began
	Kind   Kind          `json:"kind"`
	Client int           `json:"client,omitempty"` // from 1
	Node   int           `json:"node,omitempty"`   // from 1
	Name   string        `json:"name,omitempty"`   // of the lock, and of its cell in the store
	Call   int           `json:"call,omitempty"`   // the acquisition's number, from 1, unique in the run
	Token  string        `json:"token,omitempty"`
	By     string        `json:"by,omitempty"` // a token
	TTL    time.Duration `json:"ttl,omitempty"`
	Try    bool          `json:"try,omitempty"`
	Until  time.Duration `json:"until,omitempty"` // true time since the run began

	Class  string `json:"class,omitempty"`
	Holder string `json:"holder,omitempty"` // as Owner makes it

	Version int           `json:"version,omitempty"`
	Based   int           `json:"based,omitempty"`
	Looked  time.Duration `json:"looked,omitempty"` // of Read and Write: when the client last looked at its lock, and found it valid

	Fault  string        `json:"fault,omitempty"` // a name of package plan
	Offset time.Duration `json:"offset,omitempty"`
	Count  int           `json:"count,omitempty"`
	Text   string        `json:"text,omitempty"` // for people
}
