//go:build unix

package docker

import (
	"os/exec"
	"syscall"
)

// detach keeps signals of the terminal from the process.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
