package process

import (
	"errors"
	"fmt"
	"time"
)

// What PTTL returns instead of a time.
const (
	NoExpiry time.Duration = -1 // the key lives for ever
	NoKey    time.Duration = -2 // there is no such key
)

// Do sends one command to the server over a connection of its own; see the
// function [Do].
func (s *Server) Do(args ...string) (any, error) { return Do(s.Addr(), args...) }

// Get returns the string under key in database 0, and whether there is one.
func (s *Server) Get(key string) (string, bool, error) {
	reply, err := s.Do("GET", key)
	value, ok := reply.(string)
	return value, ok, err
}

// Dbsize returns how many keys database 0 has, those counted that have expired
// but that the server has not noticed yet.
func (s *Server) Dbsize() (int, error) {
	n, err := s.integer("DBSIZE")
	return int(n), err
}

// PTTL returns how long key in database 0 will live, [NoExpiry] or [NoKey].
func (s *Server) PTTL(key string) (time.Duration, error) {
	n, err := s.integer("PTTL", key)
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		return time.Duration(n), nil
	default:
		return time.Duration(n) * time.Millisecond, nil
	}
}

func (s *Server) integer(args ...string) (int64, error) {
	reply, err := s.Do(args...)
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("process: %q answered with %T %v, want an integer", args, reply, reply)
	}
	return n, nil
}

// answers returns nil if the server at addr carries out commands, or refuses
// them for want of a password, which Config.Args may have set.
func answers(addr string) error {
	_, err := Do(addr, "PING") // refused while data is being loaded
	var failure ReplyError
	if errors.As(err, &failure) && failure.Code() == "NOAUTH" {
		return nil
	}
	return err
}
