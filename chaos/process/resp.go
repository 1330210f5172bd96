package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// doTimeout bounds a command sent directly.
const doTimeout = 5 * time.Second

// maxReply bounds the length of a string and of an array in a reply.
const maxReply = 64 << 20

// A ReplyError is an error reply of the server: "NOAUTH Authentication required."
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// Code returns the first word.
func (e ReplyError) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// Do sends one command to the server at addr over a connection of its own and
// returns the reply: a string, an int64, nil, or a []any of these and of
// ReplyErrors. An error reply is returned as an error of type [ReplyError].
func Do(addr string, args ...string) (any, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reply, err := c.do(args)
	if err != nil {
		return nil, fmt.Errorf("process: %q to %s: %w", args, addr, err)
	}
	if failure, ok := reply.(ReplyError); ok {
		return nil, failure
	}
	return reply, nil
}

type conn struct {
	net.Conn
	r *bufio.Reader
}

// dial returns a connection that is good for doTimeout.
func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, doTimeout)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	if err := c.SetDeadline(time.Now().Add(doTimeout)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{Conn: c, r: bufio.NewReader(c)}, nil
}

func (c *conn) do(args []string) (any, error) {
	if _, err := io.WriteString(c, encode(args)); err != nil {
		return nil, err
	}
	return readReply(c.r)
}

func encode(args []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.String()
}

// readReply reads a reply of version 2 of the protocol.
func readReply(r *bufio.Reader) (any, error) {
	line, err := readLine(r)
	if err != nil {
		return nil, err
	}
	if line == "" {
		return nil, errors.New("empty line for a reply")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '+':
		return rest, nil
	case '-':
		return ReplyError(rest), nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	case '$', '*':
		n, err := strconv.Atoi(rest)
		if err != nil || n < -1 || n > maxReply {
			return nil, fmt.Errorf("length of reply %q", line)
		}
		if n == -1 {
			return nil, nil
		}
		if kind == '$' {
			return readString(r, n)
		}
		return readArray(r, n)
	default:
		return nil, fmt.Errorf("reply %q", line)
	}
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	return strings.TrimSuffix(line, "\r\n"), err
}

func readString(r *bufio.Reader, n int) (any, error) {
	b := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return string(b[:n]), nil
}

func readArray(r *bufio.Reader, n int) (any, error) {
	var fields []any // grown, because n is only a promise
	for range n {
		field, err := readReply(r)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	return fields, nil
}
