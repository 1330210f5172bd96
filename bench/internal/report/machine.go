package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Machine is what the measuring was done on.
type Machine struct {
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	Memory    string `json:"memory"`
	System    string `json:"system"`
	Load      string `json:"load"` // the mean load of the minute before the run: others' work
}

// ThisMachine describes the machine, as far as the system tells.
func ThisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH}
	m.Processor = firstMatch("/proc/cpuinfo", `model name\s*:\s*(.*)`)
	if kib := firstMatch("/proc/meminfo", `MemTotal:\s*(\d+) kB`); kib != "" {
		var n int
		if _, err := fmt.Sscan(kib, &n); err == nil {
			m.Memory = fmt.Sprintf("%d GiB", (n+1<<19)>>20)
		}
	}
	if name := firstMatch("/etc/os-release", `PRETTY_NAME="(.*)"`); name != "" {
		m.System = name + ", " + m.System
	}
	if kernel := firstMatch("/proc/sys/kernel/osrelease", `(\d+\.\d+)`); kernel != "" {
		m.System += ", Linux " + kernel
	}
	m.Load = firstMatch("/proc/loadavg", `(\S+)`)
	return m
}

func firstMatch(file, pattern string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
		return strings.TrimSpace(string(m[1]))
	}
	return ""
}

// Versions returns the versions of Go, of the modules named as far as they are in
// the program, of redis-server, and the commit of this module.
func Versions(modules ...string) []Param {
	versions := []Param{{"commit", commit()}, {"Go", runtime.Version()}}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if slices.Contains(modules, dep.Path) {
				versions = append(versions, Param{dep.Path, dep.Version})
			}
		}
	}
	if v := firstField(run("redis-server", "--version"), "v="); v != "" {
		versions = append(versions, Param{"redis-server", v})
	}
	return versions
}

// commit returns the commit of the working tree, and whether it was changed
// since.
func commit() string {
	c := run("git", "rev-parse", "--short=12", "HEAD")
	if c == "" {
		return "unknown"
	}
	if run("git", "status", "--porcelain", "--untracked-files=no", "--", "*.go", "*.lua", "*go.mod", "*go.sum") != "" {
		c += ", with changes"
	}
	return c
}

func firstField(s, prefix string) string {
	for _, f := range strings.Fields(s) {
		if v, ok := strings.CutPrefix(f, prefix); ok {
			return v
		}
	}
	return ""
}

// run returns what a program prints, or "" if it fails.
func run(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
