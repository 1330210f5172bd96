package fleet

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// Stats is what a node counted.
type Stats struct {
	// Calls is how often each command was carried out, those of scripts
	// included: INFO commandstats.
	Calls map[string]int64

	// BytesIn and BytesOut came in and went out, what this package moved itself
	// left out. Not counted on embedded nodes.
	BytesIn, BytesOut int64

	// Clients is how many connections there are, the looking one left out.
	Clients int64
}

// Locking returns how often the three commands were carried out of which locks
// are made: set, evalsha, eval.
func (s Stats) Locking() int64 { return s.Calls["set"] + s.Scripts() }

// Scripts returns how often scripts were called for.
func (s Stats) Scripts() int64 { return s.Calls["evalsha"] + s.Calls["eval"] }

// parseInfo reads the reply to INFO.
func parseInfo(info string) (Stats, error) {
	s := Stats{Calls: map[string]int64{}}
	numbers := map[string]*int64{
		"total_net_input_bytes":  &s.BytesIn,
		"total_net_output_bytes": &s.BytesOut,
		"connected_clients":      &s.Clients,
	}
	lines := bufio.NewScanner(strings.NewReader(info))
	for lines.Scan() {
		field, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			continue // a heading
		}
		var err error
		if name, isCall := strings.CutPrefix(field, "cmdstat_"); isCall {
			s.Calls[name], err = parseCalls(value)
		} else if n := numbers[field]; n != nil {
			*n, err = strconv.ParseInt(value, 10, 64)
		}
		if err != nil {
			return s, fmt.Errorf("fleet: line of INFO %q: %w", lines.Text(), err)
		}
	}
	return s, lines.Err()
}

// parseCalls reads "calls=5,usec=120,...".
func parseCalls(value string) (int64, error) {
	for pair := range strings.SplitSeq(value, ",") {
		if n, ok := strings.CutPrefix(pair, "calls="); ok {
			return strconv.ParseInt(n, 10, 64)
		}
	}
	return 0, fmt.Errorf("no calls=")
}
