package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A program is the chaos program with a mutant in it, or none.
type program struct {
	path string // of the executable
	mark string // the file that shows that the mutant was reached
}

// build builds the chaos program with the mutant, nil: as it is, in a folder of
// its own. The caller removes the folder.
func build(ctx context.Context, module, folder string, m *Mutant) (*program, error) {
	p := &program{path: filepath.Join(folder, "chaos"), mark: filepath.Join(folder, "reached")}
	args := []string{"build", "-o", p.path, "-ldflags=-s -w", "-buildvcs=false"}
	if m != nil {
		overlay, err := m.overlay(module, folder)
		if err != nil {
			return nil, err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./chaos")...)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		name := "the program as it is"
		if m != nil {
			name = "mutant " + m.Name
		}
		return nil, fmt.Errorf("%s does not build: %w\n%s", name, err, out)
	}
	return p, nil
}

func (p *program) environment() []string { return []string{reachedVariable + "=" + p.mark} }

// wasReached reports whether the mutated code has run.
func (p *program) wasReached() bool {
	_, err := os.Stat(p.mark)
	return err == nil
}

// moduleFolder returns where the module's source is.
func moduleFolder(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/quorumlock/redlock").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w (want to be run within the module)", err)
	}
	return strings.TrimSpace(string(bytes.TrimSpace(out))), nil
}
