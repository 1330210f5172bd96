package redlock

import (
	"fmt"
	"math"
	"time"
)

// Drift is the allowance for clocks that do not run alike: how much earlier
// than the TTL says a key may be gone on a node, in the client's time.
//
// Factor covers clock rates: with 0.01, a node's clock may run up to 1 % faster
// than the client's. Fixed covers the rest: Redis expires keys to the
// millisecond, and so do the clocks it reads. The Redlock page calls the sum
// CLOCK_DRIFT and most clients use these defaults, 1 % and 2 ms.
type Drift struct {
	Factor float64       // of the TTL; 0 <= Factor < 1
	Fixed  time.Duration // at least 0
}

// DefaultDrift is used where [Options].Drift is nil.
var DefaultDrift = Drift{Factor: 0.01, Fixed: 2 * time.Millisecond}

// Validate returns an error that names the field and the rule, or nil.
func (d Drift) Validate() error {
	if math.IsNaN(d.Factor) || d.Factor < 0 || d.Factor >= 1 {
		return fmt.Errorf("%w: Drift.Factor %v, want 0 <= Factor < 1", ErrInvalid, d.Factor)
	}
	if d.Fixed < 0 {
		return fmt.Errorf("%w: Drift.Fixed %v, want at least 0", ErrInvalid, d.Fixed)
	}
	return nil
}

// For returns the allowance for a lease of ttl, rounded up to the nanosecond:
// ttl * Factor + Fixed. The error wraps [ErrInvalid] if ttl is negative, d is
// not valid, or the sum overflows.
func (d Drift) For(ttl time.Duration) (time.Duration, error) {
	if err := d.Validate(); err != nil {
		return 0, err
	}
	if ttl < 0 {
		return 0, fmt.Errorf("%w: TTL %v, want at least 0", ErrInvalid, ttl)
	}
	// Factor < 1 keeps the product within the range of ttl, but for the
	// rounding of float64 at its very top.
	part := math.Ceil(float64(ttl) * d.Factor)
	if part >= math.MaxInt64-float64(d.Fixed) {
		return 0, fmt.Errorf("%w: drift of TTL %v with factor %v and fixed part %v overflows", ErrInvalid, ttl, d.Factor, d.Fixed)
	}
	return time.Duration(part) + d.Fixed, nil
}

// Validity returns how long a lock may still be relied on when elapsed has
// passed since just before its first command was sent:
//
//	ttl - elapsed - drift
//
// which is step 3 and 4 of the Redlock algorithm, with the drift of the page's
// reference implementations. A result of zero or less means that the lock was
// not acquired, however many nodes agreed. ttl is what was sent to the nodes.
// The error wraps [ErrInvalid] if ttl or elapsed is negative, the result
// overflows, or as [Drift.For] says.
func Validity(ttl, elapsed time.Duration, d Drift) (time.Duration, error) {
	if elapsed < 0 {
		return 0, fmt.Errorf("%w: elapsed time %v, want at least 0", ErrInvalid, elapsed)
	}
	drift, err := d.For(ttl)
	if err != nil {
		return 0, err
	}
	left := ttl - drift // both at least 0: no overflow
	if elapsed > 0 && left < math.MinInt64+elapsed {
		return 0, fmt.Errorf("%w: TTL %v less elapsed %v less drift %v overflows", ErrInvalid, ttl, elapsed, drift)
	}
	return left - elapsed, nil
}
