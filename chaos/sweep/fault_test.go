package sweep_test

import (
	"time"

	"github.com/quorumlock/redlock/chaos/proxy"
)

// The times of all cells.
const (
	nodeTimeout    = 400 * time.Millisecond
	connectTimeout = 3 * time.Second // where connecting is what the cell is about
	retryMax       = 100 * time.Millisecond
	beyond         = nodeTimeout * 3 / 2 // a delay after which nobody waits any more
	below          = 20 * time.Millisecond
)

// An effect is what a fault does to one command, or to connecting, as its sender
// sees it.
type effect int

const (
	harmless effect = iota // answered in time
	slow                   // answered after nodeTimeout, within connectTimeout
	silent                 // not answered in time
	broken                 // failed at once, without an answer
	refused                // an error is the answer
)

func (e effect) String() string {
	return [...]string{"harmless", "slow", "silent", "broken", "refused"}[e]
}

// A fault is one kind of fault with what it must lead to.
type fault struct {
	name string
	proxy.Fault
	sever bool // open connections are reset, beside whatever Fault does

	command    effect // on a command over an open connection
	connecting effect // on making a connection

	delay   time.Duration // what a harmless one adds to an answer
	lingers time.Duration // by when after its removal it has delivered all it still does
	repeats bool          // a command may be carried out again, long after it was answered
}

// ofPort reports whether the fault is none of commands or messages.
func (f *fault) ofPort() bool { return f.Kind == proxy.Refuse || f.Kind == "" }

// reversible reports whether removing the fault at once undoes what it did.
func (f *fault) reversible() bool {
	return f.Kind == proxy.Hold || f.Kind == proxy.Refuse && f.sever || f.Reply == "NOSCRIPT" // the source is sent next
}

// slowOnlyInBulk reports whether the fault delays what is long.
func (f *fault) slowOnlyInBulk() bool {
	return f.connecting == silent && (f.Kind == proxy.Bandwidth || f.Kind == proxy.Slice)
}

// counts are the kinds under which a proxy counts that the fault acted.
func (f *fault) counts() []proxy.Kind {
	var kinds []proxy.Kind
	if f.Kind != "" {
		kinds = append(kinds, f.Kind)
	}
	if f.sever {
		kinds = append(kinds, proxy.Reset)
	}
	return kinds
}

var faults = append([]fault{
	{name: "latency-below", Fault: proxy.Fault{Kind: proxy.Latency, Min: below / 2, Max: below}, delay: 2 * below},
	{name: "latency-request", Fault: proxy.Fault{Kind: proxy.Latency, Direction: proxy.ToServer, Min: beyond}, command: silent, connecting: slow, lingers: beyond},
	{name: "latency-reply", Fault: proxy.Fault{Kind: proxy.Latency, Direction: proxy.ToClient, Min: beyond}, command: silent, connecting: slow, lingers: beyond},
	{name: "bandwidth", Fault: proxy.Fault{Kind: proxy.Bandwidth, Rate: 20_000}, delay: 100 * time.Millisecond},
	{name: "bandwidth-slow", Fault: proxy.Fault{Kind: proxy.Bandwidth, Rate: 200}, command: silent, connecting: silent, lingers: 1500 * time.Millisecond},
	{name: "slice", Fault: proxy.Fault{Kind: proxy.Slice, Size: 40, Max: time.Millisecond}, delay: 100 * time.Millisecond},
	{name: "slice-slow", Fault: proxy.Fault{Kind: proxy.Slice, Size: 16, Min: nodeTimeout / 4}, command: silent, connecting: silent, lingers: 4 * nodeTimeout},
	{name: "blackhole", Fault: proxy.Fault{Kind: proxy.Blackhole}, command: silent, connecting: silent},
	{name: "blackhole-request", Fault: proxy.Fault{Kind: proxy.Blackhole, Direction: proxy.ToServer}, command: silent, connecting: silent},
	{name: "blackhole-reply", Fault: proxy.Fault{Kind: proxy.Blackhole, Direction: proxy.ToClient}, command: silent, connecting: silent},
	{name: "hold", Fault: proxy.Fault{Kind: proxy.Hold}, command: silent, connecting: silent, lingers: below},
	{name: "refuse", Fault: proxy.Fault{Kind: proxy.Refuse}, connecting: broken},
	{name: "refuse-sever", Fault: proxy.Fault{Kind: proxy.Refuse}, sever: true, command: broken, connecting: broken},
	{name: "sever", sever: true},
	{name: "drop-request", Fault: proxy.Fault{Kind: proxy.DropRequest}, command: silent, connecting: silent},
	{name: "drop-reply", Fault: proxy.Fault{Kind: proxy.DropReply}, command: silent, connecting: silent},
	{name: "eof-after-apply", Fault: proxy.Fault{Kind: proxy.EOFAfterApply}, command: broken, connecting: broken},
	{name: "cut", Fault: proxy.Fault{Kind: proxy.Cut}, connecting: broken},
	{name: "reset", Fault: proxy.Fault{Kind: proxy.Reset}, command: broken, connecting: broken},
	{name: "late-deliver", Fault: proxy.Fault{Kind: proxy.LateDeliver, Min: beyond}, command: silent, connecting: slow, lingers: beyond},
	{name: "duplicate", Fault: proxy.Fault{Kind: proxy.Duplicate}},
	{name: "duplicate-late", Fault: proxy.Fault{Kind: proxy.Duplicate, Min: beyond}, lingers: beyond, repeats: true},
}, errorReplies()...)

// errorReplies are a fault for each error that a server may answer with, and one
// that nobody has heard of. A connection on which one is the answer is made all
// the same: the server says so itself when it is asked for a lock.
func errorReplies() []fault {
	var all []fault
	for _, code := range []string{"LOADING", "OOM", "READONLY", "NOSCRIPT", "BUSY", "MISCONF", "NOPERM", "CLUSTERDOWN", "MOVED"} {
		all = append(all, fault{name: "error-" + code, Fault: proxy.Fault{Kind: proxy.ErrorReply, Reply: code}, command: refused})
	}
	return append(all, fault{
		name: "error-unknown", Fault: proxy.Fault{Kind: proxy.ErrorReply, Reply: "WHIMSICAL not today"}, command: refused,
	})
}
