package fleet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const info = "# Clients\r\nconnected_clients:7\r\n\r\n# Stats\r\n" +
	"total_net_input_bytes:1234\r\ntotal_net_output_bytes:99\r\n" +
	"# Commandstats\r\n" +
	"cmdstat_set:calls=5,usec=10,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_evalsha:calls=4,usec=10,usec_per_call=2.00,rejected_calls=0,failed_calls=1\r\n" +
	"cmdstat_eval:calls=1,usec=10,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_config|resetstat:calls=1,usec=10,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r\n"

func TestInfoIsRead(t *testing.T) {
	s, err := parseInfo(info)
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"set": 5, "evalsha": 4, "eval": 1, "config|resetstat": 1}, s.Calls)
	assert.Equal(t, int64(10), s.Locking())
	assert.Equal(t, int64(5), s.Scripts())
	assert.Equal(t, int64(1234), s.BytesIn)
	assert.Equal(t, int64(99), s.BytesOut)
	assert.Equal(t, int64(7), s.Clients)
}

func TestInfoThatMakesNoSenseIsRefused(t *testing.T) {
	for _, line := range []string{"cmdstat_set:usec=3", "cmdstat_set:calls=x", "total_net_input_bytes:many"} {
		_, err := parseInfo(line + "\r\n")
		assert.ErrorContains(t, err, line)
	}
}

func TestSizeOfACommand(t *testing.T) {
	assert.Equal(t, int64(len("*2\r\n$4\r\nINFO\r\n$10\r\neverything\r\n")), sizeOf("INFO", "everything"))
}
