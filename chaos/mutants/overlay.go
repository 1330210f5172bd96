package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// reachedVariable names the file that a mutant makes when it is reached.
const reachedVariable = "REDLOCK_MUTANT_REACHED"

// reachedSource is what mutants call. It is a file of the root package in every
// overlay, and nowhere else.
const reachedSource = `package redlock

import (
	"os"
	"sync/atomic"
)

var mutantReached atomic.Bool

func reached() {
	if mutantReached.Swap(true) {
		return
	}
	if err := os.WriteFile(os.Getenv("` + reachedVariable + `"), nil, 0o666); err != nil {
		panic(err)
	}
}

// MutantReached is reached for other packages. It is true.
func MutantReached() bool {
	reached()
	return true
}

func hit[T any](v T) T {
	reached()
	return v
}
`

// apply returns the files that the mutant changes, as they are then, by path in
// the module.
func (m *Mutant) apply(module string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.Edits {
		text, ok := changed[e.File]
		if !ok {
			data, err := os.ReadFile(filepath.Join(module, e.File))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, &staleError{m.Name, e.File, n}
		}
		changed[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return changed, nil
}

// overlay writes what go build -overlay wants for the mutant to folder, and
// returns the path.
func (m *Mutant) overlay(module, folder string) (string, error) {
	files, err := m.apply(module)
	if err != nil {
		return "", err
	}
	files["mutant_reached.go"] = reachedSource
	replace := map[string]string{}
	for file, text := range files {
		path := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return "", err
		}
		replace[filepath.Join(module, file)] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, data, 0o666)
}
