package clock

import (
	"container/list"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// Skewed is a [Clock] over another one that is wrong in a chosen way, for tests
// and simulations: stepped, at a wrong rate, noisy. Unlike a sound clock it goes
// back when it is told to.
//
// Its timers are as wrong as its readings. A timer set for d runs when this
// clock's reading, leaving noise aside, has advanced by d, never before: a step
// forward past that point runs it at once, a step back delays it. It is not
// later than the base clock's timers are. Use [NewSkewed].
type Skewed struct {
	base Clock

	mu      sync.Mutex
	rate    float64       // guarded by mu
	baseAt  time.Duration // guarded by mu: base's reading when rate was set
	at      time.Duration // guarded by mu: this clock's reading then, plus the steps since
	noise   noise         // guarded by mu
	pending list.List     // guarded by mu: *skewedTimer, those that are to run
}

// NewSkewed returns a clock that agrees with base (nil: a new [System]) until
// it is told otherwise. Base may itself be a Skewed.
func NewSkewed(base Clock) *Skewed {
	if base == nil {
		base = System()
	}
	return &Skewed{base: base, rate: 1}
}

// Now returns the reading: base's, moved by steps, rate and noise.
func (s *Skewed) Now() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return add(s.readLocked(s.base.Now()), s.noise.next())
}

// Offset returns by how much the reading is ahead of base's, leaving noise
// aside.
func (s *Skewed) Offset() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.base.Now()
	return add(s.readLocked(base), -base)
}

// Step moves the reading by d at once, forward or (d below zero) back.
func (s *Skewed) Step(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = add(s.at, d)
	s.rearmLocked(s.base.Now())
}

// SetRate makes the clock advance by r for every unit that base advances from
// now on; 1 is right, 1.01 is one percent fast. The reading does not jump. A
// reading is rounded down to the nanosecond, also when the rate changes.
// SetRate panics unless r is finite and above zero.
func (s *Skewed) SetRate(r float64) {
	if !(r > 0) || math.IsInf(r, 1) { // written so that NaN is refused
		panic(fmt.Sprintf("clock: rate %v, want finite and above 0", r))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.base.Now()
	s.at, s.baseAt, s.rate = s.readLocked(base), base, r
	s.rearmLocked(base)
}

// SetNoise makes every reading of Now wrong by a pseudo-random amount within
// -amplitude to +amplitude; zero ends it. The amount depends only on the seed
// and on how many readings were taken since SetNoise, so a run can be repeated.
// Timers have no noise. SetNoise panics if amplitude is negative.
func (s *Skewed) SetNoise(amplitude time.Duration, seed uint64) {
	if amplitude < 0 {
		panic(fmt.Sprintf("clock: noise amplitude %v, want at least 0", amplitude))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noise = noise{amplitude: amplitude, seed: seed}
}

// AfterFunc runs f in its own goroutine once d has passed on this clock.
func (s *Skewed) AfterFunc(d time.Duration, f func()) Timer {
	t := &skewedTimer{clock: s, f: f}
	t.Reset(d)
	return t
}

// readLocked returns this clock's reading at base's reading. For a given rate
// it never falls as base grows, on which waitLocked relies.
func (s *Skewed) readLocked(base time.Duration) time.Duration {
	return add(s.at, scale(add(base, -s.baseAt), s.rate))
}

// waitLocked returns how far base must advance, from its reading base on, until
// this clock reads due: zero if it does. It searches for the first such moment
// instead of dividing by the rate, because a quotient that is rounded down
// makes the timer early, and at a tiny rate early by hours.
func (s *Skewed) waitLocked(base, due time.Duration) time.Duration {
	read := func(after time.Duration) time.Duration { return s.readLocked(add(base, after)) }
	low, high := time.Duration(0), time.Duration(math.MaxInt64)
	// The quotient shows where to look: a few steps instead of 63.
	if near := scale(add(due, -read(0)), 1/s.rate); near > window && near < high-window {
		if read(near-window) < due {
			low = near - window
		}
		if read(near+window) >= due {
			high = near + window
		}
	}
	for low < high {
		middle := low + (high-low)/2
		if read(middle) >= due {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// window is by how much a quotient of usual times is wrong at most.
const window = 8 * time.Nanosecond

// rearmLocked runs the timers that a change of the clock made due, and adapts
// the others.
func (s *Skewed) rearmLocked(base time.Duration) {
	for e := s.pending.Front(); e != nil; {
		t := e.Value.(*skewedTimer)
		e = e.Next() // before t leaves the list
		if t.dueLocked(base) {
			go t.f()
		}
	}
}

// noise is a sequence of pseudo-random amounts; the zero value is silence.
type noise struct {
	amplitude time.Duration
	seed      uint64
	number    uint64 // of the next amount
}

func (n *noise) next() time.Duration {
	if n.amplitude == 0 {
		return 0
	}
	source := rand.New(rand.NewPCG(n.seed, n.number))
	n.number++
	return time.Duration(source.Uint64N(2*uint64(n.amplitude)+1)) - n.amplitude
}

// scale returns d x rate, rounded down, or the last Duration where that is too
// large for one.
func scale(d time.Duration, rate float64) time.Duration {
	if rate == 1 {
		return d // exact, also past the 53 bits of a float64
	}
	switch product := math.Floor(float64(d) * rate); {
	case product >= math.MaxInt64:
		return math.MaxInt64
	case product <= math.MinInt64:
		return math.MinInt64
	default:
		return time.Duration(product)
	}
}

// add returns a + b, or the last Duration in that direction.
func add(a, b time.Duration) time.Duration {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}
