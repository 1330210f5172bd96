package process_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

func TestChildIsStoppedAndContinuedAndWhatItSaidOutlivesIt(t *testing.T) {
	process.Need(t)
	in, answers, err := os.Pipe()
	require.NoError(t, err)
	questions, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	cmd := exec.Command("sh", "-c", "while read line; do echo $line; done")
	cmd.Stdin, cmd.Stdout = questions, answers
	c, err := process.StartChild(cmd)
	require.NoError(t, err)
	require.NoError(t, answers.Close())
	require.NoError(t, questions.Close())
	lines := bufio.NewReader(in)
	ask := func(what string) {
		_, err := io.WriteString(out, what+"\n")
		require.NoError(t, err)
	}

	ask("one")
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "one\n", line)

	require.NoError(t, c.Pause())
	ask("two")
	require.NoError(t, in.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = lines.ReadString('\n')
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "it is stopped")
	require.NoError(t, c.Resume())
	require.NoError(t, in.SetReadDeadline(time.Time{}))
	line, err = lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "two\n", line)

	ask("three")
	require.NoError(t, out.Close())
	<-c.Ended() // with "three" said, but not read
	require.NoError(t, c.Status())
	line, err = lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "three\n", line)
}

func TestStoppedChildIsKilled(t *testing.T) {
	process.Need(t)
	c, err := process.StartChild(exec.Command("sleep", "600"))
	require.NoError(t, err)
	require.NoError(t, c.Pause())
	require.NoError(t, c.Kill())
	<-c.Ended()
	require.ErrorContains(t, c.Status(), "killed")
	require.ErrorIs(t, c.Resume(), process.ErrNotRunning)
	require.NoError(t, c.Kill(), "it is gone already")
}
