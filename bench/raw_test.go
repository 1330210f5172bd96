package bench_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// rawFleet is the limit that a client can be measured against: sockets without a
// library, commands encoded by hand, pipelined, a quorum waited for, and nothing
// else: no time limit, no error but panic, no undo.
type rawFleet []*rawNode

type rawNode struct {
	conn net.Conn

	mu      sync.Mutex
	out     []byte
	waiting []*rawCall // in the order of their commands
	wake    chan struct{}
}

type rawCall struct {
	missing atomic.Int32
	quorum  chan struct{}
}

func newRawFleet(tb testing.TB, addrs []string) rawFleet {
	var fleet rawFleet
	for _, addr := range addrs {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			tb.Fatal(err)
		}
		n := &rawNode{conn: conn, wake: make(chan struct{}, 1)}
		tb.Cleanup(func() { conn.Close() })
		go n.write()
		go n.read()
		fleet = append(fleet, n)
	}
	fleet.call(command("SCRIPT", "LOAD", rawRelease))
	return fleet
}

const (
	rawRelease = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0"
)

// call sends one command to every node and returns at a quorum of answers.
func (f rawFleet) call(cmd []byte) {
	c := &rawCall{quorum: make(chan struct{})}
	c.missing.Store(int32(len(f)/2 + 1))
	for _, n := range f {
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

func (n *rawNode) write() {
	var buf []byte
	for range n.wake {
		runtime.Gosched()
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

func (n *rawNode) read() {
	r := bufio.NewReaderSize(n.conn, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if line[0] == '-' {
			panic(string(bytes.Clone(line)))
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
