// Package raw is the limit that a lock client can be measured against: sockets
// without a library, commands encoded by hand and pipelined, a quorum waited
// for, and nothing else: no time limit, no error but panic, no undo.
package raw

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A Fleet is one connection to each of several servers. Its methods are safe for
// concurrent use, but for Close.
type Fleet struct {
	nodes []*node
	sha   string // of the script that releases
}

type node struct {
	conn net.Conn

	mu      sync.Mutex
	out     []byte  // guarded by mu
	waiting []*call // guarded by mu: in the order of their commands
	wake    chan struct{}
	ended   chan struct{} // closed by Close
}

type call struct {
	missing atomic.Int32
	quorum  chan struct{}
}

const release = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0"

// Dial connects to servers that all answer. The caller must call Close when
// nothing waits for a quorum any more.
func Dial(addrs []string) (*Fleet, error) {
	sum := sha1.Sum([]byte(release))
	f := &Fleet{sha: hex.EncodeToString(sum[:])}
	for _, addr := range addrs {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("raw: %w", err), f.Close())
		}
		n := &node{conn: conn, wake: make(chan struct{}, 1), ended: make(chan struct{})}
		go n.write()
		go n.read()
		f.nodes = append(f.nodes, n)
	}
	f.send(len(f.nodes), command("SCRIPT", "LOAD", release)) // all have the script
	return f, nil
}

// Close ends the connections.
func (f *Fleet) Close() error {
	var errs []error
	for _, n := range f.nodes {
		close(n.ended)
		errs = append(errs, n.conn.Close())
	}
	return errors.Join(errs...)
}

// Acquire sends a SET to every server and returns its value when a quorum has
// answered, whatever it said.
func (f *Fleet) Acquire(name string, ttl time.Duration) (value string) {
	var token [20]byte
	rand.Read(token[:]) // never fails
	value = hex.EncodeToString(token[:])
	f.send(f.quorum(), command("SET", name, value, "NX", "PX", strconv.FormatInt(ttl.Milliseconds(), 10)))
	return value
}

// Release sends a compare-and-delete to every server and returns when a quorum
// has answered, whatever it said.
func (f *Fleet) Release(name, value string) {
	f.send(f.quorum(), command("EVALSHA", f.sha, "1", name, value))
}

func (f *Fleet) quorum() int { return len(f.nodes)/2 + 1 }

// send sends one command to every node and returns at so many answers.
func (f *Fleet) send(answers int, cmd []byte) {
	c := &call{quorum: make(chan struct{})}
	c.missing.Store(int32(answers))
	for _, n := range f.nodes {
		n.mu.Lock()
		n.out = append(n.out, cmd...)
		n.waiting = append(n.waiting, c)
		n.mu.Unlock()
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
	<-c.quorum
}

func (n *node) write() {
	var buf []byte
	for {
		select {
		case <-n.wake:
		case <-n.ended:
			return
		}
		runtime.Gosched() // whoever is about to send gets the chance to: fewer system calls
		n.mu.Lock()
		buf, n.out = n.out, buf[:0]
		n.mu.Unlock()
		if len(buf) > 0 {
			if _, err := n.conn.Write(buf); err != nil {
				return
			}
		}
	}
}

func (n *node) read() {
	r := bufio.NewReaderSize(n.conn, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if line[0] == '-' {
			panic("raw: " + string(bytes.TrimSpace(line)))
		}
		if line[0] == '$' && line[1] != '-' {
			size, _ := strconv.Atoi(string(line[1 : len(line)-2]))
			if _, err := r.Discard(size + 2); err != nil {
				return
			}
		}
		n.mu.Lock()
		c := n.waiting[0]
		n.waiting = n.waiting[1:]
		n.mu.Unlock()
		if c.missing.Add(-1) == 0 {
			close(c.quorum)
		}
	}
}

func command(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}
