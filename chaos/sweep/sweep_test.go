package sweep_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	cellFlag     = flag.String("sweep.cell", "", "plays only the cells whose coordinates begin so; * stands for any")
	allFlag      = flag.Bool("sweep.all", false, "plays every cell there is")
	parallelFlag = flag.Int("sweep.parallel", 96, "how many cells are played at once: most of them wait")
)

// raced says that the race detector is on, with which a cell takes several times
// as long.
var raced bool

var operations = []*operation{acquire, extend, heal, release, undo, keepAlive, connect}

// Every operation meets every fault on every set of nodes, and keeps its promise.
func TestSweep(t *testing.T) {
	played := false
	for _, l := range layers {
		t.Run(l.name, func(t *testing.T) {
			if played && !*allFlag {
				t.Skip("the same cells, and more, were played on redis-server")
			}
			newFleet(t, l).sweep(t, chosen(l))
			played = true
		})
	}
}

// chosen returns the cells to be played.
func chosen(l layer) []*cell {
	return slices.DeleteFunc(cells(), func(c *cell) bool {
		switch {
		case *cellFlag != "":
			return !c.matches(*cellFlag)
		case testing.Short(), raced, l.name == "embedded":
			return !c.basic()
		case *allFlag:
			return false
		default:
			return !c.usual()
		}
	})
}

// A cell is played again if the machine was too busy for it: then it says nothing
// about the lock.
const (
	busy        = nodeTimeout / 4 // lost while the cell was played
	maxPlays    = 3
	maxViolated = 50 // cells; the rest would tell nothing new
)

// sweep plays the cells, many at a time.
func (f *fleet) sweep(t *testing.T, cells []*cell) {
	start := time.Now()
	before := runtime.NumGoroutine()
	todo := make(chan *cell)
	var violated, repeated atomic.Int64
	var players sync.WaitGroup
	for range min(*parallelFlag, len(cells)) {
		players.Go(func() {
			for c := range todo {
				for plays := 1; ; plays++ {
					lost := machine.lost.Load()
					failures := c.play(f)
					if len(failures) == 0 {
						break
					}
					report := fmt.Sprintf("cell %s\n\t%s", c, strings.Join(failures, "\n\t"))
					if time.Duration(machine.lost.Load()-lost) < busy || plays == maxPlays {
						violated.Add(1)
						t.Error(report)
						break
					}
					repeated.Add(1)
					t.Logf("played again on a busy machine: %s", report)
				}
			}
		})
	}
	// In any order, but always the same: those that take long are spread.
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(cells))
	played := cells[:0:0]
	for _, i := range order {
		if violated.Load() >= maxViolated {
			t.Log("too many violations: the rest is not played")
			break
		}
		todo <- cells[i]
		played = append(played, cells[i])
	}
	close(todo)
	players.Wait()

	if !until(nodeTimeout+second+allowance, func() bool { return runtime.NumGoroutine() <= before }) {
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		t.Errorf("%d goroutines, had %d before\n%s", runtime.NumGoroutine(), before, stacks.String())
	}
	if f.sawImmortal("") {
		t.Errorf("keys without a TTL were seen: %q", f.immortal)
	}
	if raced || testing.Short() {
		t.Log("a smaller part: -short, or the race detector")
	}
	t.Logf("%d cells in %v, %d with violations, %d played again; the machine lost %v\n%s",
		len(played), time.Since(start).Round(time.Millisecond), violated.Load(), repeated.Load(),
		time.Duration(machine.lost.Load()).Round(time.Millisecond), table(played))
}

// table says how many cells each operation and fault has.
func table(cells []*cell) string {
	counts := map[[2]string]int{}
	for _, c := range cells {
		counts[[2]string{c.op.name, c.fault.name}]++
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, op := range operations {
		fmt.Fprintf(w, "\t%s", op.name)
	}
	fmt.Fprint(w, "\t\n")
	for i := range faults {
		fmt.Fprint(w, faults[i].name)
		for _, op := range operations {
			fmt.Fprintf(w, "\t%d", counts[[2]string{op.name, faults[i].name}])
		}
		fmt.Fprint(w, "\t\n")
	}
	_ = w.Flush()
	return text.String()
}
