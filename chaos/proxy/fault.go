package proxy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Kind says what a [Fault] does.
type Kind string

// Faults of the network act on messages: requests, replies, and what a server
// sends unasked. Several act together: delays add up, the lowest rate counts.
const (
	// Latency delivers a message Min to Max later than it came, in order. Many
	// messages are under way at once.
	Latency Kind = "latency"
	// Bandwidth lets Rate bytes a second through, on each connection and in
	// each direction.
	Bandwidth Kind = "bandwidth"
	// Slice delivers a message in pieces of Size bytes, with Min to Max between
	// them.
	Slice Kind = "slice"
	// Blackhole loses a message. TCP delivers nothing after a gap, so the
	// connection stays silent in that direction, also when the fault is
	// removed. New connections are accepted; unless the direction is ToClient,
	// the server does not hear of them. With both directions this is what
	// others call a timeout.
	Blackhole Kind = "blackhole"
	// Hold keeps messages until the fault is removed and delivers them then,
	// also if their client has gone: what TCP's retransmission makes of a
	// network that drops packets for a while.
	Hold Kind = "hold"
)

// Faults of commands act on a request that the network faults let through, one
// on each: of several that match, the one added first.
const (
	// DropRequest loses the request and, as TCP would, all that follow on its
	// connection. What was sent before is answered.
	DropRequest Kind = "drop-request"
	// DropReply has the request carried out and loses the reply and, as TCP
	// would, every later one of its connection. Later requests arrive.
	DropReply Kind = "drop-reply"
	// EOFAfterApply has the request carried out and then, instead of replying,
	// closes the connection.
	EOFAfterApply Kind = "eof-after-apply"
	// Cut closes the connection after the reply to the request.
	Cut Kind = "cut"
	// Reset resets the connection (RST) instead of forwarding the request.
	Reset Kind = "reset"
	// LateDeliver keeps the request for Min to Max and delivers it then, also if
	// its client has gone: on its connection to the server, or if that has
	// ended on a new one after the same HELLO, AUTH and SELECT. What follows on
	// the connection waits behind it. A server that is down then never gets it.
	LateDeliver Kind = "late-deliver"
	// Duplicate sends the request twice in a row and swallows the second reply.
	// With a delay the second copy comes that much later, as by LateDeliver
	// over a new connection, and nothing waits for it.
	Duplicate Kind = "duplicate"
	// ErrorReply answers the request with the error Reply; the server does not
	// hear of it.
	ErrorReply Kind = "error-reply"
)

// Refuse closes the port, so that connecting is refused at once; nobody else
// gets the port. Open connections stay: a dead server is Refuse and then
// [Proxy.Sever]. None but this field may be set.
const Refuse Kind = "refuse"

var (
	networkKinds = []Kind{Latency, Bandwidth, Slice, Blackhole, Hold}
	commandKinds = []Kind{DropRequest, DropReply, EOFAfterApply, Cut, Reset, LateDeliver, Duplicate, ErrorReply}
)

func (k Kind) ofNetwork() bool  { return slices.Contains(networkKinds, k) }
func (k Kind) ofCommands() bool { return slices.Contains(commandKinds, k) }

// A Direction is a way through the proxy.
type Direction string

// The zero Direction is Both.
const (
	Both     Direction = ""
	ToServer Direction = "to-server"
	ToClient Direction = "to-client"
)

// A Fault is what a [Proxy] does to some of what passes through it. Fields that
// its kind does not mention are ignored, apart from those that say on what the
// fault acts: Direction for the network, and the rest for everything but
// [Refuse].
type Fault struct {
	Kind      Kind
	Direction Direction // of the network's faults

	// Commands names the commands to act on, and on replies to which: "SET",
	// "EVALSHA", "CLIENT SETINFO", in any case. None means all; but a fault of
	// commands then spares what prepares a connection (HELLO, AUTH, SELECT,
	// CLIENT, SCRIPT) unless Handshake is true.
	Commands  []string
	Handshake bool

	// Match, if not nil, also has to accept the request: its name and arguments
	// as sent. It is called from many goroutines.
	Match func(args []string) bool `json:"-"`

	After int // lets so many pass first, of those that it could act on
	Count int // acts on so many at most; zero means all

	// PerConn makes After and Count count for each connection by itself.
	PerConn bool

	// Probability of acting on one, above 0 to 1; zero means 1. It is drawn from
	// the seed and the number of the message, before Count.
	Probability float64

	Min, Max time.Duration // a delay, drawn likewise; no Max means Min
	Rate     int           // bytes a second
	Size     int           // bytes

	// Reply is an error reply without its "-": a line, or one of the codes
	// LOADING, OOM, READONLY, NOSCRIPT, BUSY, MISCONF, NOPERM, CLUSTERDOWN and
	// MOVED, which Redis' own words then follow.
	Reply string
}

// Validate returns nil if f can be added, or which of its values makes no sense.
func (f *Fault) Validate() error {
	var wrong string
	switch {
	case f.Kind == Refuse:
		if f.Direction != Both || f.Commands != nil || f.Match != nil || f.Handshake || f.PerConn ||
			f.After != 0 || f.Count != 0 || f.Probability != 0 || f.Min != 0 || f.Max != 0 {
			wrong = "has no other fields"
		}
	case !f.Kind.ofNetwork() && !f.Kind.ofCommands():
		wrong = "is no kind of fault"
	case f.Direction != Both && f.Direction != ToServer && f.Direction != ToClient:
		wrong = fmt.Sprintf("with direction %q", f.Direction)
	case f.Kind.ofCommands() && f.Direction != Both:
		wrong = "acts on requests and has no direction"
	case f.After < 0 || f.Count < 0:
		wrong = fmt.Sprintf("with After %d and Count %d, want none negative", f.After, f.Count)
	case !(f.Probability >= 0 && f.Probability <= 1): // catches NaN
		wrong = fmt.Sprintf("with probability %v, want 0 to 1", f.Probability)
	case f.Min < 0 || f.Max != 0 && f.Max < f.Min:
		wrong = fmt.Sprintf("with delays from %v to %v", f.Min, f.Max)
	default:
		wrong = f.lacks()
	}
	if wrong != "" {
		return fmt.Errorf("proxy: fault %q %s", f.Kind, wrong)
	}
	return nil
}

// lacks says what the fault's kind needs and f does not have.
func (f *Fault) lacks() string {
	switch {
	case (f.Kind == Latency || f.Kind == LateDeliver) && f.Min == 0 && f.Max == 0:
		return "without a delay"
	case f.Kind == Bandwidth && f.Rate < 1:
		return fmt.Sprintf("with a rate of %d bytes/s, want 1 or more", f.Rate)
	case f.Kind == Slice && f.Size < 1:
		return fmt.Sprintf("with pieces of %d bytes, want 1 or more", f.Size)
	case f.Kind == ErrorReply && (f.Reply == "" || strings.ContainsAny(f.Reply, "\r\n")):
		return fmt.Sprintf("with %q, want one line", f.Reply)
	}
	return ""
}

// lines are what Redis 7 says with an error.
var lines = map[string]string{
	"LOADING":     "LOADING Redis is loading the dataset in memory",
	"OOM":         "OOM command not allowed when used memory > 'maxmemory'.",
	"READONLY":    "READONLY You can't write against a read only replica.",
	"NOSCRIPT":    "NOSCRIPT No matching script. Please use EVAL.",
	"BUSY":        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"MISCONF":     "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
	"NOPERM":      "NOPERM this user has no permissions to run this command",
	"CLUSTERDOWN": "CLUSTERDOWN The cluster is down",
	"MOVED":       "MOVED 0 127.0.0.1:1",
}

// errorReply returns the bytes of the fault's Reply.
func (f *Fault) errorReply() []byte {
	line := f.Reply
	if full, ok := lines[line]; ok {
		line = full
	}
	return []byte("-" + line + "\r\n")
}
