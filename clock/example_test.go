package clock_test

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock/clock"
)

// What does a program do when its clock jumps by an hour? Its timers run.
func ExampleSkewed() {
	skewed := clock.NewSkewed(clock.System())
	expired := make(chan struct{})
	skewed.AfterFunc(30*time.Minute, func() { close(expired) })

	skewed.Step(time.Hour)

	<-expired
	fmt.Println("expired; ahead by", skewed.Offset())
	// Output: expired; ahead by 1h0m0s
}
