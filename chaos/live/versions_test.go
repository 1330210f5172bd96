package live_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/process"
)

// serversEnv names server programs of other versions, separated by commas:
// .ci/servers fetches some and prints them.
const serversEnv = "REDLOCK_SERVERS"

// Redis and Valkey, old and new, are nodes alike.
func TestRedisNodeConformsOnServersOfOtherVersions(t *testing.T) {
	t.Parallel()
	programs := strings.FieldsFunc(os.Getenv(serversEnv), func(r rune) bool { return r == ',' })
	if len(programs) == 0 {
		t.Skipf("%s names no servers (%s=$(.ci/servers FOLDER) does)", serversEnv, serversEnv)
	}
	for _, program := range programs {
		t.Run(filepath.Base(program), func(t *testing.T) {
			t.Parallel()
			for _, version := range []int{2, 3} {
				conforms(t, wiring{"", func(t *testing.T) (master, *redis.Options) {
					m := startServers(t, 1, process.Config{Command: []string{program}})[0]
					info, ok := m.Do("INFO", "server").(string)
					require.True(t, ok)
					t.Log(versionOf(info))
					o := m.Options()
					o.Protocol = version
					return m, o
				}})
			}
		})
	}
}

// versionOf returns the lines of INFO that say what the server is.
func versionOf(info string) (version string) {
	for line := range strings.Lines(info) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.HasSuffix(name, "_version") && name != "gcc_version" || name == "server_name" {
			version += name + " " + value + "; "
		}
	}
	return version
}
