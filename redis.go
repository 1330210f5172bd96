package redlock

import (
	"context"
	"crypto/tls"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

//go:embed lua/extend.lua
var extendSource string

//go:embed lua/release.lua
var releaseSource string

// The scripts' hashes, as arguments.
var (
	extendSHA  any = redis.NewScript(extendSource).Hash()
	releaseSHA any = redis.NewScript(releaseSource).Hash()
)

// encode returns what to send for c, SET or EVALSHA, or nil if its Op is
// unknown. It is made once and shared by all nodes of a round; nobody changes it.
// Strings go in by pointer: an interface holds one without a copy of its header.
func (c *Command) encode() []any {
	if args := c.encoded.Load(); args != nil {
		return *args
	}
	var args []any
	switch c.Op {
	case OpAcquire, OpHeal:
		args = []any{"set", &c.Key, &c.Value, "nx", "px", c.TTL.Milliseconds()}
	case OpExtend:
		args = []any{"evalsha", extendSHA, 1, &c.Key, &c.Value, c.TTL.Milliseconds()}
	case OpRelease:
		args = []any{"evalsha", releaseSHA, 1, &c.Key, &c.Value}
	default:
		return nil
	}
	c.encoded.CompareAndSwap(nil, &args)
	return args
}

// isScript reports whether c is sent as a script.
func (c *Command) isScript() bool { return c.Op == OpExtend || c.Op == OpRelease }

// encodeSource is encode with the script's source, for a server that does not
// know the script.
func (c *Command) encodeSource() []any {
	args := append([]any(nil), c.encode()...)
	args[0], args[1] = "eval", releaseSource
	if c.Op == OpExtend {
		args[1] = extendSource
	}
	return args
}

// A redisNode is a Redis master as a Node. All goes through one lane. Keys spread
// over two or four took 5 to 40 % longer near the server, where smaller pipelines
// cost both sides, and gained at most 10 % at 10 ms (BenchmarkDistance).
type redisNode struct {
	name string
	lane *lane
	end  context.CancelCauseFunc
}

// RedisNode makes a [Node] of the Redis master that opt describes, as [New] does,
// for whoever wraps or mixes nodes and passes them to [NewFrom]. It does no I/O.
// connectTimeout is as Options.ConnectTimeout; 0 means 5 s. The error wraps
// ErrInvalid if opt is nil or connectTimeout is negative.
func RedisNode(opt *redis.Options, connectTimeout time.Duration) (Node, error) {
	if opt == nil || connectTimeout < 0 {
		return nil, fmt.Errorf("redlock: %w: RedisNode with nil options or a negative connect timeout of %v", ErrInvalid, connectTimeout)
	}
	setDefault(&connectTimeout, 5*time.Second)
	return newRedisNode(opt, connectTimeout), nil
}

func newRedisNode(opt *redis.Options, connectTimeout time.Duration) *redisNode {
	life, end := context.WithCancelCause(context.Background())
	return &redisNode{
		name: addressOf(opt),
		lane: newLane(life, ownOptions(opt, connectTimeout), connectTimeout),
		end:  end,
	}
}

// addressOf returns the address that go-redis would dial, with host names in
// lower case: two spellings are one server.
func addressOf(opt *redis.Options) string {
	switch addr := opt.Addr; {
	case addr == "":
		return "localhost:6379"
	case opt.Network == "unix" || strings.HasPrefix(addr, "/"):
		return addr
	default:
		return strings.ToLower(addr)
	}
}

// ownOptions returns a copy of the caller's options in which nothing bounds,
// retries or repeats what the lock does. The lock's own time limits come with
// each command; MaxRetries of -1 matters most: a repeated SET NX whose reply was
// lost would report our own key as somebody else's.
func ownOptions(opt *redis.Options, connectTimeout time.Duration) *redis.Options {
	o := *opt
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialerRetryTimeout = 1 // go-redis v9.16 waits after the last try too
	o.DialTimeout = connectTimeout
	o.ReadTimeout = connectTimeout // the context's deadline is nearer
	o.WriteTimeout = connectTimeout
	o.PoolTimeout = connectTimeout
	o.ContextTimeoutEnabled = true
	// A lane makes a client for each connection and takes one from it. The
	// second place keeps the pool from taking one failed dial for a dead
	// server and dialing in the background.
	o.PoolSize = 2
	o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 0, 0, 0
	o.ConnMaxIdleTime, o.ConnMaxLifetime = -1, -1
	o.Limiter = nil
	if o.Protocol == 0 {
		o.Protocol = 2 // RESP3 makes go-redis look for push messages, which we have no use for
	}
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.Dialer == nil {
		o.Dialer = dialer(o.TLSConfig)
	}
	return &o
}

// dialer returns go-redis's default dialer, but one that ends with its context
// in the TLS handshake too.
func dialer(config *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	plain := &net.Dialer{KeepAlive: 5 * time.Minute}
	if config == nil {
		return plain.DialContext
	}
	secure := &tls.Dialer{NetDialer: plain, Config: config}
	return secure.DialContext
}

func (n *redisNode) String() string { return n.name }

func (n *redisNode) Connect(ctx context.Context) error { return n.lane.connect(ctx) }

func (n *redisNode) Send(r *Request) {
	if r.encode() == nil {
		if r.Begin() {
			r.Answer(Answer{Vote: VoteError, Err: ErrUnsupported})
		}
		return
	}
	n.lane.send(r)
}

func (n *redisNode) Close() error {
	n.end(ErrClosed)
	return nil // the end of its life closes the lane
}

// answerOf turns a reply of go-redis, to a script or to SET, into an answer.
func answerOf(script bool, cmd *redis.Cmd) Answer {
	reply, err := cmd.Result()
	switch {
	case err == nil:
		return answerOfReply(script, reply)
	case errors.Is(err, redis.Nil) && script:
		return Answer{Vote: VoteAbsent}
	case errors.Is(err, redis.Nil):
		return Answer{Vote: VoteForeign} // SET NX does not say whose
	case isReply(err):
		return Answer{Vote: VoteError, Err: err}
	default:
		return Answer{Vote: VoteUnknown, Err: nodeError(err)}
	}
}

// isReply reports whether err is an error that the server replied.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func answerOfReply(script bool, reply any) Answer {
	switch reply := reply.(type) {
	case int64:
		if reply == 1 && script {
			return Answer{Vote: VoteYes}
		}
	case string:
		if script {
			return Answer{Vote: VoteForeign, Value: reply}
		}
		if reply == "OK" {
			return Answer{Vote: VoteYes}
		}
	}
	// Not a server that keeps to the protocol: who knows what it did.
	return Answer{Vote: VoteUnknown, Err: errBadReply}
}

var errBadReply = errors.New("reply that makes no sense")

// nodeError replaces a time-out of the network by ErrNodeTimeout.
func nodeError(err error) error {
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return ErrNodeTimeout
	}
	return err
}

// parseURL is redis.ParseURL with errors that hold nothing of the URL.
func parseURL(s string) (*redis.Options, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("does not parse as a URL")
	}
	if strings.Contains(s, "#") { // what is before it would be taken for the host
		return nil, errors.New("has a #, which a password needs as %23")
	}
	switch u.Scheme {
	case "redis", "rediss":
		if u.Host == "" {
			return nil, errors.New("has no host")
		}
	case "unix":
	default:
		return nil, errors.New("has a scheme other than redis, rediss and unix")
	}
	opt, err := redis.ParseURL(s)
	if err != nil {
		return nil, errors.New("has a path that is not a database number, or an option that go-redis does not know")
	}
	return opt, nil
}
