package cluster

import (
	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock"
)

// A Contact is how a client reaches a node, as data: a client may be a process
// of its own, which makes its connections itself.
type Contact struct {
	Addr     string `json:"addr"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	DB       int    `json:"db,omitempty"`
	Protocol int    `json:"protocol,omitempty"` // 0: the lock's choice
}

// A guarded server is one that clients have to log in to.
type guarded interface {
	contact() Contact // without Addr
}

// Connect returns the connections to the nodes.
func Connect(contacts []Contact) ([]redlock.Node, error) {
	var nodes []redlock.Node
	for _, c := range contacts {
		n, err := redlock.RedisNode(&redis.Options{Addr: c.Addr, Username: c.Username, Password: c.Password, DB: c.DB, Protocol: c.Protocol}, 0)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// Reachable is a [Cluster] whose nodes other processes of the machine can reach,
// too.
type Reachable interface {
	Cluster

	// Contacts returns what Client connects to.
	Contacts(client int) []Contact
}
