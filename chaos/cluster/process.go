package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/scratch"
	"github.com/quorumlock/redlock/chaos/skew"
)

// NewProcess returns a cluster of redis-server processes, in real time: real
// kills, real stops, real expiry, and where there is a C compiler real clocks
// that can be set. binaries are the servers to run, by node in turn; none means
// redis-server or valkey-server, as found.
func NewProcess(s Setup, binaries []string) (_ Cluster, err error) {
	var servers []server
	defer func() {
		if err == nil {
			return
		}
		for _, server := range servers {
			err = errors.Join(err, server.close())
		}
	}()
	for i := range s.Plan.Nodes {
		binary := ""
		if len(binaries) > 0 {
			binary = binaries[i%len(binaries)]
		}
		n, err := startServer(binary)
		if err != nil {
			return nil, err
		}
		servers = append(servers, n)
	}
	return newProxied(s, servers)
}

type processServer struct {
	*process.Server
	clock   *skew.Control // nil: none
	noClock error         // why
	folder  *scratch.Folder
}

func startServer(binary string) (_ *processServer, err error) {
	folder, err := scratch.New()
	if err != nil {
		return nil, err
	}
	n := &processServer{folder: folder}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	config := process.Config{AppendOnly: true}
	if binary != "" {
		config.Command = []string{binary}
	}
	if n.clock, n.noClock = skew.New(folder.Path()); n.noClock == nil {
		config.Env = n.clock.Env()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	n.Server, err = process.Start(ctx, config)
	return n, err
}

func (n *processServer) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", n.Addr())
}

func (n *processServer) can(fault string) error {
	switch fault {
	case plan.ClockJump, plan.ClockRate, plan.ClockStrobe:
		if n.noClock != nil {
			return fmt.Errorf("%s: %w: %w", fault, ErrCannot, n.noClock)
		}
	}
	return nil
}

func (n *processServer) kill() error           { return n.Kill() }
func (n *processServer) start(keep bool) error { return n.Restart(keep) }
func (n *processServer) pause() error          { return n.Pause() }
func (n *processServer) resume() error         { return n.Resume() }

func (n *processServer) flush() error {
	_, err := n.Do("FLUSHALL")
	return err
}

func (n *processServer) jump(by time.Duration) error {
	if n.noClock != nil {
		return n.noClock
	}
	n.clock.Jump(by)
	return nil
}

func (n *processServer) rate(r float64) error {
	if n.noClock != nil {
		return n.noClock
	}
	n.clock.Rate(r)
	return nil
}

func (n *processServer) isDown() (bool, error) { return !n.Alive(), nil }

func (n *processServer) isPaused() (bool, error) { return n.Paused() }

func (n *processServer) offset() (time.Duration, error) {
	offset, _, err := skew.Offset(n.Addr())
	return offset, err
}

func (n *processServer) get(key string) (value string, ttl time.Duration, ok bool, err error) {
	value, ok, err = n.Get(key)
	if err != nil || !ok {
		return "", 0, false, err
	}
	ttl, err = n.PTTL(key)
	return value, ttl, true, err
}

func (n *processServer) close() error {
	var errs []error
	if n.Server != nil {
		errs = append(errs, n.Stop())
	}
	if n.clock != nil {
		errs = append(errs, n.clock.Close())
	}
	return errors.Join(append(errs, n.folder.Remove())...)
}
