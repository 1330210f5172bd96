// Package embedded runs Redis-like nodes inside the process: miniredis behind
// connections that never touch the network, so that a real client library and
// real scripts run with nothing installed, also in a testing/synctest bubble
// (nodes started in a bubble are used in that bubble only).
//
// What miniredis leaves out is added here: keys expire by a clock, a node can
// be down or hang, a restarted node has forgotten its scripts. Pub/sub and
// blocking commands are not served.
package embedded

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quorumlock/redlock/clock"
)

// maxNodes is how many addresses 192.0.2.0/24 has.
const maxNodes = 254

// A Node is one server. Its keys expire like those of a Redis master: each at a
// time fixed on the node's own clock when it was set, whether the node is up,
// down or hung by then. Use [Start].
type Node struct {
	addr  string
	clock *clock.Skewed

	mu     sync.Mutex           // held for a command, never across I/O
	redis  *miniredis.Miniredis // guarded by mu
	origin time.Time            // what the node calls the time when clock reads zero
	last   time.Duration        // guarded by mu: the reading that redis knows
	conns  map[*conn]struct{}   // guarded by mu: those not cut
	down   bool                 // guarded by mu
	closed bool                 // guarded by mu
	hung   chan struct{}        // guarded by mu: nil, or closed by Resume
	served sync.WaitGroup       // goroutines of connections
}

// Start returns n nodes that are up and empty, and what closes them all: it cuts
// every connection and returns when nothing of the nodes is running any more.
// Start panics unless n is 1 to 254.
func Start(n int) (nodes []*Node, stop func()) {
	if n < 1 || n > maxNodes {
		panic(fmt.Sprintf("embedded: %d nodes, want 1 to %d", n, maxNodes))
	}
	for i := range n {
		nodes = append(nodes, start(i))
	}
	return nodes, func() {
		for _, node := range nodes {
			node.close()
		}
	}
}

func start(i int) *Node {
	n := &Node{
		// Reserved for documentation and routed nowhere: a client that does
		// not use the Dialer of Options reaches nobody, not somebody else.
		addr:   fmt.Sprintf("192.0.2.%d:6379", i+1),
		clock:  clock.NewSkewed(nil),
		redis:  miniredis.NewMiniRedis(),
		origin: time.Now(),
		conns:  map[*conn]struct{}{},
	}
	// The only way to start a miniredis without a listener. Its own
	// connections are not used: they deliver without asking whether the node
	// hangs, and Dial starts a closed server again.
	unused, err := n.redis.Dial()
	if err != nil {
		panic(fmt.Sprintf("embedded: %v", err))
	}
	_ = unused.Close()
	return n
}

// Addr returns an address that stands for the node, different for every node of
// one Start. Only the Dialer of [Node.Options] reaches it.
func (n *Node) Addr() string { return n.addr }

// String returns Addr.
func (n *Node) String() string { return n.addr }

// Clock returns the node's clock, to be stepped or sped up. A step back makes
// every key live longer by as much, as it does on a Redis server.
func (n *Node) Clock() *clock.Skewed { return n.clock }

// Options returns new go-redis options whose Dialer reaches the node. Nothing
// in them makes go-redis look up a name or send more than HELLO by itself.
func (n *Node) Options() *redis.Options {
	return &redis.Options{
		Addr:            n.addr,
		DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return n.Dial(ctx) },
	}
}

// Dial returns a connection to the node, or a refusal if it is down.
func (n *Node) Dial(ctx context.Context) (net.Conn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, n.dialError(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return nil, n.dialError(syscall.ECONNREFUSED)
	}
	ours, theirs := net.Pipe()
	c := newConn(n, ours)
	n.conns[c] = struct{}{}
	n.served.Go(c.receive)
	n.served.Go(c.carryOut)
	n.served.Go(c.send)
	return theirs, nil
}

func (n *Node) dialError(err error) error {
	return &net.OpError{Op: "dial", Net: "embedded", Err: fmt.Errorf("%s: %w", n.addr, err)}
}

// Down kills the node: connections are cut, commands that it has not carried
// out never will be, and dialing is refused. Keys stay for [Node.Up].
func (n *Node) Down() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.downLocked()
}

func (n *Node) downLocked() {
	n.down = true
	n.resumeLocked() // a killed process does not hang
	for c := range n.conns {
		n.cutLocked(c)
	}
}

// Up starts the node again after [Node.Down], with the keys that it had less
// those that expired meanwhile, and without its scripts.
func (n *Node) Up() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down && !n.closed {
		n.down = false
		n.doLocked("SCRIPT", "FLUSH")
	}
}

// Hang stops the node like SIGSTOP: connections are accepted and commands are
// taken, but nothing is carried out or answered. A node that is down does not
// hang.
func (n *Node) Hang() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.down && n.hung == nil {
		n.hung = make(chan struct{})
	}
}

// Resume ends [Node.Hang]. What arrived meanwhile is carried out now, also from
// connections that their clients have closed.
func (n *Node) Resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resumeLocked()
}

func (n *Node) resumeLocked() {
	if n.hung != nil {
		close(n.hung)
		n.hung = nil
	}
}

// Forget deletes every key. Between Down and Up it makes a restart without
// persistence.
func (n *Node) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.redis.FlushAll()
}

func (n *Node) close() {
	n.mu.Lock()
	n.closed = true
	n.downLocked()
	n.mu.Unlock()
	n.served.Wait()
	n.redis.Close()
}
