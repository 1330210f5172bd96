//go:build !unix

package docker

import "os/exec"

// detach keeps signals of the terminal from the process, where there are any.
func detach(*exec.Cmd) {}
