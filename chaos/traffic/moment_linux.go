package traffic

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// A moment is a reading of CLOCK_MONOTONIC: nanoseconds since some point that is
// the same for all processes of a machine, so that their times can be compared.
// Go's own readings are of this clock, too, but the point that they count from
// is the process's secret; and of the wall clock, which could be passed on,
// somebody may set the hands during a run.
type moment int64

func monotonic() (moment, error) {
	const clockMonotonic = 1
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0, os.NewSyscallError("clock_gettime", errno)
	}
	return moment(ts.Nano()), nil
}

// originOf returns the moment at which a clock that follows CLOCK_MONOTONIC, as
// time.Since does, read zero.
//
// Between two readings the process may be stopped, so the clock is read before
// and after, and only a quick pair counts: it is wrong by less than its length,
// which is less than it takes to send an event to another process.
func originOf(now func() time.Duration) (moment, error) {
	best, origin := time.Duration(1<<62), moment(0)
	for range 1000 {
		before := now()
		m, err := monotonic()
		after := now()
		if err != nil {
			return 0, err
		}
		if after-before < best {
			best, origin = after-before, m-moment(before)-moment(after-before)/2
		}
		if best < time.Microsecond {
			break
		}
	}
	if best > 100*time.Microsecond {
		return 0, fmt.Errorf("traffic: %w: the quickest of many took %v", errNoMoment, best)
	}
	return origin, nil
}

var errNoMoment = errors.New("two clocks could not be read at one time")

// since returns a clock that reads zero at the origin.
func since(origin moment) (func() time.Duration, error) {
	start := time.Now()
	own, err := originOf(func() time.Duration { return time.Since(start) })
	if err != nil {
		return nil, err
	}
	ahead := time.Duration(own - origin)
	return func() time.Duration { return time.Since(start) + ahead }, nil
}
