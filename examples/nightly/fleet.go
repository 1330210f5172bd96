package main

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/embedded"
)

// A fleet is the nodes that vote.
type fleet struct {
	urls  []string         // somebody's own masters
	nodes []*embedded.Node // or nodes inside this process
	stop  func()
}

const embeddedNodes = 5

// newFleet returns the masters at the URLs, which are separated by commas, or
// nodes inside this process if there are none.
func newFleet(urls string) *fleet {
	if urls != "" {
		return &fleet{urls: strings.Split(urls, ","), stop: func() {}}
	}
	nodes, stop := embedded.Start(embeddedNodes)
	return &fleet{nodes: nodes, stop: stop}
}

func (f *fleet) String() string {
	if f.nodes == nil {
		return fmt.Sprintf("%d nodes, yours", len(f.urls))
	}
	return fmt.Sprintf("%d nodes inside this process", len(f.nodes))
}

// connect returns a client of its own for a server, as every process of a real
// fleet has one.
func (f *fleet) connect(opts *redlock.Options) (*redlock.Client, error) {
	if f.nodes == nil {
		return redlock.Open(f.urls, opts)
	}
	var nodes []*redis.Options
	for _, n := range f.nodes {
		nodes = append(nodes, n.Options())
	}
	return redlock.New(nodes, opts)
}
