package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxCommands bounds what a Monitor records.
const maxCommands = 1 << 20

// A Command is one that a server carried out.
type Command struct {
	Time   time.Time // on the server's clock
	DB     int
	Client string   // its address, or "lua" for a call from a script
	Args   []string // as sent: no escapes, the name in the client's spelling
}

// A Monitor records every command that a server carries out. Not seen are
// administrative commands, and those that carry passwords.
type Monitor struct {
	addr  string
	conn  *conn
	ended chan struct{} // closed when nothing more will be recorded

	mu       sync.Mutex
	commands []Command                // guarded by mu
	marks    map[string]chan struct{} // guarded by mu: closed when seen
	err      error                    // guarded by mu: why it ended
}

// Monitor starts recording; see [NewMonitor].
func (s *Server) Monitor() (*Monitor, error) { return NewMonitor(s.Addr()) }

// NewMonitor starts recording what the server at addr carries out from now on.
// The caller must call Close.
func NewMonitor(addr string) (*Monitor, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	reply, err := c.do([]string{"MONITOR"})
	if err == nil && reply != "OK" {
		err = fmt.Errorf("process: MONITOR answered with %v", reply)
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	m := &Monitor{addr: addr, conn: c, ended: make(chan struct{}), marks: map[string]chan struct{}{}}
	go m.record()
	return m, nil
}

// Commands returns what the server has carried out since the Monitor started,
// in order: everything that was answered before Commands was called is in it.
// With an error it may be incomplete.
func (m *Monitor) Commands() ([]Command, error) {
	err := m.sync()
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.commands), err
}

// sync waits until the record has reached a command sent now.
func (m *Monitor) sync() error {
	mark, seen := rand.Text(), make(chan struct{})
	m.mu.Lock()
	m.marks[mark] = seen
	m.mu.Unlock()
	if _, err := Do(m.addr, "ECHO", mark); err != nil {
		return err
	}
	select {
	case <-seen:
		return nil
	case <-m.ended:
		m.mu.Lock()
		defer m.mu.Unlock()
		return fmt.Errorf("process: the record has ended: %w", m.err)
	case <-time.After(doTimeout):
		return fmt.Errorf("process: the record is more than %v behind", doTimeout)
	}
}

// Close ends the record. What was recorded stays.
func (m *Monitor) Close() error {
	err := m.conn.Close()
	<-m.ended
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (m *Monitor) record() {
	defer close(m.ended)
	for {
		line, err := readLine(m.conn.r)
		if err == nil {
			err = m.add(line)
		}
		if err != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.err = err
			return
		}
	}
}

func (m *Monitor) add(line string) error {
	command, err := parseCommand(strings.TrimPrefix(line, "+"))
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(command.Args) == 2 {
		if seen, ok := m.marks[command.Args[1]]; ok {
			delete(m.marks, command.Args[1])
			close(seen)
			return nil
		}
	}
	if len(m.commands) == maxCommands {
		return fmt.Errorf("process: more than %d commands", maxCommands)
	}
	m.commands = append(m.commands, command)
	return nil
}

// parseCommand reads a line of MONITOR's:
//
//	1339518083.107412 [0 127.0.0.1:60866] "set" "k" "\x00\"\n"
func parseCommand(line string) (Command, error) {
	broken := func() (Command, error) {
		return Command{}, fmt.Errorf("process: line of MONITOR: %q", line)
	}
	head, args, ok := strings.Cut(line, "] ")
	when, from, ok2 := strings.Cut(head, " [")
	number, client, ok3 := strings.Cut(from, " ")
	seconds, micros, ok4 := strings.Cut(when, ".")
	sec, err := strconv.ParseInt(seconds, 10, 64)
	usec, err2 := strconv.ParseInt(micros, 10, 64)
	db, err3 := strconv.Atoi(number)
	if !ok || !ok2 || !ok3 || !ok4 || errors.Join(err, err2, err3) != nil {
		return broken()
	}
	command := Command{Time: time.Unix(sec, usec*1000), DB: db, Client: client}
	for args != "" {
		// The server's escapes are a subset of Go's.
		quoted, err := strconv.QuotedPrefix(args)
		if err != nil {
			return broken()
		}
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			return broken()
		}
		command.Args = append(command.Args, arg)
		args = strings.TrimPrefix(args[len(quoted):], " ")
	}
	return command, nil
}
