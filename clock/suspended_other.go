//go:build !linux

package clock

import "time"

// suspended: Go's monotonic clock is all there is.
func suspended() time.Duration { return 0 }

func suspendedSince(time.Time) time.Duration { return 0 }
