package redlocktest

import (
	"time"

	"github.com/quorumlock/redlock"
)

// A Record is what became of one command that arrived at a [Node].
type Record struct {
	Op         redlock.Op
	Key, Value string
	TTL        time.Duration

	// Answer is what the node found and did, whether anybody was told or not.
	// It is zero as long as the command was not carried out: because the node
	// hangs, because the command is late, or for ever because it was lost.
	Answer redlock.Answer

	Arrived time.Time // sent, and neither refused nor withdrawn
	Done    time.Time // carried out; zero if it was not
}

// maxRecords bounds the memory of a node's past.
const maxRecords = 100_000

// A journal holds the last records and counts all. A record is found by its
// number, from zero.
type journal struct {
	records []Record // number i is at i % maxRecords
	next    int      // number of the next record
	count   map[redlock.Op]int
}

func (j *journal) add(r Record) (number int) {
	if j.count == nil {
		j.count = make(map[redlock.Op]int)
	}
	j.count[r.Op]++
	if len(j.records) < maxRecords {
		j.records = append(j.records, r)
	} else {
		j.records[j.next%maxRecords] = r
	}
	j.next++
	return j.next - 1
}

// done completes a record if it is still held.
func (j *journal) done(number int, a redlock.Answer, at time.Time) {
	if j.next-number > maxRecords {
		return
	}
	r := &j.records[number%maxRecords]
	r.Answer, r.Done = a, at
}

// Commands returns the last 100,000 commands in the order of their arrival.
// Those that were refused or withdrawn never arrived.
func (n *Node) Commands() []Record {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := 0 // of the oldest
	if n.log.next > maxRecords {
		first = n.log.next % maxRecords
	}
	records := make([]Record, 0, len(n.log.records))
	records = append(records, n.log.records[first:]...)
	return append(records, n.log.records[:first]...)
}

// Count returns how many commands with this operation have arrived.
func (n *Node) Count(op redlock.Op) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.count[op]
}
