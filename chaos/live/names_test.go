package live_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock/chaos/process"
)

// A name that was locked once leaves nothing on a server, released or not: there are
// no counters that would have to outlive their locks.
func TestB83NamesLeaveNothingOnAServer(t *testing.T) {
	t.Parallel()
	process.Need(t)
	const names, at, ttl = 10_000, 50, 5 * time.Second
	masters := startServers(t, 1, process.Config{})
	client := connected(t, masters, patient())
	logs := monitor(t, masters)
	var wg sync.WaitGroup
	for i := range at {
		wg.Go(func() {
			for n := i; n < names; n += at {
				lock, err := client.TryAcquire(context.Background(), fmt.Sprintf("settle:%06d", n), ttl)
				if !assert.NoError(t, err) {
					return
				}
				if n%10 > 0 { // the others run out
					assert.NoError(t, lock.Release(context.Background()))
				}
			}
		})
	}
	wg.Wait()
	eventuallyClean(t, masters, ttl+bound)
	eventually(t, bound, "no key of any kind in any database, nor one that has expired", func() bool {
		return !strings.Contains(masters[0].Do("INFO", "keyspace").(string), "db")
	})

	record := logs[0].read()
	total := replay(t, masters[0], record, false)
	assert.Equal(t, names, total.sets)
	for _, c := range record {
		if strings.EqualFold(c.Args[0], "set") {
			assert.True(t, strings.HasPrefix(c.Args[1], "settle:"), "%q", c.Args)
		}
	}
}
