package proxy_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/proxy"
)

// What clients of this library see of each fault.
func TestFaultsAsGoRedisSeesThem(t *testing.T) {
	server, _ := start(t)
	const wait = 200 * time.Millisecond // as long as the client does
	set := []string{"SET"}
	for _, test := range []struct {
		fault   proxy.Fault
		want    error // nil is OK
		applied bool  // by the time that the client knows its result
		later   bool  // afterwards
	}{
		{proxy.Fault{Kind: proxy.Latency, Commands: set, Min: time.Millisecond}, nil, true, true},
		{proxy.Fault{Kind: proxy.Latency, Commands: set, Min: 2 * wait, Direction: proxy.ToServer}, os.ErrDeadlineExceeded, false, true},
		{proxy.Fault{Kind: proxy.Latency, Commands: set, Min: 2 * wait, Direction: proxy.ToClient}, os.ErrDeadlineExceeded, true, true},
		{proxy.Fault{Kind: proxy.Bandwidth, Rate: 1 << 20}, nil, true, true},
		{proxy.Fault{Kind: proxy.Slice, Size: 1}, nil, true, true},
		{proxy.Fault{Kind: proxy.Blackhole}, os.ErrDeadlineExceeded, false, false},
		{proxy.Fault{Kind: proxy.Blackhole, Direction: proxy.ToClient}, os.ErrDeadlineExceeded, true, true},
		{proxy.Fault{Kind: proxy.Hold}, os.ErrDeadlineExceeded, false, true},
		{proxy.Fault{Kind: proxy.DropRequest}, os.ErrDeadlineExceeded, false, false},
		{proxy.Fault{Kind: proxy.DropReply}, os.ErrDeadlineExceeded, true, true},
		{proxy.Fault{Kind: proxy.EOFAfterApply}, io.EOF, true, true},
		{proxy.Fault{Kind: proxy.Cut}, nil, true, true},
		{proxy.Fault{Kind: proxy.Reset}, io.EOF, false, false}, // it ignores the first error of a read, and reads again
		{proxy.Fault{Kind: proxy.LateDeliver, Min: 2 * wait}, os.ErrDeadlineExceeded, false, true},
		{proxy.Fault{Kind: proxy.Duplicate}, nil, true, true},
		{proxy.Fault{Kind: proxy.Refuse}, nil, true, true},
	} {
		t.Run(fmt.Sprint(test.fault.Kind, test.fault.Direction), func(t *testing.T) {
			t.Parallel()
			p, key := before(t, server.Addr()), t.Name()
			client := connect(t, options(p.Addr()))
			require.NoError(t, client.Ping(t.Context()).Err())
			p.Add(test.fault)
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			err := client.Set(ctx, key, "v", time.Minute).Err()
			_, applied, look := server.Get(key)
			require.NoError(t, look)
			if test.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, test.want)
			}
			require.Equal(t, test.applied, applied)
			require.Positive(t, p.Counts()[test.fault.Kind])

			p.Heal()
			require.Eventually(t, func() bool { // Cut may be about to close its connection
				return client.Set(t.Context(), "other", "v", time.Minute).Err() == nil
			}, soon, time.Millisecond)
			if test.later {
				eventually(t, "v", server, "GET", key)
			} else {
				now(t, nil, server, "GET", key)
			}
		})
	}
}
