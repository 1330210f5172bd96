package redlock

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quorumlock/redlock/clock"
)

// Limits of arguments and options. A limit on everything keeps a mistake from
// growing into memory or into years.
const (
	MaxName  = 1024                      // bytes of a lock's name, without KeyPrefix
	MaxTTL   = 10 * 365 * 24 * time.Hour // of a TTL
	MaxOwner = 200                       // bytes of an owner
	MaxNodes = 64                        // nodes of a client
)

// Options tune a [Client]. The zero value, like nil, means all defaults. The
// client copies them.
type Options struct {
	// NodeTimeout bounds the wait for the answer of a node to one command, and
	// with it every round: acquiring, extending and releasing take at most
	// this long each, whatever the nodes do. It should be a few round trips,
	// and small against every TTL in use: the Redlock page proposes 5-50 ms.
	// At least 1 ms. Default 50 ms.
	NodeTimeout time.Duration

	// ConnectTimeout bounds making a connection: dial, TLS, HELLO, AUTH,
	// SELECT. Connecting goes on apart from attempts, so it may be far longer
	// than NodeTimeout, and must not be shorter. Default 5 s, or NodeTimeout
	// if that is more.
	ConnectTimeout time.Duration

	// Drift is the allowance for clock rates; nil means [DefaultDrift]. All
	// clients of one lock may differ in it: each guards only itself.
	Drift *Drift

	// StopMargin is the time before its end at which a lock counts as lost, so
	// that its holder can still stop while nobody else can get in. An
	// acquisition with no more validity left than this has failed. Default: a
	// tenth of the TTL, at most 1 s.
	StopMargin time.Duration

	// RetryMin and RetryMax bound the random wait of Acquire between attempts:
	// uniform from RetryMin to a window that doubles from 2 * RetryMin to
	// RetryMax, and is RetryMax at once when time-outs have left no quorum
	// twice in a row. RetryMin is at least 1 ms. Defaults 10 ms, and 1 s or
	// twice RetryMin if that is more. RetryMax also bounds the waits of
	// TryAcquire when it settles a split.
	RetryMin, RetryMax time.Duration

	// Attempts is how often Acquire tries, each time as TryAcquire does, before
	// it gives up with the last attempt's error; 0 means until ctx ends.
	Attempts int

	// KeyPrefix is put before every name to make the key. All clients of a
	// lock need the same. Note that prefix "a:" with name "b" and prefix "a"
	// with name ":b" are the same key. Up to MaxName bytes. Default "": the
	// same keys as other Redlock clients use.
	KeyPrefix string

	// Owner says who holds, for people; it is part of the value in Redis and
	// decides nothing. Up to MaxOwner bytes of printable text. Default
	// host:pid.
	Owner string

	// KeepAlive is what [Client.Do] and [Client.TryDo] use, and
	// [Lock.KeepAlive] for fields that are zero.
	KeepAlive KeepAlive

	// Clock measures elapsed time. Default: [clock.System].
	Clock clock.Clock

	// Trace is told what happens; nil means nobody is.
	Trace *Trace
}

// Validate returns an error that wraps [ErrInvalid] and names the field, its
// value and the rule that it breaks, or nil. Zero fields stand for their
// defaults.
func (o *Options) Validate() error {
	_, err := o.complete()
	return err
}

// complete returns o with its defaults filled in, or why it cannot be used.
func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	setDefault(&c.NodeTimeout, 50*time.Millisecond)
	setDefault(&c.ConnectTimeout, max(5*time.Second, c.NodeTimeout))
	setDefault(&c.RetryMin, 10*time.Millisecond)
	setDefault(&c.RetryMax, max(time.Second, 2*c.RetryMin))
	if c.Drift == nil {
		c.Drift = &DefaultDrift
	}
	drift := *c.Drift // the caller may change his
	c.Drift = &drift
	if c.Owner == "" {
		c.Owner = defaultOwner()
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.Trace == nil {
		c.Trace = &Trace{}
	}
	return c, c.check()
}

func setDefault(field *time.Duration, d time.Duration) {
	if *field == 0 {
		*field = d
	}
}

func defaultOwner() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown-host"
	}
	pid := ":" + strconv.Itoa(os.Getpid())
	return host[:min(len(host), MaxOwner-len(pid))] + pid
}

func (o *Options) check() error {
	switch {
	case o.NodeTimeout < time.Millisecond:
		return invalidOption("NodeTimeout", o.NodeTimeout, "at least 1ms")
	case o.ConnectTimeout < o.NodeTimeout:
		return invalidOption("ConnectTimeout", o.ConnectTimeout, fmt.Sprintf("at least NodeTimeout, which is %v", o.NodeTimeout))
	case o.StopMargin < 0:
		return invalidOption("StopMargin", o.StopMargin, "at least 0")
	case o.RetryMin < time.Millisecond:
		return invalidOption("RetryMin", o.RetryMin, "at least 1ms")
	case o.RetryMax < o.RetryMin:
		return invalidOption("RetryMax", o.RetryMax, fmt.Sprintf("at least RetryMin, which is %v", o.RetryMin))
	case o.Attempts < 0:
		return invalidOption("Attempts", o.Attempts, "at least 0")
	case len(o.KeyPrefix) > MaxName:
		return invalidOption("KeyPrefix", quoteName(o.KeyPrefix), fmt.Sprintf("at most %d bytes", MaxName))
	case len(o.Owner) > MaxOwner:
		return invalidOption("Owner", quoteName(o.Owner), fmt.Sprintf("at most %d bytes", MaxOwner))
	case !printable(o.Owner):
		return invalidOption("Owner", quoteName(o.Owner), "printable UTF-8 text")
	}
	if err := o.Drift.Validate(); err != nil {
		return fmt.Errorf("redlock: %w", err)
	}
	return o.KeepAlive.check()
}

func invalidOption(field string, value any, rule string) error {
	return fmt.Errorf("redlock: %w: Options.%s is %v, want %s", ErrInvalid, field, value, rule)
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// margin returns the StopMargin for a TTL.
func (o *Options) margin(ttl time.Duration) time.Duration {
	if o.StopMargin > 0 {
		return o.StopMargin
	}
	return min(ttl/10, time.Second)
}

// A lease is a checked TTL: what is sent and what is kept back.
type lease struct {
	ttl    time.Duration // as sent: whole milliseconds
	asked  time.Duration // what keep-alive goes on with: ttl, unless a cap cut it
	drift  time.Duration
	margin time.Duration
}

// lease checks a TTL and rounds it down to whole milliseconds, which is all
// that a node takes: rounding up would promise time that the caller did not ask
// the nodes for.
func (o *Options) lease(ttl time.Duration) (lease, error) {
	if ttl < time.Millisecond || ttl > MaxTTL {
		hint := ""
		if ttl > 0 && ttl < time.Microsecond {
			hint = "; a bare number is nanoseconds: write 30*time.Second"
		}
		return lease{}, fmt.Errorf("redlock: %w: TTL %v, want 1ms to %v%s", ErrInvalid, ttl, MaxTTL, hint)
	}
	l := lease{ttl: ttl.Truncate(time.Millisecond)}
	l.asked = l.ttl
	var err error
	if l.drift, err = o.Drift.For(l.ttl); err != nil {
		return lease{}, fmt.Errorf("redlock: %w", err)
	}
	l.margin = o.margin(l.ttl)
	if l.ttl <= l.drift+l.margin {
		return lease{}, fmt.Errorf("redlock: %w: TTL %v, want more than drift %v plus StopMargin %v", ErrInvalid, ttl, l.drift, l.margin)
	}
	return l, nil
}

func checkName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("redlock: %w: name of %d bytes, want 1 to %d", ErrInvalid, len(name), MaxName)
	}
	return nil
}
