package embedded

import (
	"bufio"
	"bytes"
	"fmt"
	"net"

	"github.com/alicebob/miniredis/v2/server"
)

// backlog is how many commands of a connection may wait for a node that hangs.
// More stay with the client, as they do when a socket's buffers are full.
const backlog = 1024

// A conn is the server's end of a connection. Three goroutines receive commands,
// carry them out, and send the answers, because a pipe buffers nothing: a client
// can send to a node that hangs, and need not read answers while it sends.
type conn struct {
	node    *Node
	pipe    net.Conn
	waiting chan []string // commands; closed when nothing more can arrive
	ready   chan struct{} // wakes send; closed when nothing more is carried out
	cut     chan struct{} // closed by cutLocked

	peer    *server.Peer // guarded by node.mu
	replies bytes.Buffer // guarded by node.mu: peer's, not yet sent
}

func newConn(n *Node, pipe net.Conn) *conn {
	c := &conn{
		node:    n,
		pipe:    pipe,
		waiting: make(chan []string, backlog),
		ready:   make(chan struct{}, 1),
		cut:     make(chan struct{}),
	}
	c.peer = server.NewPeer(bufio.NewWriter(&c.replies))
	return c
}

// cutLocked ends c: nothing is carried out for it any more.
func (n *Node) cutLocked(c *conn) {
	if _, ok := n.conns[c]; ok {
		delete(n.conns, c)
		close(c.cut)
		_ = c.pipe.Close()
	}
}

// receive takes commands off the connection until the client or the node ends
// it.
func (c *conn) receive() {
	defer close(c.waiting)
	for r := bufio.NewReader(c.pipe); ; {
		command, err := readCommand(r)
		if err != nil {
			return
		}
		select {
		case c.waiting <- command:
		case <-c.cut:
			return
		}
	}
}

// readCommand reads an array of strings. Anything else is an error, after which
// a server closes the connection.
func readCommand(r *bufio.Reader) ([]string, error) {
	message, err := server.ParseReply(r)
	if err != nil {
		return nil, err
	}
	fields, ok := message.([]any)
	if !ok || len(fields) == 0 {
		return nil, fmt.Errorf("embedded: %q is no command", message)
	}
	command := make([]string, len(fields))
	for i, field := range fields {
		if command[i], ok = field.(string); !ok {
			return nil, fmt.Errorf("embedded: %q has a field that is no string", fields)
		}
	}
	return command, nil
}

// carryOut carries out what was received. When its client is gone, what it had
// sent counts all the same.
func (c *conn) carryOut() {
	defer close(c.ready)
	for command := range c.waiting {
		if more := c.node.carryOut(c, command); !more {
			return
		}
		select {
		case c.ready <- struct{}{}:
		default: // send is to wake already, and takes all there is
		}
	}
}

// carryOut waits while n hangs, then carries out the command. It reports whether
// there may be another: not after QUIT, nor if c was cut, with nothing done.
func (n *Node) carryOut(c *conn, command []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.hung != nil {
		resumed := n.hung
		n.mu.Unlock()
		select {
		case <-resumed:
		case <-c.cut:
		}
		n.mu.Lock()
	}
	if _, ok := n.conns[c]; !ok {
		return false
	}
	n.tickLocked()
	n.redis.Server().Dispatch(c.peer, command)
	c.peer.Flush()
	return !c.peer.Closed()
}

// send sends answers until there will be no more, then ends the connection.
func (c *conn) send() {
	for range c.ready {
		c.sendReplies()
	}
	c.sendReplies() // to QUIT
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	c.node.cutLocked(c)
}

// sendReplies fails if the client is gone, which is no concern of a server.
func (c *conn) sendReplies() {
	c.node.mu.Lock()
	replies := bytes.Clone(c.replies.Bytes())
	c.replies.Reset()
	c.node.mu.Unlock()
	if len(replies) > 0 { // a pipe makes an empty read of an empty write
		_, _ = c.pipe.Write(replies)
	}
}
