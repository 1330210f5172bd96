package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Node is one voter: an independent Redis master, a simulated one, or
// anything else that can keep a value under a key for a time. [New] and [Open]
// make nodes of Redis servers, [NodeFunc] makes one of a blocking function, and
// package redlocktest has nodes in memory and a conformance test for nodes of
// your own.
//
// A node carries out what it is told and says what came of it. It decides
// nothing: order, time limits for callers, suspicion of slow nodes, hunting for
// orphans and error classes live in the [Client], alike for every kind of node.
type Node interface {
	// String names the node for people: host:port or a socket's path, never a
	// password. The nodes of one client have different names.
	String() string

	// Connect waits until the node can take requests and returns nil, or
	// returns why it cannot, or ctx's error. What it starts is detached from
	// ctx: a connection that is made after ctx ended is kept for later. A node
	// that is ready may return nil or the error of a ctx that has ended.
	Connect(ctx context.Context) error

	// Send takes a request and returns at once. The node later calls
	//   - r.Begin just before the first byte could leave, and sends nothing
	//     if that returns false: r was withdrawn and is already answered;
	//   - r.Answer once, from any goroutine, even before Send returns.
	//
	// A request that could not begin within r.Timeout of Send is answered
	// VoteNotSent, one that began within r.Timeout of beginning, both with
	// ErrNodeTimeout. Requests with one key are carried out in the order in
	// which they were sent, as long as each is answered. Send never blocks
	// and never refuses OpRelease for lack of room.
	Send(r *Request)

	// Close stops the node. Requests not yet answered are answered soon, with
	// ErrClosed: VoteUnknown if they have begun, VoteNotSent otherwise, as are
	// those sent later. Close does not wait for the network. Closing again
	// does nothing.
	Close() error
}

// An Op is what a [Command] asks of a node.
type Op uint8

// The operations. A node answers one that it does not know with VoteError and
// [ErrUnsupported]; more may come.
const (
	// OpAcquire creates Key with Value and an expiry of TTL if there is no
	// such key: VoteYes. Otherwise VoteForeign, even if the key holds Value,
	// with the value found if it is known.
	OpAcquire Op = iota + 1
	// OpExtend makes Key expire no sooner than TTL from now if it holds
	// Value: VoteYes. It never shortens and never creates: otherwise
	// VoteAbsent or VoteForeign with the value found.
	OpExtend
	// OpHeal does as OpAcquire does. It gives a node that does not hold the
	// key of a held lock, because it lost it or was out of reach, its vote.
	OpHeal
	// OpRelease deletes Key if it holds Value: VoteYes. Otherwise VoteAbsent
	// or VoteForeign with the value found.
	OpRelease
)

func (o Op) String() string {
	switch o {
	case OpAcquire:
		return "acquire"
	case OpExtend:
		return "extend"
	case OpHeal:
		return "heal"
	case OpRelease:
		return "release"
	default:
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
}

// A Command is an operation as data. All nodes of a round share one, so a node
// must not change it.
type Command struct {
	Op    Op
	Key   string        // any bytes; KeyPrefix included
	Value string        // "<40 hex digits>/<owner>", compared as a whole
	TTL   time.Duration // whole milliseconds, at least one; zero with OpRelease

	encoded atomic.Pointer[[]any] // what redis.go sends
}

// Vote is what came of a request on one node.
type Vote uint8

// The votes. The zero Vote stands for "no answer yet".
const (
	VoteYes     Vote = iota + 1 // done
	VoteAbsent                  // not done: there is no such key
	VoteForeign                 // not done: the key holds another value
	VoteError                   // the node answered with an error and changed nothing
	VoteUnknown                 // bytes may have left and no answer came: done or not
	VoteNotSent                 // no byte left: certainly not done
)

func (v Vote) String() string {
	switch v {
	case 0:
		return "no answer"
	case VoteYes:
		return "yes"
	case VoteAbsent:
		return "absent"
	case VoteForeign:
		return "foreign"
	case VoteError:
		return "error"
	case VoteUnknown:
		return "unknown"
	case VoteNotSent:
		return "not sent"
	default:
		return fmt.Sprintf("Vote(%d)", uint8(v))
	}
}

// replied reports whether the vote is a reply of the server itself.
func (v Vote) replied() bool { return v >= VoteYes && v <= VoteError }

// failed reports whether the node could not do what it was asked, or be asked.
func (v Vote) failed() bool { return v >= VoteError }

// An Answer is a node's answer to a request.
type Answer struct {
	Vote  Vote
	Value string // with VoteForeign: the value found, or its first 256 bytes; "" if not known, with OpAcquire and OpHeal only
	Err   error  // with VoteError, VoteUnknown, VoteNotSent: why
}

// Errors in answers of nodes. They appear in [NodeResult], never as the error of
// a call.
var (
	// ErrNodeTimeout: the node did not answer within NodeTimeout.
	ErrNodeTimeout = errors.New("no answer within the node timeout")
	// ErrNodeBusy: too many requests wait for the node already.
	ErrNodeBusy = errors.New("too many requests wait for this node")
	// ErrUnsupported: the node does not know the operation.
	ErrUnsupported = errors.New("unsupported operation")

	errWithdrawn = errors.New("withdrawn before it was sent")
	errNothing   = errors.New("not asked: nothing was sent there")
	errSuspect   = errors.New("not asked: it did not answer in time before, and the others suffice")
)

// A Request is a command on its way to one node. It is answered exactly once.
type Request struct {
	*Command
	Timeout time.Duration // how long the node may take; see Node.Send

	state   atomic.Uint32
	index   int32 // the node's, for to
	to      receiver
	elapsed time.Duration // of the round, at the answer; 0: whoever answers does not know
	waited  bool          // for an earlier command of its claim
}

// A receiver takes the answer of a request.
type receiver interface {
	answered(r *Request, a Answer)
}

type receiverFunc func(a Answer)

func (f receiverFunc) answered(_ *Request, a Answer) { f(a) }

// NewRequest returns a request that calls answer once with what came of it. It
// is for users and tests of a [Node] itself; a [Client] makes its own.
func NewRequest(c *Command, timeout time.Duration, answer func(Answer)) *Request {
	return &Request{Command: c, Timeout: timeout, to: receiverFunc(answer)}
}

// The states of a request.
const (
	requestWaiting uint32 = iota
	requestBegun
	requestAnswered
)

// Begin claims the request for sending. It is called once, by the node, before
// any byte of it can leave. False means that it was withdrawn: it must not be
// sent and needs no answer.
func (r *Request) Begin() bool {
	return r.state.CompareAndSwap(requestWaiting, requestBegun)
}

// Answer hands the answer to whoever waits for it. Only the first answer
// counts; it reports whether this was it. The node must hold no lock that its
// Send takes: the answer may lead to further requests.
func (r *Request) Answer(a Answer) bool {
	if r.state.Swap(requestAnswered) == requestAnswered {
		return false
	}
	r.to.answered(r, a)
	return true
}

// Withdraw takes the request back if it has not begun, answers it with
// VoteNotSent, and reports whether it did.
func (r *Request) Withdraw() bool { return r.withdraw(errWithdrawn) }

// withdraw is Withdraw for a reason.
func (r *Request) withdraw(why error) bool {
	if !r.state.CompareAndSwap(requestWaiting, requestAnswered) {
		return false
	}
	r.to.answered(r, Answer{Vote: VoteNotSent, Err: why})
	return true
}
