package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// Clock numbers of clock_gettime(2).
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// suspended returns how long the machine has been suspended since it booted.
// CLOCK_BOOTTIME is CLOCK_MONOTONIC plus that time. Boottime is read first, so
// the pause between the two readings can only make the result too small: an
// overestimate would have to be taken back later, and a clock must not go back.
func suspended() time.Duration {
	boot := gettime(clockBoottime)
	return boot - gettime(clockMonotonic)
}

// suspendedSince is suspended less some constant, with one system call: start
// and Go read the same CLOCK_MONOTONIC. It is of no use in a testing/synctest
// bubble, where Go's clock is not the kernel's.
func suspendedSince(start time.Time) time.Duration {
	boot := gettime(clockBoottime)
	return boot - time.Since(start)
}

// gettime returns zero where the kernel has no such clock. Without boottime
// suspended then only ever falls, which System takes for no suspend.
func gettime(id uintptr) time.Duration {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return time.Duration(ts.Nano())
}
