package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
)

// Config says which server to run and how. The zero value is a redis-server
// that keeps nothing on disk, at a free port, with a data folder of its own.
type Config struct {
	// Command is the program and its first arguments: a path, a name in PATH,
	// or a wrapper that executes the server in its own place, as chroot and
	// the dynamic loader do. Nil means redis-server.
	Command []string

	// Port is where the server listens on 127.0.0.1, the same after every
	// restart. Zero chooses one that nobody else gets while the Server is
	// in use.
	Port int

	// Dir is an existing folder for the server's data. Empty means a
	// temporary one, which Stop removes.
	Dir string

	// AppendOnly makes the server write every change to disk before it
	// answers, so that a restart that keeps the data forgets nothing.
	AppendOnly bool

	// Args are appended to the server's arguments and win over ours.
	Args []string

	// Env is added to the environment, as "KEY=value".
	Env []string
}

func (c *Config) command() []string {
	if len(c.Command) == 0 {
		return []string{"redis-server"}
	}
	return c.Command
}

// arguments returns what follows the command.
func (c *Config) arguments(port int, dir string) []string {
	args := []string{
		"--bind", "127.0.0.1",
		"--port", strconv.Itoa(port),
		"--protected-mode", "no",
		"--dir", dir,
		"--save", "",
		"--appendonly", "no",
		// A test that fills a machine's memory fails in stranger ways than
		// one whose server says that it is full.
		"--maxmemory", "64mb",
		"--maxmemory-policy", "noeviction",
	}
	if c.AppendOnly {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	return append(args, c.Args...)
}

// find returns nil if there is a program to run, or why not.
func (c *Config) find() error {
	if !supported {
		return errors.New("process: servers run on Linux only")
	}
	if _, err := exec.LookPath(c.command()[0]); err != nil {
		return fmt.Errorf("process: %w", err)
	}
	return nil
}
