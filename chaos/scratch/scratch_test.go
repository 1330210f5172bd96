package scratch

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownerVariable makes the test binary a process that has a folder until it is killed.
const ownerVariable = "REDLOCK_SCRATCH_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerVariable) != "" {
		f, err := New()
		if err == nil {
			err = os.WriteFile(filepath.Join(f.Path(), "data"), []byte("x"), 0o600)
		}
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(f.Path() + "\n")
		select {}
	}
	os.Exit(m.Run())
}

// owner starts a process that has a folder.
func owner(t *testing.T) (path string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerVariable+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = sync.OnceFunc(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line), kill
}

func TestWhatAKilledProcessLeftIsRemovedAndNothingElse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs flock")
	}
	t.Setenv("TMPDIR", t.TempDir())
	own, err := New()
	require.NoError(t, err)
	living, _ := owner(t)
	dead, kill := owner(t)
	kill()
	elsewhere := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(elsewhere, nil, 0o600))
	link := filepath.Join(os.TempDir(), prefix+"link")
	require.NoError(t, os.Symlink(filepath.Dir(elsewhere), link))
	file := filepath.Join(os.TempDir(), prefix+"file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	other := filepath.Join(os.TempDir(), "other")
	require.NoError(t, os.Mkdir(other, 0o700))

	require.DirExists(t, dead, "SIGKILL leaves it")
	sweep()
	require.NoDirExists(t, dead)
	require.FileExists(t, filepath.Join(living, "data"))
	for _, path := range []string{own.Path(), elsewhere, link, file, other} {
		_, err := os.Lstat(path)
		require.NoError(t, err)
	}
	require.NoError(t, own.Remove())
	require.NoDirExists(t, own.Path())
	require.NoError(t, own.Remove())
}

// A folder is never removed between its making and its use.
func TestNewFoldersAreSafeFromSweeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stop := make(chan struct{})
	var sweeping sync.WaitGroup
	sweeping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				sweep()
			}
		}
	})
	for range 300 {
		f, err := New()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(f.Path(), "data"), nil, 0o600))
		require.DirExists(t, f.Path())
		require.NoError(t, f.Remove())
	}
	close(stop)
	sweeping.Wait()
}
