package process_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

// An outcome is a test that remembers how it ended.
type outcome struct {
	testing.TB
	skipped, failed string
}

func (o *outcome) Helper() {}

func (o *outcome) Skipf(format string, args ...any) {
	o.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (o *outcome) Fatalf(format string, args ...any) {
	o.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (o *outcome) of(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func TestMachineWithoutAServerSkipsUnlessItIsRequired(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, test := range []struct {
		require string
		fails   bool
	}{{"", false}, {"docker", false}, {"process", true}, {"docker,process", true}} {
		t.Setenv("REDLOCK_REQUIRE", test.require)
		o := &outcome{TB: t}
		o.of(func() { process.Need(o) })
		if test.fails {
			require.Contains(t, o.failed, "redis-server")
			require.Contains(t, o.failed, "REDLOCK_REQUIRE="+test.require)
		} else {
			require.Contains(t, o.skipped, "redis-server")
		}
	}
}

func TestNodesAreApartAndEndWithTheTest(t *testing.T) {
	process.Need(t)
	var servers []*process.Server
	t.Run("test", func(t *testing.T) {
		servers = process.Nodes(t, 3, process.Config{})
		for i, s := range servers {
			set(t, s, "k", string(rune('a'+i)))
		}
		for i, s := range servers {
			value, _, err := s.Get("k")
			require.NoError(t, err)
			require.Equal(t, string(rune('a'+i)), value)
			require.Equal(t, s.Addr(), s.String())
		}
	})
	for _, s := range servers {
		require.False(t, s.Alive())
	}
}

func TestSeveralNodesCannotShareAPortOrAFolder(t *testing.T) {
	process.Need(t)
	for _, config := range []process.Config{{Port: 7000}, {Dir: t.TempDir()}} {
		o := &outcome{TB: t}
		o.of(func() { process.Nodes(o, 2, config) })
		require.NotEmpty(t, o.failed)
	}
}
