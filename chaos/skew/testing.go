package skew

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// requireEnv names the layers, separated by commas, whose tests must run.
const requireEnv = "REDLOCK_REQUIRE"

// Need skips the test, with the reason, on a machine where clocks cannot be moved;
// it fails the test if the environment variable REDLOCK_REQUIRE contains
// "process".
func Need(tb testing.TB) {
	tb.Helper()
	_, err := library()
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv(requireEnv), ","), "process"):
		tb.Fatalf("%v (%s=%s)", err, requireEnv, os.Getenv(requireEnv))
	default:
		tb.Skip(err)
	}
}
