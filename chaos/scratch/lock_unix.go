//go:build linux || darwin

package scratch

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// hold locks the folder until the file is closed, as the kernel does when the
// process ends. While another process looks whether the folder is abandoned it
// waits.
func hold(path string) (*os.File, error) {
	lock, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	if err := flock(lock, syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if _, err := os.Stat(path); err != nil {
		_ = lock.Close()
		return nil, errGone
	}
	return lock, nil
}

// abandoned locks the folder if it is this user's and no process holds it.
func abandoned(path string) (lock *os.File, ok bool) {
	lock, err := open(path)
	if err != nil {
		return nil, false
	}
	info, err := lock.Stat()
	if err == nil {
		if owner, known := info.Sys().(*syscall.Stat_t); known && int(owner.Uid) == os.Getuid() && flock(lock, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return lock, true
		}
	}
	_ = lock.Close()
	return nil, false
}

// open opens a folder, and nothing that a link leads to.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}
