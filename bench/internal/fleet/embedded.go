package fleet

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/quorumlock/redlock/chaos/embedded"
	"github.com/quorumlock/redlock/chaos/proxy"
)

// A member is a node inside this process, behind a proxy that gives it a real
// address and counts what comes in.
type member struct {
	node  *embedded.Node
	front *proxy.Proxy

	mu    sync.Mutex
	calls map[string]int64 // guarded by mu
}

func startEmbedded(n int) (*Fleet, error) {
	nodes, stop := embedded.Start(n)
	f := &Fleet{Kind: Embedded, after: stop}
	for i, node := range nodes {
		front, err := proxy.StartDialer(node.Dial, uint64(i))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("fleet: %w", err), f.Close())
		}
		m := &member{node: node, front: front, calls: map[string]int64{}}
		m.listen()
		f.Nodes = append(f.Nodes, m)
	}
	return f, nil
}

// listen makes the proxy show every command but those that prepare a connection:
// to a fault that never acts.
func (m *member) listen() { m.front.Add(proxy.Fault{Kind: proxy.Cut, Match: m.sees}) }

func (m *member) stop() error { return m.front.Close() }

func (m *member) sees(args []string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[strings.ToLower(args[0])]++
	return false
}

func (m *member) Addr() string { return m.front.Addr() }

func (m *member) Reset() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.calls)
	return nil
}

func (m *member) Stats() (Stats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Stats{Calls: maps.Clone(m.calls)}, nil
}

func (m *member) Keys() (int, error) { return m.node.Len(), nil }

func (m *member) Kill() error {
	m.front.Add(proxy.Fault{Kind: proxy.Refuse})
	m.node.Down()
	m.front.Sever()
	return nil
}

func (m *member) Restart() error {
	m.node.Forget()
	m.node.Up()
	m.front.Heal()
	m.listen()
	return nil
}

func (m *member) Pause() error {
	m.node.Hang()
	return nil
}

func (m *member) Resume() error {
	m.node.Resume()
	return nil
}

func (m *member) Record() (Recording, error) {
	before, err := m.Stats()
	return &since{m, before}, err
}

// A since is the record of a member: what it counts from then on.
type since struct {
	member *member
	before Stats
}

func (s *since) Commands() (map[string]int, error) {
	now, err := s.member.Stats()
	counts := map[string]int{}
	for name, calls := range now.Calls {
		if n := calls - s.before.Calls[name]; n > 0 {
			counts[name] = int(n)
		}
	}
	return counts, err
}

func (*since) Close() error { return nil }
