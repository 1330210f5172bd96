package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorumlock/redlock/quorum"
)

// The classes of errors, for errors.Is. Every failure of this package wraps
// one of them, or the caller's own context error, or both.
var (
	// ErrHeld: one other token holds, or could hold, a quorum. The usual
	// answer of a job that several servers start: skip. QuorumError.Holder
	// tells who.
	ErrHeld = errors.New("held by another owner")

	// ErrNoQuorum: too many nodes failed or answered too late, or contenders
	// kept splitting the nodes among them. An outage: alert. The lock was not
	// acquired (and nobody is known to hold it), not extended, or not confirmed
	// released.
	ErrNoQuorum = errors.New("no quorum of nodes")

	// ErrLost: a lock that this handle held ended before its release.
	// Somebody else may run: stop.
	ErrLost = errors.New("lock lost")

	// ErrReleased: this handle was released already.
	ErrReleased = errors.New("lock already released")

	// ErrInvalid: an argument or an option cannot be used, or the Lock is nil
	// or zero. Nothing was sent.
	ErrInvalid = errors.New("invalid argument")

	// ErrClosed: the client is closed or shutting down.
	ErrClosed = errors.New("client closed")

	// ErrMaxHold is a cause of ErrLost: a cap of KeepAlive was reached, so the
	// lock was left to run out.
	ErrMaxHold = errors.New("keep-alive reached its cap")
)

// NodeResult is one node's part in a [QuorumError].
type NodeResult struct {
	Node    string        // the node's address, without a password
	Vote    Vote          // zero: it had not answered when the rest had decided
	Holder  string        // the owner of another's value found there, if one was
	Err     error         // why, with VoteError, VoteUnknown and VoteNotSent
	Elapsed time.Duration // from the first send of the round to the answer

	found string // the value found
}

func (r NodeResult) String() string {
	s := r.Node + ": " + r.Vote.String()
	if r.Holder != "" {
		s += " (" + r.Holder + ")"
	}
	if r.Err != nil {
		s += ": " + r.Err.Error()
	}
	if r.Elapsed > 0 {
		s += " after " + r.Elapsed.Round(time.Microsecond).String()
	}
	return s
}

// add adds what the undo found out on the node: who holds it, or, where the SET
// went unanswered or was refused for an unknown value, why it fails.
func (r *NodeResult) add(undone NodeResult) {
	switch {
	case undone.found != "":
		r.found, r.Holder = undone.found, undone.Holder
	case undone.Vote.failed() && (r.Vote == 0 || r.Vote == VoteForeign && r.found == ""):
		r.Vote, r.Err = undone.Vote, undone.Err
	}
}

// A QuorumError says what a quorum failed to agree on, node by node. It wraps
// its class ([ErrHeld], [ErrNoQuorum], [ErrLost]) and, only if the caller's own
// context ended, that context's error and cause. Errors of nodes are in Nodes
// and are not wrapped: a node's time-out is never context.DeadlineExceeded.
type QuorumError struct {
	Op    string // "acquire", "extend", "release", "connect"
	Name  string // the lock's name; empty with "connect"
	Need  int    // how many nodes had to agree
	Nodes []NodeResult

	// Late says that a quorum agreed, but so slowly that the lock's validity
	// was used up.
	Late bool

	class error // nil if the context ended before anything was decided
	cause []error
}

// Holder returns the owner that most nodes named, such as "worker-1:4711", or
// "" if none did.
func (e *QuorumError) Holder() string {
	_, owner, _ := strings.Cut(e.holder(nil).value, "/")
	return owner
}

// holder returns the foreign value that most nodes hold, leaving out those that
// ours reports as our own.
func (e *QuorumError) holder(ours func(value string) bool) (best struct {
	value string
	nodes int
}) {
	count := make(map[string]int, 1)
	for _, n := range e.Nodes {
		if n.found == "" || ours != nil && ours(n.found) {
			continue
		}
		count[n.found]++
		if count[n.found] > best.nodes {
			best.value, best.nodes = n.found, count[n.found]
		}
	}
	return best
}

// Error is one line for the whole and one for each node.
func (e *QuorumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redlock: %s", e.Op)
	if e.Name != "" {
		fmt.Fprintf(&b, " %s", quoteName(e.Name))
	}
	b.WriteString(": ")
	for _, err := range e.cause {
		fmt.Fprintf(&b, "%v: ", err)
	}
	yes := 0
	for _, n := range e.Nodes {
		if n.Vote == VoteYes {
			yes++
		}
	}
	switch holder := e.Holder(); {
	case e.class == nil:
		b.WriteString("not decided")
	case errors.Is(e.class, ErrHeld) && holder != "":
		fmt.Fprintf(&b, "held by %s", holder)
	case e.Late:
		fmt.Fprintf(&b, "%v in time: the answers used up the validity", e.class)
	default:
		b.WriteString(e.class.Error())
	}
	if len(e.Nodes) > 0 {
		fmt.Fprintf(&b, " (%d of %d nodes said yes, need %d)", yes, len(e.Nodes), e.Need)
	}
	for _, n := range e.Nodes {
		b.WriteString("\n\t" + n.String())
	}
	return b.String()
}

// Unwrap returns the class and the errors of the caller's context.
func (e *QuorumError) Unwrap() []error {
	if e.class == nil {
		return e.cause
	}
	return append([]error{e.class}, e.cause...)
}

// withContext returns a copy of e, whose class stays, for a caller whose
// context ended.
func (e *QuorumError) withContext(ctx context.Context) *QuorumError {
	c := *e
	c.cause = contextErrors(ctx)
	return &c
}

// contextErrors returns the error of an ended context and, if it differs, its
// cause.
func contextErrors(ctx context.Context) []error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return []error{err}
	}
	return []error{err, cause}
}

// endError describes the end of a lock: ErrLost or ErrReleased with its reason.
type endError struct {
	name  string
	class error
	why   []error
}

func (e *endError) Error() string {
	s := "redlock: " + quoteName(e.name) + ": " + e.class.Error()
	for _, err := range e.why {
		s += ": " + err.Error()
	}
	return s
}

func (e *endError) Unwrap() []error { return append([]error{e.class}, e.why...) }

// quoteName quotes a lock's name for people, shortened: names may be long and
// hold any bytes.
func quoteName(name string) string {
	if short := shorten(name); short != name {
		return fmt.Sprintf("%q (%d bytes)", short, len(name))
	}
	return fmt.Sprintf("%q", name)
}

// shorten returns the beginning of a long name.
func shorten(name string) string {
	const show = 80
	if len(name) <= show {
		return name
	}
	return name[:show] + "..."
}

// configPrefixes begin the replies that waiting cannot cure: they last until
// somebody changes a configuration.
var configPrefixes = []string{
	"NOPERM", "WRONGTYPE", "NOAUTH", "WRONGPASS", "ERR unknown command", "ERR invalid password", "ERR AUTH",
	"ERR ACL failure in script", "ERR The user executing the script can't", // NOPERM in a script, from Redis 7.2 on and before
}

// isConfig reports whether err, or an error that it wraps, is such a reply.
func isConfig(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		for _, prefix := range configPrefixes {
			if strings.HasPrefix(err.Error(), prefix) {
				return true
			}
		}
	}
	return false
}

// voteOf tells what a node's vote counts as in a round in which only VoteYes is
// wanted.
func voteOf(v Vote) quorum.Vote {
	switch v {
	case VoteYes:
		return quorum.Yes
	case VoteAbsent, VoteForeign:
		return quorum.No
	default:
		return quorum.Fault
	}
}
