package fleet

import (
	"fmt"
	"strings"
	"sync"

	"github.com/quorumlock/redlock/chaos/process"
)

// A server is a redis-server process. It counts the bytes that it moves itself,
// to leave them out.
type server struct {
	*process.Server

	mu      sync.Mutex
	in, out int64 // since Reset; guarded by mu
}

func (s *server) Reset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.Do("CONFIG", "RESETSTAT")
	s.in, s.out = 0, int64(len("+OK\r\n")) // written when the counts are zero
	return err
}

func (s *server) Stats() (Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := s.Do("INFO", "everything")
	if err != nil {
		return Stats{}, err
	}
	info, ok := reply.(string)
	if !ok {
		return Stats{}, fmt.Errorf("fleet: INFO answered with %T", reply)
	}
	stats, err := parseInfo(info)
	s.in += sizeOf("INFO", "everything") // read by now, and its reply not yet written
	stats.BytesIn -= s.in
	stats.BytesOut -= s.out
	s.out += int64(len(fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)))
	stats.Clients-- // the one that asks
	return stats, err
}

func (s *server) Keys() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.Dbsize()
	s.in += sizeOf("DBSIZE")
	s.out += int64(len(fmt.Sprintf(":%d\r\n", n)))
	return n, err
}

// sizeOf returns how many bytes a command is on the wire.
func sizeOf(args ...string) int64 {
	size := len(fmt.Sprintf("*%d\r\n", len(args)))
	for _, a := range args {
		size += len(fmt.Sprintf("$%d\r\n%s\r\n", len(a), a))
	}
	return int64(size)
}

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
