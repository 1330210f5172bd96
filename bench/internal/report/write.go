package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// pageName is the page's file, and the folder for all else lies beside it.
const (
	pageName   = "benchmarks.md"
	folderName = "benchmarks"
)

// Names are the runs that a page shows, in its order.
var Names = []string{"client", "peers"}

// Write writes a run's data and pictures into a folder, and there a page of the
// latest runs of all names:
//
//	benchmarks.md
//	benchmarks/NAME.json, NAME.csv, NAME.txt (lines for benchstat), NAME-*.png
func Write(folder, name string, r *Run) error {
	dir := filepath.Join(folder, folderName)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, name+"-*.png"))
	if err != nil {
		return err
	}
	for _, file := range old { // of a run with other scenarios
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for extension, write := range map[string]func(*Run, *bytes.Buffer) error{
		".json": writeJSON, ".csv": writeCSV, ".txt": writeBenchstat,
	} {
		var b bytes.Buffer
		if err := write(r, &b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+extension), b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	pictures, err := drawAll(r, dir, name)
	if err != nil {
		return err
	}
	return writePage(folder, name, r, pictures)
}

// writePage writes the page of this run and of the others that are in the folder.
func writePage(folder, name string, r *Run, pictures []picture) error {
	var b bytes.Buffer
	b.WriteString(pageHead)
	for _, other := range Names {
		run, shown := r, pictures
		if other != name {
			var err error
			run, err = read(filepath.Join(folder, folderName, other+".json"))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			shown = picturesOf(run, other)
		}
		run.page(&b, other, shown)
	}
	return os.WriteFile(filepath.Join(folder, pageName), b.Bytes(), 0o666)
}

func writeJSON(r *Run, b *bytes.Buffer) error {
	e := json.NewEncoder(b)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// read reads what writeJSON wrote.
func read(file string) (*Run, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &r, nil
}
