package clock

import (
	"testing"
	"time"
)

// asked returns a watch, what the kernel says to it, and how often it was asked.
func asked() (w *watch, slept *time.Duration, times *int) {
	slept, times = new(time.Duration), new(int)
	w = &watch{start: time.Now(), ask: func() time.Duration { *times++; return *slept }}
	return w, slept, times
}

func TestTheKernelIsAskedOnceAWhile(t *testing.T) {
	w, slept, times := asked()
	now := w.start.Add(time.Minute) // so that no look takes long, whatever this machine does
	for range 1000 {
		now = now.Add(askEvery/100 + 1)
		w.suspended(now)
	}
	if *times < 10 || *times > 11 {
		t.Errorf("asked %d times in ten times %v, want 10 or 11", *times, askEvery)
	}
	*slept = time.Hour
	equal(t, time.Hour, w.suspended(now.Add(askEvery)))
}

// A suspend moves the wall clock alone, by its length.
func TestTheKernelIsAskedAtOnceWhenTheWallClockMoves(t *testing.T) {
	for _, d := range []time.Duration{time.Second, time.Hour, -time.Second} {
		w, slept, times := asked()
		now := w.start.Add(time.Minute)
		w.suspended(now)
		equal(t, 1, *times)
		*slept = 3 * time.Second
		now = now.Add(time.Microsecond)
		equal(t, 0, w.suspended(now)) // nothing has moved
		equal(t, 1, *times)

		now = moveWall(now.Add(time.Microsecond), d)
		equal(t, 3*time.Second, w.suspended(now))
		equal(t, 2, *times)
		equal(t, 3*time.Second, w.suspended(now.Add(time.Microsecond)))
		equal(t, 2, *times)
	}
}

// Between the kernel's two clocks the process may lose its core: what it hears
// then is too little, and must not hide a suspend from the readings that follow.
func TestALookThatTookLongIsNotRemembered(t *testing.T) {
	w, slept, _ := asked()
	now := w.start.Add(-time.Second) // the look ends a second after it began
	equal(t, 0, w.suspended(now))
	*slept = time.Hour
	equal(t, time.Hour, w.suspended(now))
}

func BenchmarkSystemNow(b *testing.B) {
	c := System()
	for b.Loop() {
		c.Now()
	}
}
