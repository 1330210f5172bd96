package report

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A Status is how far a run is.
type Status struct {
	Done, Total int    // Total 0: it is not known
	Unit        string // "schedules", "s"
	Grants      int
	Faults      int
	Overlaps    int
	Now         Use // 0: not told
}

// quietly is how often progress is told where lines stay.
const quietly = 10 * time.Second

// Terminal reports whether f is a terminal, on which a line can be replaced.
func Terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// Progress tells on w how far a run is until stop is called, which tells it a
// last time: live, in one line that is replaced each second; else in a line
// each ten seconds. Read is called by another goroutine, never twice at once.
// What w does not take is lost: progress must not stop a run.
func Progress(w io.Writer, live bool, read func() Status) (stop func()) {
	began := time.Now()
	tell := func(last bool) {
		line := read().line(time.Since(began))
		switch {
		case !live:
			_, _ = fmt.Fprintln(w, line)
		case last:
			_, _ = fmt.Fprint(w, "\r\x1b[K"+line+"\n")
		default:
			_, _ = fmt.Fprint(w, "\r\x1b[K"+line)
		}
	}
	every := quietly
	if live {
		every = time.Second
	}
	ended, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				tell(false)
			case <-ended:
				tell(true)
				return
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() { close(ended) })
		<-told
	}
}

// line returns s as words, after a time of running.
func (s Status) line(ran time.Duration) string {
	line := thousands(s.Done)
	if s.Total > 0 {
		line += " of " + thousands(s.Total)
	}
	line += " " + s.Unit
	// Seconds pass by themselves.
	if seconds := ran.Seconds(); s.Unit != "s" && seconds >= 1 && s.Done > 0 {
		rate := float64(s.Done) / seconds
		line += fmt.Sprintf(", %s/s", digits(rate))
		if left := s.Total - s.Done; left > 0 {
			line += ", " + length(time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second)) + " left"
		}
	}
	line = fmt.Sprintf("%s: %s, %s, %s", line, plural(s.Grants, "grant"), plural(s.Faults, "fault"), plural(s.Overlaps, "overlap"))
	if s.Now != (Use{}) {
		line += fmt.Sprintf("; %s, %s", megabytes(s.Now.Heap), plural(s.Now.Goroutines, "goroutine"))
	}
	return line
}
