package report_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock/chaos/report"
)

func TestProgressOnATerminalIsOneLineThatIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		done := 0
		stop := report.Progress(&out, true, func() report.Status {
			done += 1000
			return report.Status{Done: done, Total: 5000, Unit: "schedules", Grants: 12_000, Faults: 1, Overlaps: 0}
		})
		time.Sleep(2500 * time.Millisecond)
		stop()
		stop()
		assert.Equal(t, "\r\x1b[K1,000 of 5,000 schedules, 1,000/s, 4 s left: 12,000 grants, 1 fault, 0 overlaps"+
			"\r\x1b[K2,000 of 5,000 schedules, 1,000/s, 3 s left: 12,000 grants, 1 fault, 0 overlaps"+
			"\r\x1b[K3,000 of 5,000 schedules, 1,200/s, 2 s left: 12,000 grants, 1 fault, 0 overlaps\n", out.String())
	})
}

func TestProgressElsewhereIsPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		began := time.Now()
		stop := report.Progress(&out, false, func() report.Status {
			return report.Status{Done: int(time.Since(began).Seconds()), Unit: "s", Grants: 5}
		})
		time.Sleep(25 * time.Second)
		stop()
		assert.Equal(t, "10 s: 5 grants, 0 faults, 0 overlaps\n20 s: 5 grants, 0 faults, 0 overlaps\n25 s: 5 grants, 0 faults, 0 overlaps\n", out.String())
	})
}
