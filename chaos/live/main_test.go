package live_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// programEnv makes the test binary one of programs instead of running tests.
const programEnv = "REDLOCK_LIVE_PROGRAM"

// programs are what the test binary can be besides itself, by name. Files add
// theirs.
var programs = map[string]func(){}

func TestMain(m *testing.M) {
	if name := os.Getenv(programEnv); name != "" {
		programs[name]()
		return
	}
	flag.Parse()
	// Most tests that run beside each other wait most of the time.
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "10")
	}
	// go-redis tells stderr of every failed dial, and these tests make many.
	redis.SetLogger(silent{})
	stop := make(chan struct{})
	go machine.watch(stop)
	code := m.Run()
	close(stop)
	if left := leftRunning(time.Now().Add(5 * time.Second)); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "still running after all tests:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// leftRunning waits until no goroutine of the lock or of a client library is
// running, and returns the stacks of those that are at the deadline.
func leftRunning(deadline time.Time) string {
	for {
		left := stacks("quorumlock/redlock", "redis/go-redis", "alicebob/miniredis")
		if left == "" || time.Now().After(deadline) {
			return left
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// stacks returns the stacks of the other goroutines that have one of the words.
func stacks(words ...string) string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	var found []string
	for _, stack := range strings.Split(string(buf), "\n\n")[1:] { // the first is this one
		for _, word := range words {
			if strings.Contains(stack, word) {
				found = append(found, stack)
				break
			}
		}
	}
	return strings.Join(found, "\n\n")
}
