// Package docker runs Redis and Valkey servers in containers, each with an
// address of its own, and does to them what happens to machines: they are
// killed, paused, cut off and started again with or without their data.
//
//	e, err := docker.Open()
//	defer e.Close()
//	c, err := e.Start(ctx, docker.Config{Image: "redis:8"})
//
// Everything that an [Engine] makes bears its label and is removed by Close, or
// soon after the end of this process, whatever ended it. Nothing else is touched.
package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ory/dockertest/v3"
	api "github.com/ory/dockertest/v3/docker"
)

// ErrUnavailable is the error of a machine without an engine, or of an engine
// without the image, with what to do about it.
var ErrUnavailable = errors.New("docker: containers cannot run here")

// Label is on every container and every network that this package makes. Its
// value is different for every [Engine].
const Label = "com.github.quorumlock.redlock.chaos"

// requestTimeout bounds a request to the engine.
const requestTimeout = 30 * time.Second

// An Engine makes containers in a network of their own. Its methods are safe for
// concurrent use. Use [Open].
type Engine struct {
	pool    *dockertest.Pool
	run     string // the label's value
	network *dockertest.Network
	reaper  *reaper
	started atomic.Int64 // containers so far
}

// Open makes a network in the machine's engine (DOCKER_HOST, or the default
// socket). The caller must call Close. Without an engine the error is
// [ErrUnavailable].
func Open() (_ *Engine, err error) {
	pool, err := connect()
	if err != nil {
		return nil, err
	}
	e := &Engine{pool: pool, run: strings.ToLower(rand.Text()[:12])}
	if e.reaper, err = startReaper(e.run); err != nil {
		return nil, err
	}
	e.network, err = pool.CreateNetwork("redlock-chaos-"+e.run, func(o *api.CreateNetworkOptions) {
		o.Labels = map[string]string{Label: e.run}
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("docker: network: %w", err), e.Close())
	}
	return e, nil
}

func connect() (*dockertest.Pool, error) {
	pool, err := dockertest.NewPool("")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	// Ports are published on the loopback, and files of this machine mounted.
	for _, far := range []string{"ssh://", "tcp://", "http://", "https://"} {
		if strings.HasPrefix(pool.Client.Endpoint(), far) {
			return nil, fmt.Errorf("%w: the engine at %s may be on another machine, want one with a socket on this one", ErrUnavailable, pool.Client.Endpoint())
		}
	}
	pool.Client.SetTimeout(requestTimeout)
	if err := pool.Client.Ping(); err != nil {
		return nil, fmt.Errorf("%w: no engine answers (is Docker installed, does it run, may you use it?): %w", ErrUnavailable, err)
	}
	return pool, nil
}

// Run returns the value of the [Label] of what the engine makes.
func (e *Engine) Run() string { return e.run }

// Has returns nil if the image is on this machine, or [ErrUnavailable]. It never
// pulls one: what runs here is for the user to choose.
func (e *Engine) Has(image string) error {
	_, err := e.pool.Client.InspectImage(image)
	if errors.Is(err, api.ErrNoSuchImage) {
		return fmt.Errorf("%w: there is no image %s: get it with \"docker pull %[2]s\", or make one of this machine's redis-server with chaos/docker/image", ErrUnavailable, image)
	}
	if err != nil {
		return fmt.Errorf("docker: image %s: %w", image, err)
	}
	return nil
}

// Close removes all that the engine has made. Calling it again does no harm.
func (e *Engine) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, err := remove(ctx, e.pool.Client, e.run)
	if err != nil {
		return err // the reaper goes on trying
	}
	return e.reaper.dismiss()
}

// remove removes what bears the label of the run: containers with their volumes,
// and then networks. It returns how many there were.
func remove(ctx context.Context, client *api.Client, run string) (found int, err error) {
	label := map[string][]string{"label": {Label + "=" + run}}
	containers, err := client.ListContainers(api.ListContainersOptions{All: true, Filters: label, Context: ctx})
	if err != nil {
		return 0, fmt.Errorf("docker: %w", err)
	}
	var errs []error
	for _, c := range containers {
		errs = append(errs, removeContainer(ctx, client, c.ID))
	}
	networks, err := client.FilteredListNetworks(api.NetworkFilterOpts{"label": {Label + "=" + run: true}})
	errs = append(errs, err)
	for _, n := range networks {
		err := client.RemoveNetwork(n.ID)
		var gone *api.NoSuchNetwork
		if err != nil && !errors.As(err, &gone) {
			errs = append(errs, fmt.Errorf("docker: network %s: %w", n.Name, err))
		}
	}
	return len(containers) + len(networks), errors.Join(errs...)
}

func removeContainer(ctx context.Context, client *api.Client, id string) error {
	err := client.RemoveContainer(api.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true, Context: ctx})
	var gone *api.NoSuchContainer
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("docker: remove: %w", err)
	}
	return nil
}
