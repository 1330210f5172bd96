//go:build !unix

package redlock

import "net"

// looker: there is no way to look without reading.
func looker(net.Conn) func() bool { return func() bool { return true } }
