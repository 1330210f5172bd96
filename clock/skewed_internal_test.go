package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSkewedForgetsTimersThatRanOrWereStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := NewSkewed(nil) // to see that nothing is left there either
		s := NewSkewed(base)
		pending := func() int {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			base.mu.Lock()
			defer base.mu.Unlock()
			equal(t, s.pending.Len(), base.pending.Len())
			return s.pending.Len()
		}
		for i := range 100 {
			timer := s.AfterFunc(time.Minute, func() {})
			timer.Reset(time.Duration(i%3) * time.Hour) // a third runs at once
			if i%3 == 1 {
				timer.Stop()
				timer.Stop()
			}
		}
		equal(t, 33, pending())
		time.Sleep(3 * time.Hour)
		equal(t, 0, pending())

		s.AfterFunc(time.Hour, func() {})
		s.Step(2 * time.Hour)
		equal(t, 0, pending())
	})
}
