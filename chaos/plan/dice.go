package plan

import (
	"math/bits"
	"time"
)

// Dice draw numbers that depend on a seed and on what they are drawn for, not
// on what was drawn before: whatever the order in which goroutines draw, each
// gets the same.
type Dice uint64

// For returns the dice of something, named by numbers.
func (d Dice) For(what ...uint64) Dice {
	h := uint64(d)
	for _, w := range what {
		h = mix(h ^ mix(w+0x9e3779b97f4a7c15))
	}
	return Dice(h)
}

// ForText returns the dice of something with a name.
func (d Dice) ForText(s string) Dice {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return d.For(h)
}

// Fraction returns a number in [0, 1).
func (d Dice) Fraction() float64 { return float64(mix(uint64(d))>>11) / (1 << 53) }

// Chance reports true with probability p.
func (d Dice) Chance(p float64) bool { return d.Fraction() < p }

// Int returns a number in [0, n).
func (d Dice) Int(n int) int {
	high, _ := bits.Mul64(mix(uint64(d)), uint64(n))
	return int(high)
}

// In returns a duration in s, to the nanosecond.
func (d Dice) In(s Span) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(d.Int(int(s.Max-s.Min)+1))
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
