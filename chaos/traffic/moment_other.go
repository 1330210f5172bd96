//go:build !linux

package traffic

import (
	"errors"
	"time"
)

// A moment is a time that all processes of a machine agree on.
type moment int64

func originOf(func() time.Duration) (moment, error) { return 0, errors.ErrUnsupported }

func since(moment) (func() time.Duration, error) { return nil, errors.ErrUnsupported }
