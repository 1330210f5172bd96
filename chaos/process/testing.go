package process

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// requireEnv names the layers, separated by commas, whose tests must run: where
// it says "process", a machine without redis-server fails instead of skipping.
const requireEnv = "REDLOCK_REQUIRE"

// Need skips the test, with the reason, on a machine where the default server
// cannot run; it fails the test if the environment variable REDLOCK_REQUIRE
// contains "process".
func Need(tb testing.TB) {
	tb.Helper()
	need(tb, &Config{})
}

func need(tb testing.TB, config *Config) {
	tb.Helper()
	err := config.find()
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv(requireEnv), ","), "process"):
		tb.Fatalf("%v (%s=%s)", err, requireEnv, os.Getenv(requireEnv))
	default:
		tb.Skipf("%v (install redis-server to run this)", err)
	}
}

// Nodes starts n servers that are stopped when the test ends; if it failed, the
// ends of their logs are shown. It skips and fails as [Need] does. With more
// than one server, config must leave Port and Dir to chance.
func Nodes(tb testing.TB, n int, config Config) []*Server {
	tb.Helper()
	need(tb, &config)
	if n > 1 && (config.Port != 0 || config.Dir != "") {
		tb.Fatalf("process: %d servers with one port %d or folder %q", n, config.Port, config.Dir)
	}
	servers := make([]*Server, n)
	for i := range servers {
		s, err := Start(context.Background(), config)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { s.end(tb) })
		servers[i] = s
	}
	return servers
}

// shownLog is how much of a log a failed test shows.
const shownLog = 4 << 10

func (s *Server) end(tb testing.TB) {
	if err := s.Stop(); err != nil {
		tb.Error(err)
	}
	if tb.Failed() {
		log := s.Log()
		tb.Logf("log of %s:\n%s", s.Addr(), log[max(0, len(log)-shownLog):])
	}
}
