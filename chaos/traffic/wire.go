package traffic

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// What a client that is a process of its own and the program that runs the plan
// tell each other: lines of JSON, each written by one call before the writer
// goes on, so that of a process that is killed nothing is lost but what it had
// not said yet.

// A duty is the first line that the process reads: what it is.
type duty struct {
	Client   int               `json:"client"`
	Life     int               `json:"life"`
	Origin   moment            `json:"origin"` // when the true clock read zero
	Calls    int               `json:"calls"`  // numbers of calls that are used up
	Clients  int               `json:"clients"`
	Rate     float64           `json:"rate"` // of its clock
	Contacts []cluster.Contact `json:"contacts"`
}

// An order is each line after it. One of its fields is set; Number is that of
// what is to be confirmed, or of the question that Version answers.
type order struct {
	Number  int   `json:"number,omitempty"`
	Answer  bool  `json:"answer,omitempty"`
	Version int   `json:"version,omitempty"`
	Work    *work `json:"work,omitempty"` // begin a round
	Over    bool  `json:"over,omitempty"` // end it: release everything
	Shut    bool  `json:"shut,omitempty"` // the gate
	Open    bool  `json:"open,omitempty"`
	Turn    *turn `json:"turn,omitempty"` // its clock
	Bye     bool  `json:"bye,omitempty"`  // shut down and end
}

// work is what a round consists of.
type work struct {
	Plan *plan.Plan `json:"plan"`
	Seed uint64     `json:"seed"`
}

// A turn sets a client's clock, or its rate.
type turn struct {
	By   time.Duration `json:"by,omitempty"`
	Rate float64       `json:"rate,omitempty"`
}

// A message is a line from the process. One of its fields is set, and Attempts,
// which counts all attempts of this life so far.
type message struct {
	Attempts int64          `json:"attempts,omitempty"`
	Event    *history.Event `json:"event,omitempty"` // with its time
	Ask      *question      `json:"ask,omitempty"`
	Done     int            `json:"done,omitempty"`   // the order of that Number was carried out
	Caught   bool           `json:"caught,omitempty"` // a worker that has looked at its lock and is about to write waits at the gate
	Health   *Health        `json:"health,omitempty"` // with Done of Over
}

// A question is for the store, which all processes share.
type question struct {
	Number int           `json:"number"`
	Write  bool          `json:"write,omitempty"`
	Name   string        `json:"name"`
	Token  string        `json:"token"`
	Based  int           `json:"based,omitempty"`
	Until  time.Duration `json:"until,omitempty"`
	Looked time.Duration `json:"looked,omitempty"`
}

// A line writes values as lines, one call each.
type line struct {
	mu sync.Mutex
	to io.Writer // guarded by mu
}

func (l *line) say(v any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sayLocked(v)
}

func (l *line) sayLocked(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("traffic: %v", err)) // plain data
	}
	_, err = l.to.Write(append(data, '\n'))
	return err
}
