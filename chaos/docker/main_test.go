package docker_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	api "github.com/ory/dockertest/v3/docker"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/docker"
)

// helperEnv makes the test binary a program that starts a container of the
// variable's image and then ends, or is ended.
const helperEnv = "REDLOCK_DOCKER_HELPER"

func TestMain(m *testing.M) {
	if image := os.Getenv(helperEnv); image != "" {
		help(image)
	}
	m.Run()
}

// help prints the engine's run, waits until its standard input ends, and panics.
func help(image string) {
	e, err := docker.Open()
	if err == nil {
		_, err = e.Start(context.Background(), docker.Config{Image: image})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(e.Run())
	_, _ = io.ReadAll(os.Stdin)
	panic("as a test may")
}

func TestNothingIsLeftBehindWhateverEndsTheProgram(t *testing.T) {
	image := docker.Need(t)
	foreign := stranger(t, image)
	for _, how := range []string{"panics", "is killed", "is interrupted"} {
		t.Run(how, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			helper := exec.Command(self)
			helper.Env = append(os.Environ(), helperEnv+"="+image)
			stdin, err := helper.StdinPipe()
			require.NoError(t, err)
			stdout, err := helper.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, helper.Start())
			run, err := bufio.NewReader(stdout).ReadString('\n')
			require.NoError(t, err)
			run = strings.TrimSpace(run)
			require.Len(t, left(t, run), 2, "a container and a network of %q", run)

			switch how {
			case "panics":
				require.NoError(t, stdin.Close())
			case "is killed":
				require.NoError(t, helper.Process.Kill())
			case "is interrupted": // nothing catches it
				require.NoError(t, helper.Process.Signal(syscall.SIGINT))
			}
			_ = helper.Wait()
			require.Eventually(t, func() bool { return len(left(t, run)) == 0 }, 30*time.Second, 50*time.Millisecond)
		})
	}
	client, err := api.NewClientFromEnv()
	require.NoError(t, err)
	it, err := client.InspectContainer(foreign)
	require.NoError(t, err, "a container of somebody else")
	require.True(t, it.State.Running)
}

// stranger returns a container that is none of ours.
func stranger(t *testing.T, image string) (id string) {
	t.Helper()
	client, err := api.NewClientFromEnv()
	require.NoError(t, err)
	c, err := client.CreateContainer(api.CreateContainerOptions{Config: &api.Config{Image: image}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, client.RemoveContainer(api.RemoveContainerOptions{ID: c.ID, Force: true, RemoveVolumes: true}))
	})
	require.NoError(t, client.StartContainer(c.ID, nil))
	return c.ID
}
