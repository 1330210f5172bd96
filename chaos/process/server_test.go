package process_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

func start(t *testing.T, config process.Config) *process.Server {
	t.Helper()
	t.Parallel()
	return process.Nodes(t, 1, config)[0]
}

func set(t *testing.T, s *process.Server, key, value string) {
	t.Helper()
	reply, err := s.Do("SET", key, value)
	require.NoError(t, err)
	require.Equal(t, "OK", reply)
}

func TestStoppedServerLeavesNoProcessAndNoFolder(t *testing.T) {
	s := start(t, process.Config{})
	require.True(t, s.Alive())
	require.DirExists(t, s.Dir())
	pid := s.Pid()
	require.False(t, gone(pid))

	require.NoError(t, s.Stop())
	require.NoError(t, s.Stop())
	require.True(t, gone(pid))
	require.False(t, s.Alive())
	require.NoDirExists(t, s.Dir())
	require.Contains(t, s.Log(), "Received SIGTERM")
	require.ErrorIs(t, s.Restart(true), process.ErrNotRunning)
	require.ErrorIs(t, s.Pause(), process.ErrNotRunning)
	require.NoError(t, s.Kill())
}

func TestStopKillsAServerThatDoesNotListen(t *testing.T) {
	s := start(t, process.Config{})
	c, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer c.Close()
	monitor, err := s.Monitor()
	require.NoError(t, err)
	defer monitor.Close()
	_, err = c.Write([]byte("EVAL \"redis.call('SET', 'k', 'v') while true do end\" 0\r\n"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return busy(s.Pid()) }, 10*time.Second, time.Millisecond)
	require.NoError(t, s.Stop())
	require.True(t, gone(s.Pid()))
}

// busy reports whether the process has used a tenth of a second of a processor.
func busy(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	ticks, err := strconv.Atoi(strings.Fields(after)[11])
	return err == nil && ticks >= 10
}

func TestPausedServerStopsToo(t *testing.T) {
	s := start(t, process.Config{})
	require.NoError(t, s.Pause())
	require.NoError(t, s.Stop())
	require.Contains(t, s.Log(), "Received SIGTERM")
}

func TestPauseHoldsAnswersAndResumeGivesThem(t *testing.T) {
	s := start(t, process.Config{})
	require.NoError(t, s.Resume(), "of a server that is not paused")
	for range 50 {
		require.NoError(t, s.Pause())
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Pid()))
		require.NoError(t, err)
		require.Contains(t, string(stat), ") T ")
		require.NoError(t, s.Resume())
	}
	require.NoError(t, s.Pause())
	require.True(t, s.Alive())

	type result struct {
		reply any
		err   error
	}
	results := make(chan result, 1)
	go func() {
		reply, err := s.Do("SET", "k", "v")
		results <- result{reply, err}
	}()
	select {
	case r := <-results:
		t.Fatal("a paused server answered", r)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, s.Resume())
	require.Equal(t, result{"OK", nil}, <-results)
}

func TestKilledServerRefusesUntilItsRestartAtTheSameAddress(t *testing.T) {
	s := start(t, process.Config{})
	addr, pid := s.Addr(), s.Pid()
	for range 3 {
		require.NoError(t, s.Kill())
		require.NoError(t, s.Kill(), "is dead already")
		require.False(t, s.Alive())
		_, err := s.Do("PING")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.ErrorIs(t, s.Pause(), process.ErrNotRunning)
		require.ErrorIs(t, s.Resume(), process.ErrNotRunning)

		require.NoError(t, s.Restart(true))
		require.Equal(t, addr, s.Addr())
		require.NotEqual(t, pid, s.Pid())
		_, err = s.Do("PING")
		require.NoError(t, err)
	}
}

func TestRestartKeepsOrForgets(t *testing.T) {
	for _, test := range []struct {
		name       string
		appendOnly bool
		keep       bool
		kept       bool
	}{
		{"append-only, kept", true, true, true},
		{"append-only, forgotten", true, false, false},
		{"in memory, kept", false, true, false},
		{"in memory, forgotten", false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, process.Config{AppendOnly: test.appendOnly})
			set(t, s, "k", "v")
			require.NoError(t, s.Restart(test.keep)) // kills it
			_, kept, err := s.Get("k")
			require.NoError(t, err)
			require.Equal(t, test.kept, kept)
		})
	}
}

func TestForgettingLeavesTheCallersFilesAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := start(t, process.Config{Dir: dir, AppendOnly: true})
	require.DirExists(t, filepath.Join(dir, "appendonlydir"))
	require.NoError(t, s.Restart(false))
	require.FileExists(t, file)
	require.NoError(t, s.Stop())
	require.FileExists(t, file)
}

func TestServerOutlivesTheThreadThatAskedForIt(t *testing.T) {
	s := start(t, process.Config{})
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it, so that the thread ends
		done <- s.Restart(true)
	}()
	require.NoError(t, <-done)
	// Threads that come and go: had the server been started from one of
	// these, it would be killed.
	for range 50 {
		go func() {
			runtime.LockOSThread()
			done <- nil
		}()
		require.NoError(t, <-done)
	}
	_, err := s.Do("PING")
	require.NoError(t, err)
}

func TestPortIsKeptWhileTheServerIsDown(t *testing.T) {
	s := start(t, process.Config{})
	require.NoError(t, s.Kill())
	port := s.Addr()[strings.LastIndexByte(s.Addr(), ':')+1:]
	number, err := strconv.Atoi(port)
	require.NoError(t, err)

	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer func() { _ = syscall.Close(socket) }()
	err = syscall.Bind(socket, &syscall.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.NoError(t, s.Restart(true))

	_, err = process.Start(t.Context(), process.Config{Port: number})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.NoError(t, s.Stop())
	again, err := process.Start(t.Context(), process.Config{Port: number})
	require.NoError(t, err)
	require.Equal(t, s.Addr(), again.Addr())
	require.NoError(t, again.Stop())
}

func TestStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	process.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	for _, test := range []struct {
		name   string
		config process.Config
		want   error
		text   string
	}{
		{"no program", process.Config{Command: []string{"no-such-server"}}, exec.ErrNotFound, "no-such-server"},
		{"bad argument", process.Config{Args: []string{"--no-such-option", "1"}}, process.ErrNotRunning, "no-such-option"},
		{"no folder", process.Config{Dir: "/no/such/folder"}, process.ErrNotRunning, "/no/such/folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := process.Start(t.Context(), test.config)
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, test.text)
		})
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestStartGivesUpOnASilentServerWithItsContext(t *testing.T) {
	process.Need(t)
	t.Parallel()
	spoke := filepath.Join(t.TempDir(), "spoke")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for _, err := os.Stat(spoke); err != nil && ctx.Err() == nil; _, err = os.Stat(spoke) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := process.Start(ctx, process.Config{
		Command: []string{"sh", "-c", "echo hello from $$; : > $SPOKE; exec sleep 1000"},
		Env:     []string{"SPOKE=" + spoke},
	})
	require.ErrorIs(t, err, context.Canceled)
	var pid int
	_, after, _ := strings.Cut(err.Error(), "hello from ")
	_, scan := fmt.Sscan(after, &pid)
	require.NoError(t, scan, err)
	require.True(t, gone(pid))
}

func TestServerWithAPasswordIsReadyToo(t *testing.T) {
	s := start(t, process.Config{Args: []string{"--requirepass", "secret"}})
	_, err := s.Do("PING")
	var failure process.ReplyError
	require.True(t, errors.As(err, &failure))
	require.Equal(t, "NOAUTH", failure.Code())
}

func TestWrapperEnvironmentAndArgumentsReachTheServer(t *testing.T) {
	s := start(t, process.Config{
		Command: []string{"sh", "-c", `echo "shim $REDLOCK_SHIM"; exec redis-server "$@"`, "sh"},
		Env:     []string{"REDLOCK_SHIM=42"},
		Args:    []string{"--databases", "3"},
	})
	require.Contains(t, s.Log(), "shim 42\n")
	reply, err := s.Do("CONFIG", "GET", "databases")
	require.NoError(t, err)
	require.Equal(t, []any{"databases", "3"}, reply)
}

// For the race detector, and for the promise that any method may be called at
// any time.
func TestMethodsAreSafeTogether(t *testing.T) {
	s := start(t, process.Config{})
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() { _ = s.Kill() })
		calls.Go(func() { _ = s.Restart(false) })
		calls.Go(func() { _ = s.Pause(); _ = s.Resume() })
		calls.Go(func() { _, _, _ = s.Pid(), s.Alive(), s.Log() })
	}
	calls.Wait()
	require.NoError(t, s.Restart(true))
	_, err := s.Do("PING")
	require.NoError(t, err)
}
