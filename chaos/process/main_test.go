package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

// helperEnv makes the test binary a program that starts a server and then ends,
// or is ended, in the way that the variable's value says.
const helperEnv = "REDLOCK_PROCESS_HELPER"

func TestMain(m *testing.M) {
	if how := os.Getenv(helperEnv); how != "" {
		help(how)
	}
	m.Run()
}

// help prints the server's pid, waits until its standard input
// ends, and ends.
func help(how string) {
	s, err := process.Start(context.Background(), process.Config{})
	if err == nil && how == "killed while the server is paused" {
		err = s.Pause()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Pid())
	_, _ = io.ReadAll(os.Stdin)
	if how == "panics" {
		panic("as a test may")
	}
	os.Exit(0)
}

func TestNoServerIsLeftBehind(t *testing.T) {
	process.Need(t)
	for _, how := range []string{"killed", "killed while the server is paused", "panics", "exits"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			require.NoError(t, err)
			helper := exec.Command(self)
			helper.Env = append(os.Environ(), helperEnv+"="+how, "TMPDIR="+t.TempDir()) // its data folder stays
			stdin, err := helper.StdinPipe()
			require.NoError(t, err)
			stdout, err := helper.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, helper.Start())
			line, err := bufio.NewReader(stdout).ReadString('\n')
			require.NoError(t, err)
			var pid int
			_, err = fmt.Sscan(line, &pid)
			require.NoError(t, err, line)
			require.False(t, gone(pid))

			if strings.HasPrefix(how, "killed") {
				require.NoError(t, helper.Process.Kill())
			} else {
				require.NoError(t, stdin.Close())
			}
			_ = helper.Wait()
			require.Eventually(t, func() bool { return gone(pid) }, 10*time.Second, time.Millisecond)
		})
	}
}

// gone reports whether the process has ended, with all its threads. Its entry
// may stay as a zombie where nobody collects orphans.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err != nil || strings.Contains(string(stat), ") Z ") && len(threads) < 2
}
