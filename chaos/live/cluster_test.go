package live_test

import (
	"context"
	"net"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/process"
)

// What stands for several servers at once is no node: the compiler refuses it. (The
// options of a client made by redis.NewFailoverClient are a master's, with a Dialer
// that asks the Sentinels: nobody can tell.)
func TestB64AClusterIsNoNodeByItsType(t *testing.T) {
	takes := reflect.TypeOf(redlock.New).In(0).Elem()
	require.Equal(t, reflect.TypeFor[*redis.Options](), takes)
	node := reflect.TypeFor[redlock.Node]()
	for _, many := range []reflect.Type{
		reflect.TypeFor[*redis.ClusterOptions](), reflect.TypeFor[*redis.RingOptions](),
		reflect.TypeFor[*redis.FailoverOptions](), reflect.TypeFor[*redis.UniversalOptions](),
		reflect.TypeFor[*redis.ClusterClient](), reflect.TypeFor[*redis.Ring](), reflect.TypeFor[redis.UniversalClient](),
	} {
		assert.False(t, many.AssignableTo(takes), many)
		assert.False(t, many.Implements(node), many)
	}
}

// The servers of one cluster are no independent masters: one of them keeps the key,
// and the others say so, instead of being counted for it.
func TestB64TheServersOfAClusterGiveNoLock(t *testing.T) {
	t.Parallel()
	process.Need(t)
	var masters []master
	for range 3 {
		masters = append(masters, startServers(t, 1, process.Config{Args: []string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(sparePort(t)),
		}})...)
	}
	client := newClient(t, options(masters), patient())
	refused := func(words ...string) {
		t.Helper()
		lock, err := client.TryAcquire(context.Background(), "job", time.Minute)
		require.Nil(t, lock)
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		require.NotErrorIs(t, err, redlock.ErrHeld)
		for i, word := range words {
			if word != "" {
				says(t, err, masters[i], word)
			}
		}
	}
	refused("CLUSTERDOWN", "CLUSTERDOWN", "CLUSTERDOWN") // nobody keeps any key

	masters[0].Do("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	for _, m := range masters[1:] {
		meet(t, m, masters[0])
	}
	for _, m := range masters {
		eventually(t, bound, "the cluster is up", func() bool {
			_, err := m.Try("GET", "job")
			return err == nil || strings.HasPrefix(err.Error(), "MOVED")
		})
	}
	refused("", "MOVED", "MOVED")
	eventually(t, bound, "the one that took the key is clean", func() bool { return get(masters[0], "job") == "" })
}

// meet makes a server join the cluster of another.
func meet(t *testing.T, m, other master) {
	t.Helper()
	host, port, err := net.SplitHostPort(other.String())
	require.NoError(t, err)
	bus := other.Do("CONFIG", "GET", "cluster-port").([]any)[1]
	m.Do("CLUSTER", "MEET", host, port, bus)
}
