package clock

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The kernel publishes CLOCK_BOOTTIME, rounded down to 10 ms, in /proc/uptime.
func TestBoottimeIsTheKernelsUptime(t *testing.T) {
	if mounts, err := os.ReadFile("/proc/mounts"); err == nil && strings.Contains(string(mounts), "lxcfs") {
		t.Skip("lxcfs shows the container's uptime in /proc/uptime")
	}
	before := gettime(clockBoottime)
	text, err := os.ReadFile("/proc/uptime")
	after := gettime(clockBoottime)
	require.NoError(t, err)
	seconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	require.NoError(t, err)

	uptime := time.Duration(seconds * float64(time.Second))
	require.GreaterOrEqual(t, uptime, before-11*time.Millisecond)
	require.LessOrEqual(t, uptime, after+time.Millisecond)
}

func TestAnUnknownClockReadsZero(t *testing.T) {
	require.Zero(t, gettime(1<<20))
}
