// Package sweep has no code: its test lets every operation of the lock meet every
// fault of chaos/proxy on every set of nodes, and asks the same of all of them.
//
//	go test -v -run Sweep ./chaos/sweep
//	go test -v -run Sweep ./chaos/sweep -sweep.cell 'extend/drop-reply/quorum/5'
package sweep
