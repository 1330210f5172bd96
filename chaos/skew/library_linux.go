package skew

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

//go:embed shim/shim.c
var source []byte

// library returns the path of the preloaded library, which is compiled if this
// machine has not done so before.
var library = sync.OnceValues(func() (string, error) {
	path, err := compiled()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return path, nil
})

// compiled finds the library in the cache or makes it. Any number of processes
// may do so at once: the name stands for the content, and a file appears under
// it only when complete.
func compiled() (string, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", fmt.Errorf("no C compiler: %w", err)
	}
	version, err := exec.Command(cc, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w\n%s", cc, err, version)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "redlock", "skew")
	if strings.ContainsAny(cache, ": ") {
		return "", fmt.Errorf("a library in %q cannot be preloaded, because of the colon or the blank", cache)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%s", runtime.GOARCH, version, source)
	path := filepath.Join(cache, fmt.Sprintf("%x.so", hash.Sum(nil)[:12]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, compile(cc, path)
}

// compile makes the library at path. Nothing else stays, whatever fails.
func compile(cc, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "*.tmp")
	if err != nil {
		return err
	}
	temporary := f.Name()
	err = errors.Join(f.Chmod(0o755), f.Close())
	if err == nil {
		cmd := exec.Command(cc, "-O2", "-shared", "-fPIC", "-x", "c", "-o", temporary, "-")
		cmd.Stdin = bytes.NewReader(source)
		if output, failed := cmd.CombinedOutput(); failed != nil {
			err = fmt.Errorf("%s: %w\n%s", cmd, failed, output)
		}
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// mapPage maps the file for writing.
func mapPage(f *os.File) (*page, func() error, error) {
	b, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return (*page)(unsafe.Pointer(&b[0])), func() error { return syscall.Munmap(b) }, nil
}
