package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ory/dockertest/v3"
	api "github.com/ory/dockertest/v3/docker"

	"github.com/quorumlock/redlock/chaos/process"
)

const (
	startTimeout = 30 * time.Second
	pollEvery    = 10 * time.Millisecond
	port         = "6379/tcp"
)

// Config says what runs in a container.
type Config struct {
	// Image is one whose entry point is a server, or passes arguments that
	// begin with "-" to one, as the official images do.
	Image string

	// AppendOnly makes the server write every change to disk before it
	// answers, so that a restart that keeps the data forgets nothing.
	AppendOnly bool

	// Env is the environment, as "KEY=value".
	Env []string

	// Files are files of this machine by where they are mounted, read-only.
	Files map[string]string
}

func (c *Config) arguments() []string {
	args := []string{
		"--port", "6379", "--protected-mode", "no", "--dir", "/data", "--save", "",
		"--maxmemory", "64mb", "--maxmemory-policy", "noeviction", "--appendonly", "no",
	}
	if c.AppendOnly {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	return args
}

// A Container is a server in a container, over all its restarts. Its methods are
// safe for concurrent use. Use [Engine.Start].
type Container struct {
	engine *Engine
	config Config
	addr   atomic.Pointer[string] // nil: nowhere

	mu     sync.Mutex // held by what changes the state, while it waits for the engine
	id     string     // guarded by mu
	server string     // guarded by mu: the run_id of the process that answered last
}

// Start runs a server and returns when it answers; ctx bounds that wait.
func (e *Engine) Start(ctx context.Context, config Config) (*Container, error) {
	if err := e.Has(config.Image); err != nil {
		return nil, err
	}
	c := &Container{engine: e, config: config}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.createLocked(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// createLocked makes a new container. What is left of a failure bears the label.
func (c *Container) createLocked(ctx context.Context) error {
	e := c.engine
	repository, tag := c.config.Image, ""
	// A colon before the last slash is that of a registry's port.
	if i := strings.LastIndexByte(repository, ':'); i > strings.LastIndexByte(repository, '/') {
		repository, tag = repository[:i], repository[i+1:]
	}
	resource, err := e.pool.RunWithOptions(&dockertest.RunOptions{
		Name:       fmt.Sprintf("redlock-chaos-%s-%d", e.run, e.started.Add(1)),
		Repository: repository, Tag: tag,
		Env: c.config.Env, Cmd: c.config.arguments(), Networks: []*dockertest.Network{{Network: e.network.Network}},
		ExposedPorts: []string{port},
		// A free port, another one after every restart: a pinned one could be
		// taken by somebody else while the container is down.
		PortBindings: map[api.Port][]api.PortBinding{port: {{HostIP: "127.0.0.1", HostPort: "0"}}},
		Labels:       map[string]string{Label: e.run},
	}, func(host *api.HostConfig) {
		host.PublishAllPorts = false // on the loopback only
		for target, source := range c.config.Files {
			host.Mounts = append(host.Mounts, api.HostMount{Type: "bind", Source: source, Target: target, ReadOnly: true})
		}
	})
	if err != nil {
		return fmt.Errorf("docker: start %s: %w", c.config.Image, err)
	}
	c.id = resource.Container.ID
	return c.readyLocked(ctx)
}

// readyLocked waits until the server answers, and finds out where.
func (c *Container) readyLocked(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		it, err := c.engine.pool.Client.InspectContainerWithContext(c.id, ctx)
		if err == nil && !it.State.Running {
			return fmt.Errorf("docker: %s ended with status %d:\n%s", c.config.Image, it.State.ExitCode, c.log(ctx))
		}
		if err == nil {
			err = c.greetLocked(it)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("docker: start %s: %w", c.config.Image, errors.Join(ctx.Err(), err))
		case <-time.After(pollEvery):
		}
	}
}

// greetLocked asks the server who it is.
func (c *Container) greetLocked(it *api.Container) error {
	bindings := it.NetworkSettings.Ports[port]
	if len(bindings) == 0 {
		return errors.New("no port is published")
	}
	addr := bindings[0].HostIP + ":" + bindings[0].HostPort
	if _, err := process.Do(addr, "PING"); err != nil { // refused while data is being loaded, unlike INFO
		return err
	}
	server, err := runID(addr)
	if err != nil {
		return err
	}
	c.server = server
	c.addr.Store(&addr)
	return nil
}

// runID returns what a server calls itself, anew with every start.
func runID(addr string) (string, error) {
	reply, err := process.Do(addr, "INFO", "server")
	if err != nil {
		return "", err
	}
	info, _ := reply.(string)
	_, rest, ok := strings.Cut(info, "run_id:")
	id, _, _ := strings.Cut(rest, "\r\n")
	if !ok || id == "" {
		return "", fmt.Errorf("docker: INFO without a run_id: %q", info)
	}
	return id, nil
}

// log returns the end of what the container printed.
func (c *Container) log(ctx context.Context) string {
	var b strings.Builder
	_ = c.engine.pool.Client.Logs(api.LogsOptions{
		Context: ctx, Container: c.id, OutputStream: &b, ErrorStream: &b, Stdout: true, Stderr: true, Tail: "20",
	})
	return b.String()
}

// Addr returns host:port on this machine, which changes with every restart and
// reconnection. Empty means that the container is down or cut off.
func (c *Container) Addr() string {
	if addr := c.addr.Load(); addr != nil {
		return *addr
	}
	return ""
}

// Kill ends the server with SIGKILL and returns when it is gone. One that has
// ended already is no error.
func (c *Container) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killLocked()
}

func (c *Container) killLocked() error {
	c.addr.Store(nil)
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	client := c.engine.pool.Client
	err := client.KillContainer(api.KillContainerOptions{ID: c.id, Signal: api.SIGKILL, Context: ctx})
	var ended *api.ContainerNotRunning
	if err != nil && !errors.As(err, &ended) {
		return fmt.Errorf("docker: kill: %w", err)
	}
	if _, err := client.WaitContainerWithContext(c.id, ctx); err != nil {
		return fmt.Errorf("docker: kill: %w", err)
	}
	return nil
}

// Restart kills the server if it runs, and starts it with its data as the kill
// left it or, unless keep is true, in a new container. With keep, too, a server
// without AppendOnly has forgotten everything. It fails if what answers is
// not a new server.
func (c *Container) Restart(keep bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.killLocked(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	before, client := c.server, c.engine.pool.Client
	var err error
	if keep {
		if err = client.StartContainerWithContext(c.id, nil, ctx); err == nil {
			err = c.readyLocked(ctx)
		}
	} else if err = removeContainer(ctx, client, c.id); err == nil {
		err = c.createLocked(ctx)
	}
	if err == nil && c.server == before {
		err = errors.New("the server that answers is the one from before")
	}
	if err != nil {
		return fmt.Errorf("docker: restart: %w", err)
	}
	return nil
}

// Pause freezes the container: connections are accepted, nothing is answered.
func (c *Container) Pause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.engine.pool.Client.PauseContainer(c.id); err != nil {
		return fmt.Errorf("docker: pause: %w", err)
	}
	return nil
}

// Resume ends a pause. It does nothing to a container that is not paused.
func (c *Container) Resume() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state, err := c.stateLocked(); err != nil || !state.Paused {
		return err
	}
	if err := c.engine.pool.Client.UnpauseContainer(c.id); err != nil {
		return fmt.Errorf("docker: resume: %w", err)
	}
	return nil
}

// Cut takes the container's network away: its connections end and its port is
// gone, while the server runs on.
func (c *Container) Cut() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addr.Store(nil)
	err := c.engine.pool.Client.DisconnectNetwork(c.engine.network.Network.ID, api.NetworkConnectionOptions{Container: c.id})
	if err != nil {
		return fmt.Errorf("docker: cut: %w", err)
	}
	return nil
}

// Join gives the network back and returns when the server can be reached. It
// fails if that is another one than before.
func (c *Container) Join() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.server
	err := c.engine.pool.Client.ConnectNetwork(c.engine.network.Network.ID, api.NetworkConnectionOptions{Container: c.id})
	if err == nil {
		err = c.readyLocked(context.Background())
	}
	if err == nil && c.server != before {
		err = errors.New("the server has restarted meanwhile")
	}
	if err != nil {
		return fmt.Errorf("docker: join: %w", err)
	}
	return nil
}

// A State is what the engine says of a container.
type State struct {
	Running bool // a paused one is
	Paused  bool
	Joined  bool // it has a network
}

// State asks the engine.
func (c *Container) State() (State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stateLocked()
}

func (c *Container) stateLocked() (State, error) {
	it, err := c.engine.pool.Client.InspectContainer(c.id)
	if err != nil {
		return State{}, fmt.Errorf("docker: inspect: %w", err)
	}
	return State{Running: it.State.Running, Paused: it.State.Paused, Joined: len(it.NetworkSettings.Networks) > 0}, nil
}
