package fleet

import (
	"fmt"
	"strings"

	"github.com/quorumlock/redlock/chaos/process"
)

// A server is a redis-server process.
type server struct{ *process.Server }

func (s *server) Reset() error {
	_, err := s.Do("CONFIG", "RESETSTAT")
	return err
}

func (s *server) Stats() (Stats, error) {
	reply, err := s.Do("INFO", "everything")
	if err != nil {
		return Stats{}, err
	}
	info, ok := reply.(string)
	if !ok {
		return Stats{}, fmt.Errorf("fleet: INFO answered with %T", reply)
	}
	stats, err := parseInfo(info)
	stats.Clients-- // the one that asks
	return stats, err
}

func (s *server) Keys() (int, error) { return s.Dbsize() }

func (s *server) Restart() error { return s.Server.Restart(false) }

func (s *server) stop() error { return s.Stop() }

func (s *server) Record() (Recording, error) {
	m, err := s.Monitor()
	if err != nil {
		return nil, err
	}
	return recording{m}, nil
}

// A recording is MONITOR's.
type recording struct{ *process.Monitor }

// ofConnections are commands that prepare a connection, or are the looking's.
var ofConnections = map[string]bool{
	"hello": true, "auth": true, "select": true, "client": true, "script": true,
	"info": true, "config": true, "echo": true, "dbsize": true, "monitor": true,
}

func (r recording) Commands() (map[string]int, error) {
	commands, err := r.Monitor.Commands()
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, c := range commands {
		if name := strings.ToLower(c.Args[0]); c.Client != "lua" && !ofConnections[name] {
			counts[name]++
		}
	}
	return counts, nil
}
