package live_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

func init() { programs["waiter"] = waiter }

// waiter waits for a lock that it does not get, for the time of its TTL, and tells
// how much CPU time that took.
func waiter() {
	o, client := begin()
	wait := func(d time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		if _, err := client.Acquire(ctx, o.Name, o.TTL); !errors.Is(err, context.DeadlineExceeded) {
			fmt.Println("WRONG", err)
		}
	}
	wait(o.TTL / 10) // connects, and touches memory for the first time
	before := cpuTime()
	wait(o.TTL)
	fmt.Println("cpu", int64(cpuTime()-before))
	select {}
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// raceDetector reports whether this binary has one, which makes all code several
// times slower.
func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// A waiter in a process of its own, which does nothing else.
func TestB39AWaiterCostsNextToNothing(t *testing.T) {
	t.Parallel()
	process.Need(t)
	const wait, turns = 5 * time.Second, 50 // 505 ms each in the mean, once the window is open
	for name, block := range map[string]func(m master){
		"held":      func(m master) { set(m, "job", stranger, time.Hour) },
		"read only": func(m master) { m.Do("REPLICAOF", "127.0.0.1", 1) },
		"refused":   func(m master) { m.Down() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := startServers(t, 3, process.Config{})
			for _, m := range masters {
				block(m)
			}
			p := run(t, "waiter", order{Addrs: addrs(masters), Name: "job", TTL: wait, RetryMax: time.Second})
			var cpu time.Duration
			_, err := fmt.Sscan(p.next("cpu")[len("cpu "):], (*int64)(&cpu))
			require.NoError(t, err)
			share := 0.02
			if raceDetector() {
				share = 0.1
			}
			assert.LessOrEqual(t, cpu.Seconds(), share*wait.Seconds(), "seconds of CPU time in %v", wait)
			if name == "refused" {
				return
			}
			for _, m := range masters {
				sets, scripts := calls(t, m, "set"), calls(t, m, "evalsha")+calls(t, m, "eval")
				assert.Greater(t, sets, 5, "it does try")
				assert.LessOrEqual(t, sets, turns)
				assert.LessOrEqual(t, scripts, turns+1, "an undo each, and the script's source")
			}
		})
	}
}

// calls returns how often a server got a command, whether it carried it out or not.
func calls(t *testing.T, m master, command string) (n int) {
	t.Helper()
	stats := m.Do("INFO", "commandstats").(string)
	line := regexp.MustCompile(`cmdstat_` + command + `:calls=(\d+),.*rejected_calls=(\d+)`).FindStringSubmatch(stats)
	for _, count := range line[min(1, len(line)):] {
		c, err := strconv.Atoi(count)
		require.NoError(t, err)
		n += c
	}
	return n
}
