package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quorumlock/redlock/chaos/history"
)

// quoted returns a lock's name for people: in quotes, in one line, not longer
// than a line can bear. Names may have any bytes.
func quoted(name string) string {
	return `"` + shortened(clean(name), 40) + `"`
}

// shortened returns s with at most limit characters.
func shortened(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit-3]) + "..."
}

// clean returns s as text that can be drawn in one line: no broken encoding, no
// control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == unicode.ReplacementChar:
			return '?'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// short returns the part of a token that people compare.
func short(token string) string {
	head, _, _ := strings.Cut(token, "/")
	return clean(head[:min(8, len(head))])
}

// somebody returns a client's name, also of an unknown one.
func somebody(client int) string {
	if client < 1 {
		return "an attempt that failed"
	}
	return history.Owner(client)
}

// listed returns "a", "a and b", "a, b and c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// numbers returns "1", "1 and 2", "1-5".
func numbers(n []int) string {
	if len(n) > 2 && n[len(n)-1]-n[0] == len(n)-1 {
		return fmt.Sprintf("%d-%d", n[0], n[len(n)-1])
	}
	words := make([]string, len(n))
	for i := range n {
		words[i] = strconv.Itoa(n[i])
	}
	return listed(words)
}

// clientsInWords returns "client 1", "clients 2, 3 and 7".
func clientsInWords(n []int) string {
	if len(n) == 1 {
		return fmt.Sprintf("client %d", n[0])
	}
	return "clients " + numbers(n)
}

// plural returns "1 grant", "2 grants".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// thousands returns n as people write it: 12,345.
func thousands(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// length returns a duration with three digits and the unit that suits it.
func length(d time.Duration) string {
	switch a := d.Abs(); {
	case a < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case a < time.Millisecond:
		return digits(float64(d)/1e3) + " µs"
	case a < time.Second:
		return digits(float64(d)/1e6) + " ms"
	case a < 10*time.Minute:
		return digits(d.Seconds()) + " s"
	case a < 10*time.Hour:
		return digits(d.Minutes()) + " min"
	}
	return digits(d.Hours()) + " h"
}

// digits returns f with three significant digits, without zeros that say
// nothing.
func digits(f float64) string {
	if math.Abs(f) >= 1000 && math.Abs(f) < 1e15 {
		return thousands(int(math.Round(f)))
	}
	places := 0
	for a := math.Abs(f); a < 100 && places < 2; a *= 10 {
		places++
	}
	s := strconv.FormatFloat(f, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// instant returns a moment of the run, to the microsecond at most.
func instant(at time.Duration) string {
	s := strconv.FormatFloat(at.Seconds(), 'f', 6, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	return s + " s"
}

// about returns a moment of a run of that length as one says it in a sentence.
func about(at, run time.Duration) string {
	if run > 100*time.Millisecond {
		at = at.Round(time.Millisecond)
	}
	return instant(at)
}

// signed returns a clock's offset: "+20 s".
func signed(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d > 0:
		return "+" + length(d)
	}
	return length(d)
}
