package main

import (
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

// drain is how long a client may still be busy after its Close.
const drain = 2 * time.Second

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	os.Exit(m.Run())
}

func TestOneServerWorksTheOthersSkipAndTheLateOneFindsItDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the story's four seconds take none
		defer time.Sleep(drain)
		told := tellStory(t)
		requireStory(t, told)
		require.Contains(t, told, "node-1    is killed")
	})
}

func TestTheSameStoryOnRealMasters(t *testing.T) {
	if testing.Short() {
		t.Skip("takes four seconds")
	}
	t.Parallel()
	var urls []string
	for _, s := range process.Nodes(t, 5, process.Config{}) {
		urls = append(urls, "redis://"+s.Addr())
	}
	told := tellStory(t, "-nodes", strings.Join(urls, ","), "-job", "bill:2026-07")
	requireStory(t, told)
	require.Contains(t, told, "no node is killed: they are not ours")
	require.Contains(t, told, "records bill:2026-07 as done")
}

func TestAStoryWithoutNodesIsABrokenPromise(t *testing.T) {
	err := run(t.Context(), io.Discard, []string{"-nodes", "redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"})
	require.ErrorIs(t, err, errBroken)
}

func TestAnInterruptedStoryEndsWithTheInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(drain)
		ctx, cancel := context.WithTimeout(t.Context(), 3*step+step/2)
		defer cancel()
		var told strings.Builder
		require.ErrorIs(t, run(ctx, &told, nil), context.DeadlineExceeded)
		require.NotContains(t, told.String(), "as done")
	})
}

func TestWrongUsageIsExplained(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"job"}} {
		var told strings.Builder
		require.ErrorIs(t, run(t.Context(), &told, args), errUsage)
		require.Contains(t, told.String(), "-nodes")
	}
}

func TestVerdictFindsOverlapRepetitionAndIdleness(t *testing.T) {
	cases := map[string]struct {
		play  func(l *ledger)
		wrong string
	}{
		"once":  {func(l *ledger) { l.begin("p")("a") }, ""},
		"never": {func(*ledger) {}, "0 servers did the job"},
		"twice, one after the other": {func(l *ledger) {
			l.begin("p")("a")
			l.begin("p")("b")
		}, "2 servers did the job"},
		"twice, at the same time": {func(l *ledger) {
			end := l.begin("p")
			l.begin("p")("b")
			end("a")
		}, "1 of 2 runs overlapped another"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := new(ledger)
			c.play(l)
			err := verdict(newStory(io.Discard), l)
			if c.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, errBroken)
			require.ErrorContains(t, err, c.wrong)
		})
	}
}

func tellStory(t *testing.T, args ...string) string {
	t.Helper()
	var told strings.Builder
	err := run(t.Context(), &told, args)
	require.NoError(t, err, told.String())
	t.Log("\n" + told.String())
	return told.String()
}

var (
	starts  = regexp.MustCompile(`(server-\d) +step 1 of`)
	skips   = regexp.MustCompile(`(server-\d) +skips: held by (server-\d)`)
	finds   = regexp.MustCompile(`server-4 +finds it recorded as done by (server-\d), and does nothing`)
	extends = regexp.MustCompile(`step 8 of 8, extensions so far: [3-9],`)
)

// requireStory checks that exactly one server worked, that the two others of
// those that started together skipped and named it, and that the late one left
// the finished job alone.
func requireStory(t *testing.T, told string) {
	t.Helper()
	started := starts.FindAllStringSubmatch(told, -1)
	require.Len(t, started, 1, told)
	winner := started[0][1]

	others := map[string]bool{"server-1": true, "server-2": true, "server-3": true}
	require.True(t, others[winner], told)
	delete(others, winner)
	for _, skip := range skips.FindAllStringSubmatch(told, -1) {
		require.Equal(t, winner, skip[2], told)
		delete(others, skip[1])
	}
	require.Empty(t, others, told)

	found := finds.FindStringSubmatch(told)
	require.NotNil(t, found, told)
	require.Equal(t, winner, found[1], told)
	require.Regexp(t, extends, told, "the lock must have outlived its TTL")
	require.NotContains(t, told, "failed", told)
}
