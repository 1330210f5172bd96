// Package redlocktest tests code that uses locks, without a Redis.
//
// [New] is a client over nodes in memory, for code that only needs a lock.
// [NewHeld] is a client that finds every lock held by somebody else, for the
// path on which a job is skipped. For outages make the nodes with [Nodes], a
// client of them with [NewClient], and let the nodes fail: [Node.Down],
// [Node.Hang], [Node.Slow], [Node.DropReplies], [Node.DeliverLate],
// [Node.Forget], [Node.Answer].
//
// The nodes and what they do to time work in a testing/synctest bubble, where
// an outage of an hour takes no time at all.
//
// [Conform] tells whether a [redlock.Node] of your own keeps the contract.
package redlocktest
