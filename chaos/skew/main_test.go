package skew_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/skew"
)

// helperEnv makes the test binary a program that makes a control and prints
// where its library is, or why there is none.
const helperEnv = "REDLOCK_SKEW_HELPER"

// TestMain fails if a strobe is left running.
func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		help(dir)
	}
	code := m.Run()
	var stacks bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	if bytes.Contains(stacks.Bytes(), []byte("chaos/skew.(")) {
		fmt.Printf("left behind:\n%s", stacks.String())
		code = 1
	}
	os.Exit(code)
}

func help(dir string) {
	c, err := skew.New(dir)
	if err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
	library, _ := c.Files()
	fmt.Print(library)
	if err := c.Close(); err != nil {
		os.Exit(2)
	}
	os.Exit(0)
}

// soon is by when an event must have come, also on a machine that is busy.
const soon = 10 * time.Second

func newControl(t *testing.T) *skew.Control {
	t.Helper()
	skew.Need(t)
	c, err := skew.New(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// start returns a server and the control of its clock.
func start(t *testing.T) (*process.Server, *skew.Control) {
	t.Helper()
	c := newControl(t)
	return process.Nodes(t, 1, process.Config{Env: c.Env()})[0], c
}

// ahead expects that the server's clock is ahead by as much as it is meant to,
// give or take what the measurement leaves open.
func ahead(t *testing.T, server *process.Server, c *skew.Control) {
	t.Helper()
	low := c.Offset()
	offset, plusMinus, err := skew.Offset(server.Addr())
	require.NoError(t, err)
	high := c.Offset()
	// The offset of a clock with a wrong rate changes meanwhile.
	low, high = min(low, high), max(low, high)
	require.GreaterOrEqual(t, offset, low-plusMinus-slack)
	require.LessOrEqual(t, offset, high+plusMinus+slack)
}

// slack is for the microsecond that TIME counts in.
const slack = 2 * time.Microsecond

// pttl is what is left of the key k.
func pttl(t *testing.T, server *process.Server) time.Duration {
	t.Helper()
	left, err := server.PTTL("k")
	require.NoError(t, err)
	return left
}

func set(t *testing.T, server *process.Server, ttl time.Duration) {
	t.Helper()
	_, err := server.Do("SET", "k", "v", "PX", fmt.Sprint(ttl.Milliseconds()))
	require.NoError(t, err)
}
