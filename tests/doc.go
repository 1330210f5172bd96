// Package tests holds the tests of the library on nodes in memory, and below it
// those of its packages quorum and clock.
//
// They do not stand beside the code because they use testify, and what the tests
// of an imported package use is listed in the go.sum of everybody who imports it.
package tests
