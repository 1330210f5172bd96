package clock

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The kernel publishes CLOCK_BOOTTIME, rounded down to 10 ms, in /proc/uptime.
func TestBoottimeIsTheKernelsUptime(t *testing.T) {
	if mounts, err := os.ReadFile("/proc/mounts"); err == nil && strings.Contains(string(mounts), "lxcfs") {
		t.Skip("lxcfs shows the container's uptime in /proc/uptime")
	}
	before := gettime(clockBoottime)
	text, err := os.ReadFile("/proc/uptime")
	after := gettime(clockBoottime)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	uptime := time.Duration(seconds * float64(time.Second))
	if uptime < before-11*time.Millisecond || uptime > after+time.Millisecond {
		t.Errorf("uptime %v, boottime %v to %v", uptime, before, after)
	}
}

func TestAnUnknownClockReadsZero(t *testing.T) {
	equal(t, 0, gettime(1<<20))
}

// Both ways of asking must tell the same suspend: they differ by a constant.
func TestOneAndTwoSystemCallsTellTheSameSuspends(t *testing.T) {
	start := time.Now()
	least, most := time.Duration(1<<62), time.Duration(-1<<62)
	for range 1000 {
		off := suspendedSince(start) - suspended()
		least, most = min(least, off), max(most, off)
	}
	constant := gettime(clockMonotonic) - time.Since(start)
	// Each reading is too small by the pause in its middle, by chance.
	if least > constant+time.Millisecond || most < constant-time.Millisecond {
		t.Errorf("they differ by %v to %v, want about %v", least, most, constant)
	}
}
