package proxy

import "time"

// A draw is a random number that belongs to one fault and one message. Others
// that belong to it are derived from it, so that whoever draws in between, on
// another connection, changes nothing.
type draw uint64

// with returns a draw that depends on d and n.
func (d draw) with(n uint64) draw {
	// The output function of splitmix64 (Steele, Lea and Flood, 2014).
	z := uint64(d) + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return draw(z ^ z>>31)
}

// fraction returns a number from 0 to below 1.
func (d draw) fraction() float64 { return float64(d>>11) / (1 << 53) }

// between returns a duration from low to high, or low if that is more.
func (d draw) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(d.fraction()*float64(high-low+1))
}
