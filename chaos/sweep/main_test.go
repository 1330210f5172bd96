package sweep_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

func TestMain(m *testing.M) {
	logging.Disable() // of every dial that is refused
	stop := make(chan struct{})
	go machine.watch(stop)
	code := m.Run()
	close(stop)
	os.Exit(code)
}
