package docker

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	// requireEnv names the layers, separated by commas, whose tests must run:
	// where it says "docker", a machine without an engine or the image fails
	// instead of skipping.
	requireEnv = "REDLOCK_REQUIRE"

	// imageEnv names the image that tests run, as docker-compose.yml does.
	imageEnv = "REDLOCK_IMAGE"

	testImage = "redlock-chaos:test" // what chaos/docker/image makes
)

// Need returns the image to test with: the one that the environment variable
// REDLOCK_IMAGE names, or the one that chaos/docker/image makes. It skips the test,
// with the reason, on a machine without an engine or that image; it fails the test
// if the environment variable REDLOCK_REQUIRE contains "docker".
func Need(tb testing.TB) (image string) {
	tb.Helper()
	if image = os.Getenv(imageEnv); image == "" {
		image = testImage
	}
	pool, err := connect()
	if err == nil {
		err = (&Engine{pool: pool}).Has(image)
	}
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv(requireEnv), ","), "docker"):
		tb.Fatalf("%v (%s=%s)", err, requireEnv, os.Getenv(requireEnv))
	default:
		tb.Skip(err)
	}
	return image
}
