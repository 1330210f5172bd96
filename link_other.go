//go:build !unix

package redlock

// alive: there is no way to look without reading.
func (k *link) alive() bool { return true }
