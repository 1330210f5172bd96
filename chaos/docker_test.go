package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/docker"
)

// Real machines, as far as one has them: addresses, networks and clocks of their
// own.
func TestAShortAttackOnContainers(t *testing.T) {
	image := docker.Need(t)
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	status, out := chaos(t, "-backend", "docker", "-image", image, "-duration", "8s", "-faults", "kill,restart-late,pause,cut,clock-rate")
	require.Equal(t, exitAsPromised, status, out)
	require.Contains(t, out, "AS PROMISED: plan attack")
	require.Contains(t, out, "UNSAFE BY DESIGN, DETECTED: plan ")
	for _, fault := range []string{"kill", "restart-late", "pause", "cut", "clock-rate"} {
		require.Contains(t, out, "\n"+fault+" ", "struck")
	}
	t.Log(out)
}

func TestWithoutAnEngineOrAnImageItCannotRun(t *testing.T) {
	docker.Need(t)
	status, out := chaos(t, "-backend", "docker", "-image", "redlock-no-such-image:1")
	require.Equal(t, exitCannotRun, status)
	require.Contains(t, out, `docker pull redlock-no-such-image:1`)

	t.Setenv("DOCKER_HOST", "unix:///no/such/socket")
	status, out = chaos(t, "-backend", "docker")
	require.Equal(t, exitCannotRun, status)
	require.Contains(t, out, "no engine answers")
	require.NotContains(t, strings.ToLower(out), "panic")
}
