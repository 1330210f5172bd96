//go:build race

package sweep_test

func init() { raced = true }
