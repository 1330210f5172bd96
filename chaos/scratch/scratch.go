// Package scratch makes temporary folders that do not pile up: what a process that
// was killed left behind is removed by the next one that needs a folder.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// prefix begins the names of the folders.
const prefix = "redlock-scratch-"

// A Folder belongs to the process that made it.
type Folder struct {
	path string
	lock *os.File // held while the process lives, whatever ends it
}

// sweepOnce removes what others left behind.
var sweepOnce = sync.OnceFunc(sweep)

// New makes a folder. The caller must call Remove.
func New() (*Folder, error) {
	sweepOnce()
	for {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, fmt.Errorf("scratch: %w", err)
		}
		lock, err := hold(path)
		if errors.Is(err, errGone) { // another process took it for one that nobody needs
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("scratch: %w", err), os.Remove(path))
		}
		return &Folder{path, lock}, nil
	}
}

// errGone means that a folder was removed before it was held.
var errGone = errors.New("the folder is gone")

// Path returns where the folder is.
func (f *Folder) Path() string { return f.path }

// Remove removes the folder with all that is in it. Calling it again does nothing.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.path)
	_ = f.lock.Close() // of a folder that is gone, or that the next process is to remove
	if err != nil {
		return fmt.Errorf("scratch: %w", err)
	}
	return nil
}

// sweep removes the folders whose processes are gone. What cannot be removed stays.
func sweep() {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*")) // the pattern is right
	for _, path := range paths {
		if lock, ok := abandoned(path); ok {
			_ = os.RemoveAll(path)
			_ = lock.Close()
		}
	}
}
