// Package skew moves the wall clocks of server processes, each by itself and
// while it runs: steps, wrong rates, and a clock that jumps to and fro. A Redis
// server's keys expire by that clock.
//
//	c, err := skew.New(dir)
//	server, err := process.Start(ctx, process.Config{Env: c.Env()})
//	c.Jump(20 * time.Second)
//
// It works by a preloaded library, which a C compiler makes once a machine: on
// Linux, with 64 bits, for dynamically linked programs. Only what a program
// asks its C library for is moved, and never CLOCK_MONOTONIC. Whether a server's
// clock has really moved is what [Offset] measures.
package skew

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrUnavailable is the error of a machine where clocks cannot be moved, with the
// reason.
var ErrUnavailable = errors.New("skew: clocks cannot be moved here")

// controlEnv names the control file to the library.
const controlEnv = "REDLOCK_SKEW"

// maxOffset keeps clocks after 1970 and before what a Duration can hold.
const maxOffset = 20 * 365 * 24 * time.Hour

// A setting says that at the time anchor, in nanoseconds since 1970, the clock is
// offset nanoseconds ahead, and which part of a second it goes on every second.
type setting struct {
	offset, anchor int64
	rate           uint64 // the bits of a float64
}

// A page is what is in the control file; see shim/shim.c.
type page struct {
	current  uint64 // even if the first setting is in force
	_        [7]uint64
	settings [2]setting
}

// A Control is the clock of one process, over all its restarts; several processes
// may share it. The zero offset and the rate 1 are those of this machine's clock.
// Changes act at once and are never seen half. Methods are safe for concurrent
// use; after Close they do nothing. Use [New].
type Control struct {
	library string
	file    string
	unmap   func() error

	strobes sync.Mutex // held while a strobe is started or ended
	strobe  *strobe    // guarded by strobes

	mu   sync.Mutex
	page *page // guarded by mu; nil when closed
	// As the library has them: the wall clock's, not a monotonic time.
	offset time.Duration // guarded by mu: at anchor
	anchor time.Time     // guarded by mu
	rate   float64       // guarded by mu
	swing  time.Duration // guarded by mu: what a strobe adds
}

// New returns a control whose file is in the folder. The caller must call Close.
// On a machine that cannot move clocks the error is [ErrUnavailable].
func New(dir string) (*Control, error) {
	library, err := library()
	if err != nil {
		return nil, err
	}
	c := &Control{library: library, rate: 1, anchor: wall()}
	if err := c.create(dir); err != nil {
		return nil, fmt.Errorf("skew: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storeLocked()
	return c, nil
}

// create makes the file and maps it.
func (c *Control) create(dir string) error {
	f, err := os.CreateTemp(dir, "skew-")
	if err != nil {
		return err
	}
	defer f.Close()
	c.file = f.Name()
	// Servers in containers run as somebody else.
	err = errors.Join(f.Chmod(0o644), f.Truncate(int64(os.Getpagesize())))
	if err == nil {
		c.page, c.unmap, err = mapPage(f)
	}
	if err != nil {
		return errors.Join(err, os.Remove(c.file))
	}
	return nil
}

// Env returns what to add to the environment of a process.
func (c *Control) Env() []string {
	preload := c.library
	if others := os.Getenv("LD_PRELOAD"); others != "" {
		preload += ":" + others
	}
	return []string{"LD_PRELOAD=" + preload, controlEnv + "=" + c.file}
}

// Files returns the library and the control file, to be mounted into a container:
// read-only will do. There, set LD_PRELOAD and REDLOCK_SKEW to where they are.
func (c *Control) Files() (library, control string) { return c.library, c.file }

// Jump moves the clock by d, backward if d is negative.
func (c *Control) Jump(d time.Duration) {
	c.change(func(offset time.Duration) time.Duration { return offset + d }, nil)
}

// Rate makes the clock go r seconds a second from now on, without a jump. Zero
// stops it.
func (c *Control) Rate(r float64) { c.change(nil, &r) }

// Set makes the clock offset ahead of this machine's, from where it goes rate
// seconds a second.
func (c *Control) Set(offset time.Duration, rate float64) {
	c.change(func(time.Duration) time.Duration { return offset }, &rate)
}

// Reset makes the clock right, and ends a strobe.
func (c *Control) Reset() {
	c.Strobe(0, time.Hour)()
	c.Set(0, 1)
}

// Offset returns how far the clock is meant to be ahead now.
func (c *Control) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offsetLocked(wall()) + c.swing
}

func (c *Control) offsetLocked(now time.Time) time.Duration {
	return c.offset + time.Duration((c.rate-1)*float64(now.Sub(c.anchor)))
}

// change applies what is not nil. It panics on a rate that is negative or no
// number, and on an offset of more than 20 years.
func (c *Control) change(offset func(time.Duration) time.Duration, rate *float64) {
	if rate != nil && !(*rate >= 0 && *rate <= math.MaxInt32) {
		panic(fmt.Sprintf("skew: rate %v, want 0 or more", *rate))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := wall()
	next := c.offsetLocked(now)
	if offset != nil {
		next = offset(next)
	}
	if next < -maxOffset || next > maxOffset {
		panic(fmt.Sprintf("skew: offset %v, want %v at most", next, maxOffset))
	}
	c.offset, c.anchor = next, now
	if rate != nil {
		c.rate = *rate
	}
	c.storeLocked()
}

// storeLocked puts the setting in force: it is written where no process looks,
// and then one store makes them look there.
func (c *Control) storeLocked() {
	if c.page == nil {
		return
	}
	n := atomic.LoadUint64(&c.page.current) + 1
	s := &c.page.settings[n%2]
	atomic.StoreInt64(&s.offset, int64(c.offset+c.swing))
	atomic.StoreInt64(&s.anchor, c.anchor.UnixNano())
	atomic.StoreUint64(&s.rate, math.Float64bits(c.rate))
	atomic.StoreUint64(&c.page.current, n)
}

// Close ends a strobe and removes the file. The clocks of running processes keep
// the offset and rate that they have. Calling it again does nothing.
func (c *Control) Close() error {
	c.Strobe(0, time.Hour)()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == nil {
		return nil
	}
	c.page = nil
	if err := errors.Join(c.unmap(), os.Remove(c.file)); err != nil {
		return fmt.Errorf("skew: %w", err)
	}
	return nil
}

// String says how the clock is meant to go.
func (c *Control) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	b.WriteString(c.offsetLocked(wall()).String())
	if c.rate != 1 {
		fmt.Fprintf(&b, " at %vx", c.rate)
	}
	if c.swing != 0 {
		fmt.Fprintf(&b, " and %v", c.swing)
	}
	return b.String()
}
