package skew

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	measureTimeout = 5 * time.Second
	measurements   = 5 // of which the one with the shortest round trip counts
)

// Offset measures how far the clock of the Redis server at addr is ahead of this
// machine's, by the command TIME. The truth is within plusMinus, which is half a
// round trip and the microsecond that TIME counts in.
func Offset(addr string) (offset, plusMinus time.Duration, err error) {
	conn, err := net.DialTimeout("tcp", addr, measureTimeout)
	if err != nil {
		return 0, 0, fmt.Errorf("skew: %w", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(measureTimeout)); err != nil {
		return 0, 0, fmt.Errorf("skew: %w", err)
	}
	r := bufio.NewReader(conn)
	for i := range measurements {
		o, pm, err := measure(conn, r)
		if err != nil {
			return 0, 0, fmt.Errorf("skew: time of %s: %w", addr, err)
		}
		if i == 0 || pm < plusMinus {
			offset, plusMinus = o, pm
		}
	}
	return offset, plusMinus, nil
}

// measure takes both times from the wall clock. The other reading that Go's times
// have is of a moment later, by as much as the process was not running between.
func measure(w io.Writer, r *bufio.Reader) (offset, plusMinus time.Duration, err error) {
	before := wall()
	if _, err := io.WriteString(w, "*1\r\n$4\r\nTIME\r\n"); err != nil {
		return 0, 0, err
	}
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, 0, err
	}
	half := wall().Sub(before) / 2
	if half < 0 {
		return 0, 0, errors.New("this machine's clock went back meanwhile")
	}
	if line != "*2\r\n" {
		return 0, 0, fmt.Errorf("answered %q", line)
	}
	var seconds, micros, length int64
	if _, err := fmt.Fscanf(r, "$%d\r\n%d\r\n$%d\r\n%d\r\n", &length, &seconds, &length, &micros); err != nil {
		return 0, 0, err
	}
	return time.Unix(seconds, micros*1000).Sub(before.Add(half)), half + time.Microsecond, nil
}

// wall returns the time without its monotonic reading.
func wall() time.Time { return time.Now().Round(0) }
