package skew

import (
	"fmt"
	"sync"
	"time"
)

// A strobe is a goroutine that moves a clock to and fro.
type strobe struct {
	quit  chan struct{}
	ended sync.WaitGroup
}

// Strobe moves the clock by amplitude after every period, and back after the
// next, until stop is called, which moves it back and returns when it is done.
// Jumps and rates add to it. There is one strobe at a time: the next ends it, as
// do Reset and Close. Strobe panics if period is not positive.
func (c *Control) Strobe(amplitude, period time.Duration) (stop func()) {
	if period <= 0 {
		panic(fmt.Sprintf("skew: strobe with period %v", period))
	}
	s := &strobe{quit: make(chan struct{})}
	c.strobes.Lock()
	defer c.strobes.Unlock()
	c.endStrobeLocked()
	c.strobe = s
	s.ended.Go(func() { s.run(c, amplitude, period) })
	return func() {
		c.strobes.Lock()
		defer c.strobes.Unlock()
		if c.strobe == s {
			c.endStrobeLocked()
		}
	}
}

// endStrobeLocked needs c.strobes held.
func (c *Control) endStrobeLocked() {
	if s := c.strobe; s != nil {
		close(s.quit)
		s.ended.Wait()
		c.strobe = nil
	}
}

func (s *strobe) run(c *Control, amplitude, period time.Duration) {
	defer c.setSwing(0)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for away := true; ; away = !away {
		select {
		case <-ticker.C:
		case <-s.quit:
			return
		}
		if away {
			c.setSwing(amplitude)
		} else {
			c.setSwing(0)
		}
	}
}

func (c *Control) setSwing(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d != c.swing {
		c.swing = d
		c.storeLocked()
	}
}
