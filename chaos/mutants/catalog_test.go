package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/plan"
)

var buildAll = flag.Bool("mutants.build", false, "build every mutant, which takes a minute")

func TestEveryMutantBuilds(t *testing.T) {
	if !*buildAll {
		t.Skip("without -mutants.build; go run ./chaos/mutants builds them too")
	}
	module, err := moduleFolder(t.Context())
	require.NoError(t, err)
	for _, m := range Catalog() {
		_, err := build(t.Context(), module, t.TempDir(), &m)
		require.NoError(t, err)
	}
}

func TestAMutantWhoseOldTextIsNotThereOnceIsStale(t *testing.T) {
	module := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(module, "a.go"), []byte("x y y"), 0o666))
	for old, want := range map[string]int{"x": 1, "y": 2, "z": 0} {
		m := Mutant{Name: "m", Edits: []Edit{{"a.go", old, "new"}}}
		changed, err := m.apply(module)
		if want == 1 {
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a.go": "new y y"}, changed)
			continue
		}
		var stale *staleError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, want, stale.count)
	}
}

func TestASecondEditSeesTheFirst(t *testing.T) {
	module := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(module, "a.go"), []byte("one two"), 0o666))
	m := Mutant{Edits: []Edit{{"a.go", "one", "1"}, {"a.go", "1 two", "12"}}}
	changed, err := m.apply(module)
	require.NoError(t, err)
	require.Equal(t, "12", changed["a.go"])
}

func TestWhatAnOutputSaysOfACrash(t *testing.T) {
	require.Equal(t, killLeak, crash("panic: deadlock: main bubble goroutine has exited but blocked goroutines remain"))
	require.Equal(t, killPanic, crash("panic: runtime error: index out of range"))
	require.Equal(t, killPanic, crash("fatal error: all goroutines are asleep"))
	require.Empty(t, crash("simulate: job: EOF"))
}

func TestEveryMutantFitsTheSource(t *testing.T) {
	module, err := moduleFolder(t.Context())
	require.NoError(t, err)
	for _, m := range Catalog() {
		_, err := m.apply(module)
		require.NoError(t, err)
	}
}

func TestEveryMutantIsToldApartAndHasAChance(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Catalog() {
		require.False(t, seen[m.Name], m.Name)
		seen[m.Name] = true
		require.NotEmpty(t, m.Breaks, m.Name)
		require.NotEmpty(t, m.Edits, m.Name)
		require.NotEmpty(t, m.Killers, m.Name)
		require.NotEmpty(t, m.Trials, m.Name)
		for _, trial := range m.Trials {
			maker, ok := plan.Named(trial.Plan)
			require.True(t, ok, "%s: %s", m.Name, trial)
			p := maker.Make(1, nodes)
			require.NotEqual(t, plan.OutOfModel, p.Class, "%s: a bug shows where all assumptions hold", m.Name)
		}
	}
	require.GreaterOrEqual(t, len(seen), 24)
}
