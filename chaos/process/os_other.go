//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
)

// The package compiles everywhere, so that `go vet ./...` works on any machine,
// but nothing gets past Config.find where it is not supported.
const supported = false

var (
	signalStop     = os.Kill
	signalContinue = os.Kill
)

func dieWithParent(*exec.Cmd) {}

func state(int) (byte, error) { return 0, errors.ErrUnsupported }

type port struct{ number int }

func reserve(int) (*port, error) { return nil, errors.ErrUnsupported }

func (p *port) release() {}
