package check

import (
	"cmp"
	"slices"
	"time"
)

// The names of the checks, as findings carry them.
const (
	CheckOverlap   = "belief overlap"
	CheckPorcupine = "lock model"
	CheckStore     = "store"
	CheckLiveness  = "liveness"
	CheckSkip      = "skip"
	CheckHygiene   = "hygiene"
	CheckRate      = "grant rate"
	CheckLoss      = "loss"
)

// A Finding is one thing that must not be, or in Report.Notes one that is worth
// knowing.
type Finding struct {
	Check   string        `json:"check"`          // one of the constants above
	Name    string        `json:"name,omitempty"` // of the lock
	From    time.Duration `json:"from"`           // true time since the run began
	To      time.Duration `json:"to"`
	Clients []int         `json:"clients,omitempty"`
	Tokens  []string      `json:"tokens,omitempty"` // of Clients, in the same order, where they are known
	Text    string        `json:"text"`
}

// MaxFindings is how many findings of one check are described. All are counted:
// one broken quorum makes as many overlaps as a run has pairs of grants.
const MaxFindings = 100

// Findings are those of one check.
type Findings struct {
	Count int       // of all
	List  []Finding // the first MaxFindings, by time
}

// add counts a finding; describe makes it, if there is still room.
func (f *Findings) add(describe func() Finding) {
	f.Count++
	if len(f.List) < MaxFindings {
		f.List = append(f.List, describe())
	}
}

func (f *Findings) merge(other Findings) {
	f.Count += other.Count
	f.List = append(f.List, other.List...)
	f.sort()
	f.List = f.List[:min(len(f.List), MaxFindings)]
}

func (f *Findings) sort() {
	slices.SortStableFunc(f.List, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}

// short shortens a token for people.
func short(token string) string { return token[:min(len(token), 8)] }
