package scenario

import (
	"context"
	"errors"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/bench/internal/fleet"
)

// An eager node claims every request at once for sending, so that none can be
// withdrawn: a client takes back what has not left for a slow node when the
// others have decided, and pays less than the formula then. With eager nodes
// counts are the formula's, whatever else the machine does.
type eager struct{ redlock.Node }

func (n eager) Send(r *redlock.Request) {
	if r.Begin() {
		n.Node.Send(redlock.NewRequest(r.Command, r.Timeout, func(a redlock.Answer) { r.Answer(a) }))
	}
}

// openEager returns a client of eager nodes that is connected to all of them, so
// that nothing but what it is asked for is sent from now on.
func openEager(ctx context.Context, f *fleet.Fleet, opts *redlock.Options) (*redlock.Client, error) {
	var nodes []redlock.Node
	var failed []error
	for _, opt := range fleet.Options(f.Addrs()) {
		n, err := redlock.RedisNode(opt, 0)
		if err == nil {
			nodes = append(nodes, eager{n})
			err = n.Connect(ctx)
		}
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); err != nil {
		for _, n := range nodes {
			_ = n.Close()
		}
		return nil, err
	}
	return redlock.NewFrom(nodes, opts)
}
