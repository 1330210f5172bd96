package cluster

import (
	"context"
	"net"
	"time"

	"github.com/quorumlock/redlock/chaos/embedded"
)

// NewEmbedded returns a cluster of miniredis nodes inside the process, in real
// time: nothing has to be installed. The way to them is the real one: go-redis,
// TCP on the loopback, the scripts.
func NewEmbedded(s Setup) (Cluster, error) {
	nodes, stop := embedded.Start(s.Plan.Nodes)
	servers := make([]server, len(nodes))
	for i, n := range nodes {
		servers[i] = &embeddedServer{Node: n}
	}
	servers[0].(*embeddedServer).stop = stop
	return newProxied(s, servers)
}

type embeddedServer struct {
	*embedded.Node
	paused bool
	stop   func() // of all
}

func (e *embeddedServer) dial(ctx context.Context) (net.Conn, error) { return e.Dial(ctx) }

func (e *embeddedServer) can(string) error { return nil }

func (e *embeddedServer) kill() error { e.Down(); return nil }

func (e *embeddedServer) start(keep bool) error {
	if !keep {
		e.Forget()
	}
	e.Up()
	return nil
}

func (e *embeddedServer) pause() error  { e.Hang(); e.paused = true; return nil }
func (e *embeddedServer) resume() error { e.Resume(); e.paused = false; return nil }
func (e *embeddedServer) flush() error  { e.Forget(); return nil }

func (e *embeddedServer) jump(by time.Duration) error { e.Clock().Step(by); return nil }
func (e *embeddedServer) rate(r float64) error        { e.Clock().SetRate(r); return nil }

func (e *embeddedServer) isDown() (bool, error) {
	conn, err := e.Dial(context.Background())
	if err == nil {
		_ = conn.Close()
	}
	return err != nil, nil
}

func (e *embeddedServer) isPaused() (bool, error) { return e.paused, nil }

func (e *embeddedServer) offset() (time.Duration, error) { return e.Clock().Offset(), nil }

func (e *embeddedServer) get(key string) (value string, ttl time.Duration, ok bool, err error) {
	value, ok = e.Get(key)
	if !ok {
		return "", 0, false, nil
	}
	if ttl, ok = e.PTTL(key); ttl == 0 {
		ttl = -1
	}
	return value, ttl, ok, nil
}

func (e *embeddedServer) close() error {
	if e.stop != nil {
		e.stop()
	}
	return nil
}
