package live_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
)

// order is what a program is told on its standard input. It ends when that does.
type order struct {
	Addrs    []string
	Name     string
	TTL      time.Duration
	Owner    string
	RetryMax time.Duration // 0: short
	Marker   string        // a file that exists while somebody is inside
}

// A program is this test binary in a process of its own.
type program struct {
	tb    testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan string // of its standard output; closed at its end
	ended chan struct{}
	end   sync.Once
}

// run starts a program that is killed at the end of the test.
func run(tb testing.TB, name string, o order) *program {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	text, err := json.Marshal(o)
	require.NoError(tb, err)
	p := &program{tb: tb, cmd: exec.Command(self), lines: make(chan string, 1<<16), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), programEnv+"="+name)
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := p.cmd.StdinPipe()
	require.NoError(tb, err)
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(tb, err)

	started := make(chan error)
	go func() {
		// The kernel takes the thread that starts a process for its parent:
		// it must live as long.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.lines <- s.Text()
		}
		close(p.lines)
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	require.NoError(tb, <-started)
	tb.Cleanup(p.kill)
	_, err = stdin.Write(append(text, '\n'))
	require.NoError(tb, err)
	return p
}

func (p *program) signal(s syscall.Signal) {
	p.tb.Helper()
	require.NoError(p.tb, p.cmd.Process.Signal(s))
}

// kill ends the program with SIGKILL and waits until it is gone.
func (p *program) kill() {
	p.end.Do(func() {
		_ = p.cmd.Process.Kill()
		go func() { // whatever else it said
			for range p.lines {
			}
		}()
		<-p.ended
	})
}

// next returns the next line that begins with one of the words. A line that
// begins with WRONG fails the test.
func (p *program) next(words ...string) string {
	p.tb.Helper()
	deadline := time.After(bound)
	for {
		select {
		case line, ok := <-p.lines:
			require.True(p.tb, ok, "the program has ended")
			require.False(p.tb, strings.HasPrefix(line, "WRONG"), line)
			for _, word := range words {
				if strings.HasPrefix(line, word) {
					return line
				}
			}
		case <-deadline:
			require.Failf(p.tb, "the program says nothing", "no %q within %v", words, bound)
		}
	}
}

// begin reads the order and makes the client, in the program.
func begin() (order, *redlock.Client) {
	redis.SetLogger(silent{})
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadString('\n')
	if err != nil {
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	}()
	var o order
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		panic(err)
	}
	opts := make([]*redis.Options, len(o.Addrs))
	for i, addr := range o.Addrs {
		opts[i] = &redis.Options{Addr: addr}
	}
	client, err := redlock.New(opts, &redlock.Options{
		NodeTimeout: 200 * time.Millisecond, RetryMax: cmp.Or(o.RetryMax, 20*time.Millisecond), Owner: o.Owner,
	})
	if err != nil {
		panic(err)
	}
	return o, client
}

func init() {
	programs["contender"] = contender
	programs["holder"] = holder
}

// contender goes in and out under the lock and tells of every time. Inside is
// where the marker is: its creation fails if anybody is there.
func contender() {
	o, client := begin()
	for n := 0; ; n++ {
		lock, err := client.Acquire(context.Background(), o.Name, o.TTL)
		if errors.Is(err, redlock.ErrNoQuorum) {
			continue
		} else if err != nil {
			fmt.Println("WRONG", err)
			return
		}
		marker, err := os.OpenFile(o.Marker, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Printf("WRONG two are inside, and %v thinks that it holds until %v from now: %v\n", lock, lock.Remaining(), err)
			return
		}
		time.Sleep(time.Duration(n%3) * time.Millisecond)
		marker.Close()
		// A holder that was stopped for so long that the lock has ended may
		// meet the next one: he must say so, and it proves nothing.
		stopped := lock.Remaining() == 0
		if err := os.Remove(o.Marker); err != nil && !stopped {
			fmt.Println("WRONG somebody else was inside:", err)
			return
		}
		_ = lock.Release(context.Background()) // with nodes down it may not be confirmed
		fmt.Println("grant", n)
	}
}

// holder acquires the lock and looks at it until it is lost.
func holder() {
	o, client := begin()
	start := time.Now()
	lock, err := client.Acquire(context.Background(), o.Name, o.TTL)
	if err != nil {
		fmt.Println("WRONG", err)
		return
	}
	ctx, cancel := lock.Context(context.Background())
	defer cancel()
	fmt.Println("held")
	for lock.Err() == nil {
		// The program may be stopped anywhere here. What counts is the first
		// look that begins after the end.
		before := time.Since(start)
		err, remaining := lock.Err(), lock.Remaining()
		if before >= o.TTL && (err == nil || remaining > 0) {
			fmt.Printf("WRONG %v after the start Err is %v with %v remaining of a TTL of %v\n", before, err, remaining, o.TTL)
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
	after := time.Since(start)
	fmt.Println("lost after", after.Milliseconds())
	if err := lock.Err(); !errors.Is(err, redlock.ErrLost) {
		fmt.Println("WRONG Err is", err)
	}
	if err := lock.Extend(context.Background(), o.TTL); !errors.Is(err, redlock.ErrLost) {
		fmt.Println("WRONG Extend returned", err)
	}
	for _, done := range []<-chan struct{}{lock.Done(), ctx.Done()} {
		select {
		case <-done:
		case <-time.After(bound):
			fmt.Println("WRONG it is not done")
		}
	}
	if !errors.Is(context.Cause(ctx), redlock.ErrLost) {
		fmt.Println("WRONG the context ended with", context.Cause(ctx))
	}
	if err := lock.Release(context.Background()); after > o.TTL && !errors.Is(err, redlock.ErrLost) {
		fmt.Println("WRONG Release returned", err)
	}
	fmt.Println("over")
	select {}
}
