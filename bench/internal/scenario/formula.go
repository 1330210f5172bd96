package scenario

// A Bill is how many commands something costs on all nodes together.
type Bill struct{ Acquire, Extend, Release int }

// Total returns the sum.
func (b Bill) Total() int { return b.Acquire + b.Extend + b.Release }

// Times returns the bill for so many.
func (b Bill) Times(n int) Bill { return Bill{n * b.Acquire, n * b.Extend, n * b.Release} }

// PairBill predicts what one lock costs that is acquired and released on n
// nodes: one command a node for each.
func PairBill(n int) Bill { return Bill{Acquire: n, Release: n} }

// JobBill predicts what one lock costs that is extended so many times.
func JobBill(n, extensions int) Bill {
	return Bill{Acquire: n, Extend: n * extensions, Release: n}
}

// FailedBill predicts what one attempt costs that somebody else's lock makes
// fail: every node is asked, and the attempt undone on every node.
func FailedBill(n int) Bill { return Bill{Acquire: n, Release: n} }

// AttemptsBill predicts the most that attempts can cost of which some won and
// were released.
func AttemptsBill(n, attempts int) Bill { return PairBill(n).Times(attempts) }

// Extensions returns how often a lock is extended that is held for so long and
// extended every so often, counting in any unit: not at the beginning, and not
// at the end.
func Extensions(hold, every int) int { return max(hold-1, 0) / every }
