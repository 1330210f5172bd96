package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quorumlock/redlock/chaos/history"
)

// The files of a report. A folder without SummaryFile is that of a run that was
// interrupted while it wrote.
const (
	SummaryFile   = "summary.json"
	HistoryFile   = "history.jsonl"
	TimelineFile  = "timeline.svg"
	PorcupineFile = "porcupine.html"
	RoundsFile    = "rounds.jsonl" // of a soak
)

// part is the ending of a file that is being written.
const part = ".part"

// ErrNotOurs means that a folder holds something that no report left there.
var ErrNotOurs = errors.New("it holds something that is no report of a chaos run; give another folder, or empty it")

// A Folder is where a report goes.
type Folder struct{ path string }

// OpenFolder makes sure, before a run, that its report can go to path: it makes
// the folder if there is none, and refuses with ErrNotOurs one that holds
// anything but an earlier report, which Write will replace.
func OpenFolder(path string) (*Folder, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := ours(path); err != nil {
		return nil, fmt.Errorf("report: %s: %w", path, err)
	}
	return &Folder{path}, nil
}

// Path returns where the folder is.
func (f *Folder) Path() string { return f.path }

// Write writes the report of run: its history, its timeline, what porcupine
// writes unless it is nil, and last its summary, which it returns. Whatever
// fails or interrupts it, no file is left that looks whole but is not.
func (f *Folder) Write(run Run, porcupine func(io.Writer) error) (Summary, error) {
	summary := Summarize(run)
	summary.History = run.History.Hash()
	if err := f.write(run, porcupine, &summary); err != nil {
		return summary, fmt.Errorf("report: %w", err)
	}
	return summary, nil
}

func (f *Folder) write(run Run, porcupine func(io.Writer) error, summary *Summary) error {
	if err := ours(f.path); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	// The former summary must not seem to describe what is written now.
	if err := f.remove(SummaryFile); err != nil {
		return err
	}
	if err := f.file(HistoryFile, run.History.Encode); err != nil {
		return err
	}
	if err := f.file(TimelineFile, Draw(run, View{}).WriteSVG); err != nil {
		return err
	}
	if porcupine == nil {
		if err := f.remove(PorcupineFile); err != nil {
			return err
		}
	} else if err := f.file(PorcupineFile, porcupine); err != nil {
		return err
	}
	return f.file(SummaryFile, func(w io.Writer) error {
		lines := json.NewEncoder(w)
		lines.SetIndent("", "  ")
		lines.SetEscapeHTML(false)
		return lines.Encode(summary)
	})
}

func (f *Folder) remove(name string) error {
	if err := os.Remove(filepath.Join(f.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// file writes a file under another name first: under its own it is whole.
func (f *Folder) file(name string, write func(io.Writer) error) (err error) {
	path := filepath.Join(f.path, name)
	file, err := os.Create(path + part)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path + part) // the error that matters is known
		}
	}()
	out := bufio.NewWriter(file)
	err = errors.Join(write(out), out.Flush(), file.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(path+part, path)
}

// ours returns nil for a folder that is empty or holds a report, whole or not.
func ours(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	whole := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), part)
		switch name {
		case SummaryFile, HistoryFile, TimelineFile, PorcupineFile, RoundsFile:
		default:
			return fmt.Errorf("%q: %w", e.Name(), ErrNotOurs)
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%q is not a file: %w", e.Name(), ErrNotOurs)
		}
		if name == e.Name() {
			whole[name] = true
		}
	}
	// Others have files with such names, too.
	switch {
	case whole[SummaryFile]:
		return ourSummary(filepath.Join(path, SummaryFile))
	case whole[HistoryFile]:
		return ourHistory(filepath.Join(path, HistoryFile))
	case len(whole) > 0: // history.jsonl comes first
		return ErrNotOurs
	}
	return nil
}

func ourSummary(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var s Summary
	if json.Unmarshal(content, &s) != nil || s.MadeBy != Maker {
		return fmt.Errorf("%q: %w", SummaryFile, ErrNotOurs)
	}
	return nil
}

func ourHistory(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var header history.Header
	if json.NewDecoder(file).Decode(&header) != nil || header.Format < 1 {
		return fmt.Errorf("%q: %w", HistoryFile, ErrNotOurs)
	}
	return nil
}
