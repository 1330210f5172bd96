package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Limits of what is taken for a message. Redis has the first as its own.
const (
	maxBulk  = 512 << 20
	maxLine  = 1 << 20
	maxDepth = 64       // of replies inside replies
	growth   = 1 << 20  // how much memory a length on its own can claim
	maxArray = 16 << 20 // of fields in one array
)

// errMalformed is the error of bytes that are no message. They are passed on:
// it is for the other side to refuse them.
var errMalformed = errors.New("proxy: malformed message")

// A request is one command as a client sent it.
type request struct {
	raw  []byte
	name string   // in capitals
	ends [][2]int // where the name and each argument begin and end; none if a server does not answer
}

// args returns the name and the arguments as sent.
func (q *request) args() []string {
	args := make([]string, len(q.ends))
	for i, end := range q.ends {
		args[i] = string(q.raw[end[0]:end[1]])
	}
	return args
}

// is reports whether the request is the command: "SET", or with the first
// argument, "CLIENT REPLY".
func (q *request) is(command string) bool {
	name, sub, two := strings.Cut(command, " ")
	if !strings.EqualFold(name, q.name) {
		return false
	}
	return !two || len(q.ends) > 1 && strings.EqualFold(sub, string(q.raw[q.ends[1][0]:q.ends[1][1]]))
}

func (q *request) isAny(commands []string) bool { return slices.ContainsFunc(commands, q.is) }

// handshake are the commands that prepare a connection.
var handshake = []string{"HELLO", "AUTH", "SELECT", "CLIENT", "SCRIPT"}

// streaming are the commands after which replies and requests do not alternate.
var streaming = []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "SYNC", "PSYNC", "CLIENT REPLY"}

// readRequest reads a command: an array of strings, or a line. With errMalformed
// the request has the bytes that were read.
func readRequest(r *bufio.Reader) (*request, error) {
	raw, err := readLine(r, make([]byte, 0, 128))
	q := &request{raw: raw}
	if err != nil {
		return q, err
	}
	if raw[0] != '*' {
		q.inline()
		return q, nil
	}
	n, err := length(raw, maxArray)
	if err != nil {
		return q, err
	}
	for range n {
		start := len(q.raw)
		if q.raw, err = readLine(r, q.raw); err != nil {
			return q, err
		}
		if q.raw[start] != '$' {
			return q, errMalformed
		}
		size, err := length(q.raw[start:], maxBulk)
		if err != nil || size < 0 {
			return q, errMalformed
		}
		begin := len(q.raw)
		if q.raw, err = readBulk(r, q.raw, size); err != nil {
			return q, err
		}
		q.ends = append(q.ends, [2]int{begin, begin + size})
	}
	q.named()
	return q, nil
}

// inline finds the words of a command that is a line.
func (q *request) inline() {
	for i := 0; i < len(q.raw); {
		rest := q.raw[i:]
		begin := i + len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
		if begin == len(q.raw) {
			break
		}
		i = len(q.raw)
		if n := bytes.IndexAny(q.raw[begin:], " \t\r\n"); n >= 0 {
			i = begin + n
		}
		q.ends = append(q.ends, [2]int{begin, i})
	}
	q.named()
}

func (q *request) named() {
	if len(q.ends) > 0 {
		q.name = strings.ToUpper(string(q.raw[q.ends[0][0]:q.ends[0][1]]))
	}
}

// readReply appends one reply of version 2 or 3 of the protocol to raw. With
// errMalformed, raw has the bytes that were read.
func readReply(r *bufio.Reader, raw []byte, depth int) ([]byte, error) {
	start := len(raw)
	raw, err := readLine(r, raw)
	if err != nil {
		return raw, err
	}
	line := raw[start:]
	switch line[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return raw, nil
	case '$', '=', '!':
		n, err := length(line, maxBulk)
		if err != nil || n < 0 {
			return raw, err
		}
		return readBulk(r, raw, n)
	case '*', '~', '>', '%', '|':
		n, err := length(line, maxArray)
		if err != nil || depth == maxDepth {
			return raw, errMalformed
		}
		switch line[0] {
		case '%':
			n *= 2
		case '|':
			n = 2*n + 1 // attributes, and then the reply that has them
		}
		for range n {
			if raw, err = readReply(r, raw, depth+1); err != nil {
				return raw, err
			}
		}
		return raw, nil
	default:
		return raw, errMalformed
	}
}

// readLine appends a line with its end to raw.
func readLine(r *bufio.Reader, raw []byte) ([]byte, error) {
	start := len(raw)
	for {
		part, err := r.ReadSlice('\n')
		raw = append(raw, part...)
		switch {
		case err == nil:
			return raw, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return raw, err
		case len(raw)-start > maxLine:
			return raw, errMalformed
		}
	}
}

// length returns the number in the line "*3\r\n", -1 for what does not exist.
func length(line []byte, limit int) (int, error) {
	n, err := strconv.Atoi(string(bytes.TrimRight(line[1:], "\r\n")))
	if err != nil || n < -1 || n > limit {
		return 0, fmt.Errorf("%w: length %q", errMalformed, line)
	}
	return n, nil
}

// readBulk appends n bytes and the end of the line. Memory grows with what
// arrives: n is only a promise.
func readBulk(r *bufio.Reader, raw []byte, n int) ([]byte, error) {
	for left := n + len("\r\n"); left > 0; {
		begin, part := len(raw), min(left, growth)
		raw = slices.Grow(raw, part)[:begin+part]
		got, err := io.ReadFull(r, raw[begin:])
		if err != nil {
			return raw[:begin+got], err
		}
		left -= part
	}
	if !bytes.HasSuffix(raw, []byte("\r\n")) {
		return raw, errMalformed
	}
	return raw, nil
}
