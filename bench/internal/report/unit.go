package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Unit is what a quantity is measured in.
type Unit string

// The units.
const (
	Number  Unit = ""     // of commands, of keys
	Rate    Unit = "/s"   // of something a second
	Time    Unit = "us"   // microseconds
	Bytes   Unit = "B"    // bytes
	Ratio   Unit = "x"    // times as much
	Percent Unit = "%"    // of a whole
	Nines   Unit = "part" // a part that is nearly 1, such as an availability
)

// Format writes a value with as many digits as it deserves.
func (u Unit) Format(v float64) string {
	switch u {
	case Time:
		return formatTime(v)
	case Ratio:
		return significant(v, 3) + "x"
	case Percent:
		return significant(v, 3) + " %"
	case Nines:
		return formatNines(v)
	case Bytes:
		return significant(v, 4) + " B"
	default:
		if v == math.Trunc(v) {
			return thousands(strconv.FormatFloat(v, 'f', 0, 64))
		}
		return significant(v, 4)
	}
}

// formatTime writes microseconds.
func formatTime(us float64) string {
	const minute = 60e6
	switch {
	case us >= 48*60*minute:
		return significant(us/(24*60*minute), 3) + " days"
	case us >= 120*minute:
		return significant(us/(60*minute), 3) + " h"
	case us >= 2*minute:
		return significant(us/minute, 3) + " min"
	case us >= 1e6:
		return significant(us/1e6, 3) + " s"
	case us >= 1e3:
		return significant(us/1e3, 3) + " ms"
	default:
		return significant(us, 3) + " us"
	}
}

// formatNines writes a part as a percentage with two digits after its nines.
func formatNines(v float64) string {
	if v >= 1 {
		return "100 %"
	}
	// A thousandth of the last digit makes up for what binary fractions lack.
	const slack = 1e-3
	digits := int(math.Ceil(-math.Log10(1-v)-slack)) - 1 // 99.9... before the digits that tell
	// Rounded down: an availability is no whole.
	return strconv.FormatFloat(math.Floor(v*math.Pow10(digits+3)+slack)/math.Pow10(digits+1), 'f', max(digits+1, 0), 64) + " %"
}

// significant writes v with n significant digits, but never less than its whole
// part.
func significant(v float64, n int) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	whole := int(math.Floor(math.Log10(math.Abs(v)))) + 1
	return thousands(strconv.FormatFloat(v, 'f', max(n-whole, 0), 64))
}

// thousands puts commas into the whole part.
func thousands(s string) string {
	sign, s := s[:len(s)-len(strings.TrimPrefix(s, "-"))], strings.TrimPrefix(s, "-")
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole = fmt.Sprint(whole, ".", rest)
	}
	return sign + whole
}
