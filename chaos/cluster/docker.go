package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/redlock/chaos/docker"
	"github.com/quorumlock/redlock/chaos/plan"
	"github.com/quorumlock/redlock/chaos/process"
	"github.com/quorumlock/redlock/chaos/scratch"
	"github.com/quorumlock/redlock/chaos/skew"
)

// NewDocker returns a cluster of containers, in real time, each with an address
// of its own. images are what runs in them, by node in turn.
func NewDocker(s Setup, images []string) (_ Cluster, err error) {
	engine, err := docker.Open()
	if err != nil {
		return nil, err
	}
	servers := make([]server, s.Plan.Nodes)
	var starting errgroup.Group // half a second each, most of it waiting
	for i := range servers {
		n := &dockerServer{}
		servers[i] = n
		starting.Go(func() error { return n.begin(engine, images[i%len(images)]) })
	}
	if err := starting.Wait(); err != nil {
		errs := []error{err, engine.Close()}
		for _, n := range servers {
			errs = append(errs, n.close())
		}
		return nil, errors.Join(errs...)
	}
	servers[0].(*dockerServer).engine = engine // closed with the first
	return newProxied(s, servers)
}

type dockerServer struct {
	*docker.Container
	engine  *docker.Engine // nil: another server's
	clock   *skew.Control  // nil: none
	noClock error          // why
	folder  *scratch.Folder
}

// Where the clock's library and its control are in a container.
const (
	libraryInside = "/redlock/skew.so"
	controlInside = "/redlock/skew"
)

func (n *dockerServer) begin(engine *docker.Engine, image string) (err error) {
	if n.folder, err = scratch.New(); err != nil {
		return err
	}
	config := docker.Config{Image: image, AppendOnly: true}
	if n.clock, n.noClock = skew.New(n.folder.Path()); n.noClock == nil {
		library, control := n.clock.Files()
		config.Files = map[string]string{libraryInside: library, controlInside: control}
		config.Env = []string{"LD_PRELOAD=" + libraryInside, "REDLOCK_SKEW=" + controlInside}
	}
	n.Container, err = engine.Start(context.Background(), config)
	if err != nil {
		if n.noClock == nil && !errors.Is(err, docker.ErrUnavailable) {
			err = fmt.Errorf("%w\n(with a clock that can be set, which needs an image with glibc: not alpine)", err)
		}
		return err
	}
	if n.noClock == nil {
		n.noClock = n.proveClock()
	}
	return nil
}

// proveClock returns nil if the server's clock obeys. A server that is linked
// statically does not load the library.
func (n *dockerServer) proveClock() error {
	n.clock.Jump(time.Hour)
	defer n.clock.Jump(-time.Hour)
	offset, err := n.offset()
	if err == nil && offset < time.Minute {
		err = errors.New("the image's server does not load the library that sets its clock")
	}
	return err
}

func (n *dockerServer) dial(ctx context.Context) (net.Conn, error) {
	addr := n.Addr()
	if addr == "" {
		return nil, errors.New("the container cannot be reached")
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

func (n *dockerServer) can(fault string) error {
	switch fault {
	case plan.ClockJump, plan.ClockRate, plan.ClockStrobe:
		if n.noClock != nil {
			return fmt.Errorf("%s: %w: %w", fault, ErrCannot, n.noClock)
		}
	}
	return nil
}

func (n *dockerServer) kill() error { return n.Kill() }

// start also makes sure that an empty server is empty.
func (n *dockerServer) start(keep bool) error {
	if err := n.Restart(keep); err != nil || keep {
		return err
	}
	size, err := process.Do(n.Addr(), "DBSIZE")
	if err == nil && size != int64(0) {
		err = fmt.Errorf("a new container has %v keys", size)
	}
	return err
}

func (n *dockerServer) pause() error  { return n.Pause() }
func (n *dockerServer) resume() error { return n.Resume() }
func (n *dockerServer) cut() error    { return n.Cut() }
func (n *dockerServer) join() error   { return n.Join() }

func (n *dockerServer) flush() error {
	_, err := process.Do(n.Addr(), "FLUSHALL")
	return err
}

func (n *dockerServer) jump(by time.Duration) error {
	if n.noClock != nil {
		return fmt.Errorf("%w: %w", ErrCannot, n.noClock)
	}
	n.clock.Jump(by)
	return nil
}

func (n *dockerServer) rate(r float64) error {
	if n.noClock != nil {
		return fmt.Errorf("%w: %w", ErrCannot, n.noClock)
	}
	n.clock.Rate(r)
	return nil
}

// isDown, isPaused and isCut ask the engine.
func (n *dockerServer) isDown() (bool, error) {
	state, err := n.State()
	return !state.Running, err
}

func (n *dockerServer) isPaused() (bool, error) {
	state, err := n.State()
	return state.Paused, err
}

func (n *dockerServer) isCut() (bool, error) {
	state, err := n.State()
	return state.Running && !state.Joined, err
}

func (n *dockerServer) offset() (time.Duration, error) {
	offset, _, err := skew.Offset(n.Addr())
	return offset, err
}

func (n *dockerServer) get(key string) (value string, ttl time.Duration, ok bool, err error) {
	reply, err := process.Do(n.Addr(), "GET", key)
	value, ok = reply.(string)
	if err != nil || !ok {
		return "", 0, false, err
	}
	reply, err = process.Do(n.Addr(), "PTTL", key)
	ms, _ := reply.(int64)
	switch ttl = time.Duration(ms) * time.Millisecond; ms {
	case int64(process.NoKey): // it ran out meanwhile
		return "", 0, false, err
	case int64(process.NoExpiry):
		ttl = -1
	}
	return value, ttl, true, err
}

func (n *dockerServer) close() error {
	var errs []error
	if n.engine != nil {
		errs = append(errs, n.engine.Close())
	}
	if n.clock != nil {
		errs = append(errs, n.clock.Close())
	}
	if n.folder != nil {
		errs = append(errs, n.folder.Remove())
	}
	return errors.Join(errs...)
}
