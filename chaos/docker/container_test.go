package docker_test

import (
	"context"
	"testing"
	"time"

	api "github.com/ory/dockertest/v3/docker"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/docker"
	"github.com/quorumlock/redlock/chaos/process"
)

// open returns an engine; after the test nothing of it may be left.
func open(t *testing.T) (e *docker.Engine, image string) {
	t.Helper()
	image = docker.Need(t)
	e, err := docker.Open()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		require.Empty(t, left(t, e.Run()))
	})
	return e, image
}

// left returns the containers and networks of a run.
func left(t *testing.T, run string) (names []string) {
	t.Helper()
	client, err := api.NewClientFromEnv()
	require.NoError(t, err)
	label := docker.Label + "=" + run
	containers, err := client.ListContainers(api.ListContainersOptions{All: true, Filters: map[string][]string{"label": {label}}})
	require.NoError(t, err)
	for _, c := range containers {
		names = append(names, c.Names...)
	}
	networks, err := client.FilteredListNetworks(api.NetworkFilterOpts{"label": {label: true}})
	require.NoError(t, err)
	for _, n := range networks {
		names = append(names, n.Name)
	}
	return names
}

func start(t *testing.T, e *docker.Engine, image string) *docker.Container {
	t.Helper()
	c, err := e.Start(context.Background(), docker.Config{Image: image, AppendOnly: true})
	require.NoError(t, err)
	return c
}

func set(t *testing.T, c *docker.Container) {
	t.Helper()
	_, err := process.Do(c.Addr(), "SET", "k", "v", "PX", "600000")
	require.NoError(t, err)
}

func get(t *testing.T, c *docker.Container) any {
	t.Helper()
	value, err := process.Do(c.Addr(), "GET", "k")
	require.NoError(t, err)
	return value
}

func state(t *testing.T, c *docker.Container) docker.State {
	t.Helper()
	s, err := c.State()
	require.NoError(t, err)
	return s
}

func TestAKilledContainerComesBackWithItsKeysOrWithout(t *testing.T) {
	e, image := open(t)
	c := start(t, e, image)
	for _, keep := range []bool{true, false, true} {
		set(t, c)
		before := c.Addr()
		require.NoError(t, c.Kill())
		require.NoError(t, c.Kill(), "it is dead already")
		require.False(t, state(t, c).Running)
		require.Empty(t, c.Addr())
		_, err := process.Do(before, "PING")
		require.Error(t, err)

		require.NoError(t, c.Restart(keep))
		require.Equal(t, docker.State{Running: true, Joined: true}, state(t, c))
		if keep {
			require.Equal(t, "v", get(t, c))
		} else {
			require.Nil(t, get(t, c))
		}
	}
	require.NoError(t, c.Restart(true), "without a kill before")
	require.Equal(t, "v", get(t, c))
}

func TestAPausedContainerAnswersOnlyAfterThePause(t *testing.T) {
	e, image := open(t)
	c := start(t, e, image)
	require.NoError(t, c.Pause())
	require.True(t, state(t, c).Paused)
	answer := make(chan error, 1)
	go func() { // accepted, and carried out later
		_, err := process.Do(c.Addr(), "SET", "k", "v")
		answer <- err
	}()
	select {
	case err := <-answer:
		t.Fatalf("answered during the pause: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	require.NoError(t, c.Resume())
	require.NoError(t, c.Resume(), "it runs already")
	require.NoError(t, <-answer)
	require.Equal(t, "v", get(t, c))
}

func TestAContainerThatIsCutOffRunsOn(t *testing.T) {
	e, image := open(t)
	c, other := start(t, e, image), start(t, e, image)
	set(t, c)
	before := c.Addr()
	require.NoError(t, c.Cut())
	require.Equal(t, docker.State{Running: true}, state(t, c))
	_, err := process.Do(before, "PING")
	require.Error(t, err)
	_, err = process.Do(other.Addr(), "PING")
	require.NoError(t, err, "the others are not")

	require.NoError(t, c.Join(), "the same process answers")
	require.Equal(t, "v", get(t, c))
}

func TestAContainerIsKilledWhateverItsState(t *testing.T) {
	e, image := open(t)
	c := start(t, e, image)
	set(t, c)
	require.NoError(t, c.Pause())
	require.NoError(t, c.Restart(true))
	require.Equal(t, "v", get(t, c))
	require.NoError(t, c.Cut())
	require.NoError(t, c.Restart(false))
	require.Nil(t, get(t, c))
}

func TestAMissingImageIsNamed(t *testing.T) {
	e, _ := open(t)
	_, err := e.Start(context.Background(), docker.Config{Image: "redlock-no-such-image:1"})
	require.ErrorIs(t, err, docker.ErrUnavailable)
	require.ErrorContains(t, err, `docker pull redlock-no-such-image:1`)
}

func TestWithoutAnEngineTheErrorSaysSo(t *testing.T) {
	for endpoint, want := range map[string]string{
		"unix:///no/such/socket": "no engine answers",
		"tcp://192.0.2.1:2375":   "may be on another machine",
	} {
		t.Setenv("DOCKER_HOST", endpoint)
		_, err := docker.Open()
		require.ErrorIs(t, err, docker.ErrUnavailable)
		require.ErrorContains(t, err, want)
	}
}
