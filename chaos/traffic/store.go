package traffic

import (
	"sync"
	"time"

	"github.com/quorumlock/redlock/chaos/history"
)

// A store is what the locks protect: for each name a cell whose version every
// write raises. It takes whatever is written, also by stale holders: whether the
// lock alone was enough is what the history is to show.
type store struct {
	log *history.Recorder

	mu       sync.Mutex
	versions map[string]int // guarded by mu
}

// cells are the store as a client sees it: the one in this process, or the way to
// it. looked is when the client looked at its lock, and found it valid.
type cells interface {
	// read returns the cell's version.
	read(client int, name, token string, looked time.Duration) int

	// write writes what was made of version based. until is the end of the
	// holder's validity as it knew it.
	write(client int, name, token string, based int, until, looked time.Duration)
}

func (s *store) read(client int, name, token string, looked time.Duration) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.versions[name]
	s.log.Add(history.Event{Kind: history.Read, Client: client, Name: name, Token: token, Version: v, Looked: looked})
	return v
}

func (s *store) write(client int, name, token string, based int, until, looked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[name]++
	s.log.Add(history.Event{
		Kind: history.Write, Client: client, Name: name, Token: token,
		Version: s.versions[name], Based: based, Until: until, Looked: looked,
	})
}
