package redlocktest

import (
	"errors"
	"strings"
	"time"

	"github.com/quorumlock/redlock"
)

// The rules about keys: what each operation does and leaves alone.

func acquireCreates(s *subject) {
	key, value := s.key(), newValue()
	s.expect("acquire of a free key", s.acquire(key, value, long), redlock.VoteYes)
	s.expectHolder(key, value)
	s.release(key, value)
}

func acquireLeavesTaken(s *subject) { leavesTaken(s, redlock.OpAcquire) }

// leavesTaken checks that creating fails where there is a key, also one with the
// same value, and leaves its value and its expiry.
func leavesTaken(s *subject, op redlock.Op) {
	s.briefly(func(ttl time.Duration) bool {
		key, mine := s.key(), newValue()
		start := time.Now()
		s.expect("acquire of a free key", s.acquire(key, mine, ttl), redlock.VoteYes)
		answers := []redlock.Answer{
			s.start(op, key, newValue(), long).wait(),
			s.start(op, key, mine, long).wait(),
		}
		if time.Since(start) > almost(ttl) {
			return false
		}
		for _, a := range answers {
			s.expect(op.String()+" of a taken key", a, redlock.VoteForeign)
			if a.Value != "" { // it need not be known
				s.expectForeign(op.String()+" of a taken key", a, mine)
			}
		}
		s.expectExpiry(key, start, ttl)
		return true
	})
}

// keyExpires uses several TTLs, because a pause of the test hides that a key was
// gone too early.
func keyExpires(s *subject) {
	ttls := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}
	keys := make([]string, len(ttls))
	start := time.Now()
	for i, ttl := range ttls {
		keys[i] = s.key()
		s.expect("acquire of a free key", s.acquire(keys[i], newValue(), ttl), redlock.VoteYes)
	}
	for i, ttl := range ttls {
		s.expectExpiry(keys[i], start, ttl)
	}

	next := newValue()
	s.expect("acquire of a key that has expired", s.acquire(keys[0], next, long), redlock.VoteYes)
	s.expectHolder(keys[0], next)
	s.release(keys[0], next)
}

func healAcquires(s *subject) {
	key, value, ttl := s.key(), newValue(), 150*time.Millisecond
	start := time.Now()
	s.expect("heal of a free key", s.start(redlock.OpHeal, key, value, ttl).wait(), redlock.VoteYes)
	s.expectExpiry(key, start, ttl)
	leavesTaken(s, redlock.OpHeal)
}

func extendProlongs(s *subject) {
	s.briefly(func(ttl time.Duration) bool {
		key, mine := s.key(), newValue()
		start := time.Now()
		s.expect("acquire of a free key", s.acquire(key, mine, ttl), redlock.VoteYes)
		extended := time.Now()
		a := s.extend(key, mine, 2*ttl)
		if time.Since(start) > almost(ttl) {
			return false
		}
		s.expect("extend of our key", a, redlock.VoteYes)
		s.expectExpiry(key, extended, 2*ttl)
		return true
	})
}

func extendNeverShortens(s *subject) {
	key, mine, ttl := s.key(), newValue(), 50*time.Millisecond
	s.expect("acquire of a free key", s.acquire(key, mine, long), redlock.VoteYes)
	s.expect("extend by less than is left", s.extend(key, mine, ttl), redlock.VoteYes)
	s.expectStays(key, mine, 4*ttl)
	s.release(key, mine)
}

func extendNeverCreates(s *subject) {
	key, mine := s.key(), newValue()
	s.expect("extend of a missing key", s.extend(key, mine, long), redlock.VoteAbsent)
	s.expectFree(key)

	ttl := 50 * time.Millisecond
	start := time.Now()
	s.expect("acquire of a free key", s.acquire(key, mine, ttl), redlock.VoteYes)
	s.expectExpiry(key, start, ttl)
	s.expect("extend of a key that has expired", s.extend(key, mine, long), redlock.VoteAbsent)
	s.expectFree(key)
}

func extendLeavesForeign(s *subject) {
	s.briefly(func(ttl time.Duration) bool {
		key, theirs := s.key(), newValue()
		start := time.Now()
		s.expect("acquire of a free key", s.acquire(key, theirs, ttl), redlock.VoteYes)
		a := s.extend(key, newValue(), long)
		if time.Since(start) > almost(ttl) {
			return false
		}
		s.expectForeign("extend of another's key", a, theirs)
		s.expectExpiry(key, start, ttl)
		return true
	})
}

func releaseDeletes(s *subject) {
	key, mine, next := s.key(), newValue(), newValue()
	s.expect("release of a key that never was", s.release(key, mine), redlock.VoteAbsent)
	s.expect("acquire of a free key", s.acquire(key, mine, long), redlock.VoteYes)
	s.expect("release of our key", s.release(key, mine), redlock.VoteYes)
	s.expect("a second release", s.release(key, mine), redlock.VoteAbsent)
	s.expect("acquire of a released key", s.acquire(key, next, long), redlock.VoteYes)
	s.expect("release of the next holder's key", s.release(key, next), redlock.VoteYes)
}

func releaseLeavesForeign(s *subject) {
	s.briefly(func(ttl time.Duration) bool {
		key, theirs := s.key(), newValue()
		start := time.Now()
		s.expect("acquire of a free key", s.acquire(key, theirs, ttl), redlock.VoteYes)
		first, second := s.release(key, newValue()), s.release(key, newValue())
		if time.Since(start) > almost(ttl) {
			return false
		}
		s.expectForeign("release of another's key", first, theirs)
		s.expectForeign("a second release of another's key", second, theirs)
		s.expectExpiry(key, start, ttl)
		return true
	})
}

func wholeValueCompared(s *subject) {
	key, mine := s.key(), newValue()
	s.expect("acquire of a free key", s.acquire(key, mine, long), redlock.VoteYes)
	for _, other := range []string{
		"", " ", "\x00", "0", mine[:1], mine[:40], mine[:len(mine)-1], mine[1:],
		mine + "x", mine + "\n", mine + "\x00", " " + mine, mine[:len(mine)-1] + "2",
		strings.ToUpper(mine), mine[:40] + "*", "*", strings.Repeat("?", len(mine)),
	} {
		s.expectForeign("extend with "+quote(other), s.extend(key, other, long), mine)
		s.expectForeign("release with "+quote(other), s.release(key, other), mine)
	}
	s.expect("extend with our value", s.extend(key, mine, long), redlock.VoteYes)
	s.expect("release with our value", s.release(key, mine), redlock.VoteYes)
}

func keyIsAnyBytes(s *subject) {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	endings := []string{ // of one beginning: a node that cuts or folds them confuses them
		"", string(all[:]), " ", "  ", "a b", "a\r\nb", "\x00", "\x00\x00", "{a}b", "{b}a", "{", "}", "*", "%s",
		`\`, `"'`, "\xff\xfe", "Key", "key", "schlüssel", strings.Repeat("k", 1024), strings.Repeat("k", 1025),
	}
	base := s.key()
	keys := make([]string, len(endings))
	values := make([]string, len(endings))
	for i, ending := range endings {
		keys[i], values[i] = base+ending, newValue()
		s.expect("acquire of "+quote(ending), s.acquire(keys[i], values[i], long), redlock.VoteYes)
	}
	for i := range keys { // none has overwritten another
		s.expectHolder(keys[i], values[i])
		s.expect("extend of "+quote(endings[i]), s.extend(keys[i], values[i], long), redlock.VoteYes)
	}
	for i := range keys {
		s.expect("release of "+quote(endings[i]), s.release(keys[i], values[i]), redlock.VoteYes)
		s.expectFree(keys[i])
	}
}

func valueKeptWhole(s *subject) {
	token := newValue()[:41]
	for _, mine := range []string{
		token,
		token + `o'brien "ops" \ $1 {x} %d 世界`,
		token + strings.Repeat("o", 200), // the longest that clients use
	} {
		key := s.key()
		s.expect("acquire of a free key", s.acquire(key, mine, long), redlock.VoteYes)
		s.expectHolder(key, mine)
		almostMine := mine[:len(mine)-1] + "!"
		s.expectForeign("extend with another last byte", s.extend(key, almostMine, long), mine)
		s.expect("extend with our value", s.extend(key, mine, long), redlock.VoteYes)
		s.expect("release with our value", s.release(key, mine), redlock.VoteYes)
	}
}

func unknownOperation(s *subject) {
	free, taken, mine := s.key(), s.key(), newValue()
	s.expect("acquire of a free key", s.acquire(taken, mine, long), redlock.VoteYes)
	for _, op := range []redlock.Op{0, 200, 255} {
		for _, key := range []string{free, taken} {
			a := s.start(op, key, mine, long).wait()
			s.expect(op.String(), a, redlock.VoteError)
			if !errors.Is(a.Err, redlock.ErrUnsupported) {
				s.Errorf("%v: the error is %q, want ErrUnsupported", op, a.Err)
			}
		}
		s.expectFree(free)
		s.expectHolder(taken, mine)
	}
	s.release(taken, mine)
}
