//go:build !linux

package skew

import (
	"fmt"
	"os"
	"runtime"
)

func library() (string, error) {
	return "", fmt.Errorf("%w: %s, not Linux", ErrUnavailable, runtime.GOOS)
}

func mapPage(*os.File) (*page, func() error, error) { return nil, nil, ErrUnavailable }
