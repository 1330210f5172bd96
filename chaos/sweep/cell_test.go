package sweep_test

import (
	"fmt"
	"slices"
	"strings"
)

// A cell is one operation that meets one fault.
type cell struct {
	op      *operation
	fault   *fault
	targets targets
	n       int // nodes
	variant variant
}

// An operation is what a client does.
type operation struct {
	name     string
	variants []variant // the first is crossed with everything
	play     func(r *run)
}

// A variant says on which commands a fault acts, how often, and how long.
type variant struct {
	name     string
	commands []string // none: all
	first    bool     // on one command only
	mid      bool     // it is removed as soon as it has acted, in the middle of the operation
}

var (
	onSet    = []string{"SET"}
	onScript = []string{"EVALSHA"}
)

// targets are the nodes that a fault acts on.
type targets struct {
	name  string // one, minority, quorum, all
	which string // first or last of the client's nodes
	nodes []int
}

// targetsOf returns all target sets of n nodes.
func targetsOf(n int) []targets {
	need := majority(n)
	sizes := []struct {
		name string
		size int
	}{{"one", 1}, {"minority", n - need}, {"quorum", need}, {"all", n}}
	var all []targets
	for i, s := range sizes {
		if i > 0 && s.size == sizes[i-1].size {
			continue // a minority of three is one
		}
		for _, which := range []string{"first", "last"} {
			t := targets{name: s.name, which: which}
			for node := range s.size {
				if which == "last" {
					node = n - s.size + node
				}
				t.nodes = append(t.nodes, node)
			}
			if s.size < n || which == "first" {
				all = append(all, t)
			}
		}
	}
	return all
}

func (t *targets) has(node int) bool { return slices.Contains(t.nodes, node) }

// String returns the cell's coordinates.
func (c *cell) String() string {
	return strings.Join([]string{
		c.op.name, c.fault.name, c.targets.name, fmt.Sprint(c.n), c.targets.which, c.variant.name,
	}, "/")
}

// matches reports whether the coordinates begin with those of the pattern, in
// which "*" stands for any.
func (c *cell) matches(pattern string) bool {
	coordinates := strings.Split(c.String(), "/")
	parts := strings.Split(pattern, "/")
	if len(parts) > len(coordinates) {
		return false
	}
	for i, part := range parts {
		if part != "*" && part != coordinates[i] {
			return false
		}
	}
	return true
}

// majority is not package quorum's, which is tested here, too.
func majority(n int) int { return n/2 + 1 }

// need is how many nodes must agree, spare how many may fail.
func (c *cell) need() int  { return majority(c.n) }
func (c *cell) spare() int { return c.n - c.need() }

// meets returns what the fault does to the operation's first command of this
// name.
func (c *cell) meets(command string) effect {
	if c.variant.commands != nil && !slices.Contains(c.variant.commands, command) && !c.fault.ofPort() {
		return harmless
	}
	// The client sends the script's source at once, and that only a fault on
	// all commands meets.
	if c.fault.Reply == "NOSCRIPT" && command != "SET" && (c.variant.commands != nil || c.variant.first) {
		return harmless
	}
	return c.fault.command
}

// decisive reports whether so many nodes meet the effect that no quorum is left.
func (c *cell) decisive(e effect) bool { return e != harmless && len(c.targets.nodes) > c.spare() }

// possible reports whether there is such a cell.
func (c *cell) possible() bool {
	switch {
	case c.fault.ofPort() && c.variant.first: // it acts on no command
		return false
	case c.op.name == "connect" && c.fault.sever: // nothing is open
		return false
	case c.op.name == "heal" && c.variant.name == "apart" && c.targets.name == "all": // nobody is left
		return false
	case c.op.name == "connect" && c.variant.first && c.fault.slowOnlyInBulk(): // HELLO is short
		return false
	case c.variant.name == "cancel": // which needs something to wait for
		return c.decisive(c.meets("SET")) && c.fault.command == silent
	}
	return true
}

// basic reports whether the cell is one of those that are played everywhere.
func (c *cell) basic() bool {
	return c.n == 3 && c.variant.name == c.op.variants[0].name && c.targets.which == "first" && c.targets.name != "all"
}

// usual reports whether the cell is one of those that are always played on
// redis-server: the first variant of everything, and the others where they matter
// most.
func (c *cell) usual() bool {
	if c.variant.name == c.op.variants[0].name {
		return c.targets.which == "first" || c.targets.name == "quorum"
	}
	return c.n == 3 && c.targets.name == "quorum" && c.targets.which == "first"
}

// cells returns all there are.
func cells() []*cell {
	var all []*cell
	for _, op := range operations {
		for i := range faults {
			for _, n := range []int{3, 5} {
				for _, t := range targetsOf(n) {
					for _, v := range op.variants {
						c := &cell{op: op, fault: &faults[i], targets: t, n: n, variant: v}
						if c.possible() {
							all = append(all, c)
						}
					}
				}
			}
		}
	}
	return all
}
