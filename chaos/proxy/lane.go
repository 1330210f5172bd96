package proxy

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"time"
)

// Sizes in bytes.
const (
	bufferSize = 64 << 10 // of one read or write
	laneSize   = 16 << 20 // what may wait in a lane before it takes no more
	maxPiece   = 16 << 10 // of what goes through at once under Bandwidth
	overhead   = 256      // what a parcel costs beside its bytes
)

// errEnded is the error of something that its connection's end cut short.
var errEnded = errors.New("proxy: the connection has ended")

type operation int

const (
	deliver operation = iota // the bytes
	connect                  // to the server
	finish                   // say that nothing follows
	abort                    // reset the connection
)

// A parcel is something to be done at the end of a lane.
type parcel struct {
	operation
	raw []byte
	effect

	late   bool       // must be delivered whatever becomes of its connection
	before []*request // what a connection of its own has to begin with
}

// wait returns when the parcel may be delivered, or false when done is closed.
func (p *parcel) wait(done <-chan struct{}) bool {
	for _, gate := range p.gates {
		select {
		case <-gate:
		case <-done:
			return false
		}
	}
	return sleepUntil(p.due, done)
}

// sleepUntil returns at the time t, or false when done is closed.
func sleepUntil(t time.Time, done <-chan struct{}) bool {
	if t.IsZero() {
		return true
	}
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}

// A lane is one direction of a connection: parcels in order, put in by readers
// and taken out by the writer.
type lane struct {
	filled chan struct{} // tells the writer
	freed  chan struct{} // tells the reader

	mu      sync.Mutex
	parcels []parcel // guarded by mu
	size    int      // guarded by mu
	told    bool     // guarded by mu: the writer knows of all parcels
	closed  bool     // guarded by mu
}

func newLane() *lane {
	return &lane{filled: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // has been told already, and looks at everything there is
	}
}

// room waits until the lane can take more. It is asked before reading, so that
// put never blocks.
func (l *lane) room(done <-chan struct{}) bool {
	for {
		if l.ample() {
			return true
		}
		l.wake()
		select {
		case <-l.freed:
		case <-done:
			return false
		}
	}
}

func (l *lane) ample() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size <= laneSize
}

// put reports whether the lane took the parcel, which it does until it is
// closed. The writer learns of it by the next wake.
func (l *lane) put(p parcel) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.parcels = append(l.parcels, p)
	l.size += len(p.raw) + overhead
	l.told = false
	return true
}

// wake tells the writer of what was put.
func (l *lane) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.told {
		l.told = true
		signal(l.filled)
	}
}

// take returns the next parcel when it is due, or false when done is closed;
// then the parcel stays.
func (l *lane) take(done <-chan struct{}) (parcel, bool) {
	for {
		if p, ok := l.first(); ok {
			if !p.wait(done) {
				return parcel{}, false
			}
			l.drop()
			return p, true
		}
		select {
		case <-l.filled:
		case <-done:
			return parcel{}, false
		}
	}
}

func (l *lane) first() (parcel, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.parcels) == 0 {
		return parcel{}, false
	}
	return l.parcels[0], true
}

func (l *lane) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size -= len(l.parcels[0].raw) + overhead
	l.parcels[0] = parcel{} // its bytes can be freed
	l.parcels = l.parcels[1:]
	signal(l.freed)
}

// ready reports whether take would not wait.
func (l *lane) ready() bool {
	p, ok := l.first()
	return ok && len(p.gates) == 0 && p.due.IsZero()
}

// close returns what is left. The lane takes nothing any more.
func (l *lane) close() []parcel {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.parcels
	l.parcels, l.size, l.closed = nil, 0, true
	signal(l.freed)
	return left
}

// A writer is the end of a lane.
type writer struct {
	w    *bufio.Writer
	done <-chan struct{}
	free time.Time // when the bytes sent so far are through, under Bandwidth
}

func newWriter(w io.Writer, done <-chan struct{}) *writer {
	return &writer{w: bufio.NewWriterSize(w, bufferSize), done: done}
}

// write writes the parcel's bytes as slowly as the network lets it. They may
// wait for a flush.
func (w *writer) write(p *parcel) error {
	if p.rate == 0 && p.size == 0 {
		_, err := w.w.Write(p.raw)
		return err
	}
	if err := w.w.Flush(); err != nil {
		return err
	}
	for i, rest := uint64(0), p.raw; len(rest) > 0; i++ {
		n := min(len(rest), p.piece())
		if !w.pace(p, i, n) {
			return errEnded
		}
		_, err := w.w.Write(rest[:n])
		if err := errors.Join(err, w.w.Flush()); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// piece returns how many bytes are sent at a time.
func (p *parcel) piece() int {
	n := maxPiece
	if p.rate > 0 {
		n = min(n, max(1, p.rate/100))
	}
	if p.size > 0 {
		n = min(n, p.size)
	}
	return n
}

// pace waits until n bytes, piece i of the parcel, may be sent.
func (w *writer) pace(p *parcel, i uint64, n int) bool {
	if p.size > 0 && i > 0 {
		if !sleepUntil(time.Now().Add(p.pause.with(i).between(p.min, p.max)), w.done) {
			return false
		}
	}
	if p.rate > 0 {
		// Counted from when the last bytes were through, so that late timers
		// do not add up.
		if now := time.Now(); w.free.Before(now) {
			w.free = now
		}
		w.free = w.free.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
		return sleepUntil(w.free, w.done)
	}
	return true
}
