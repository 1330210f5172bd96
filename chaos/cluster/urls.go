package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/chaos/plan"
)

// NewURLs returns a cluster of somebody's own masters. Faults are made on this
// side only, by the proxies in front of the masters and by the clients. Nothing
// is done to a master that the lock itself, GET and PTTL would not do, and that
// only to keys that begin with the plan's KeyPrefix, which live for a TTL at most.
//
// A proxy must read what it is to lose, so TLS ends in it: it speaks TLS to the
// master, checks its certificate as the URL says, and speaks in the clear with
// clients on this machine's loopback, which log in themselves.
func NewURLs(s Setup, urls []string) (_ Cluster, err error) {
	if s.Plan.KeyPrefix == "" {
		return nil, errors.New("masters of somebody's own without a prefix for keys")
	}
	masters, err := Masters(urls)
	if err != nil {
		return nil, err
	}
	if s.Plan.Nodes > len(masters) {
		return nil, fmt.Errorf("the plan is for %d nodes, want as many URLs instead of %d", s.Plan.Nodes, len(masters))
	}
	if err := tryOut(masters[:s.Plan.Nodes], s.Plan.KeyPrefix); err != nil {
		return nil, err
	}
	var servers []server
	for _, m := range masters[:s.Plan.Nodes] {
		servers = append(servers, &urlServer{Master: m, looks: redis.NewClient(m.clear())})
	}
	return newProxied(s, servers)
}

// A Master is one of somebody's own.
type Master struct{ options *redis.Options }

// Masters reads URLs as redlock.Open does. No error shows any of them.
func Masters(urls []string) (masters []Master, err error) {
	client, err := redlock.Open(urls, nil) // which has all the rules, and connects to nothing yet
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, u := range urls {
		options, err := redis.ParseURL(u)
		if err != nil {
			return nil, errors.New("a URL that go-redis cannot read") // Open would have said so
		}
		masters = append(masters, Master{options})
	}
	return masters, nil
}

// String returns what may be shown: no password.
func (m Master) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, database %d", m.options.Addr, m.options.DB)
	if m.options.Username != "" {
		fmt.Fprintf(&b, ", user %s", m.options.Username)
	}
	switch {
	case m.options.TLSConfig != nil && m.options.TLSConfig.InsecureSkipVerify:
		b.WriteString(", TLS without a look at the certificate")
	case m.options.TLSConfig != nil:
		b.WriteString(", TLS")
	}
	return b.String()
}

func (m Master) dial(ctx context.Context) (net.Conn, error) {
	plain := &net.Dialer{Timeout: 5 * time.Second}
	network := cmp.Or(m.options.Network, "tcp")
	if m.options.TLSConfig == nil {
		return plain.DialContext(ctx, network, m.options.Addr)
	}
	secure := &tls.Dialer{NetDialer: plain, Config: m.options.TLSConfig}
	return secure.DialContext(ctx, network, m.options.Addr)
}

// clear returns options without what the URL says of sizes and times, for a
// client that asks nothing of the master but what it is told to.
func (m Master) clear() *redis.Options {
	o := m.options
	return &redis.Options{
		Addr: o.Addr, Username: o.Username, Password: o.Password, DB: o.DB, Protocol: cmp.Or(o.Protocol, 2),
		Dialer:     func(ctx context.Context, _, _ string) (net.Conn, error) { return m.dial(ctx) },
		MaxRetries: -1, PoolSize: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// patience is how long clients wait for a master, as by default.
const patience = 50 * time.Millisecond

// tryOut takes and gives up a lock on each master by itself, so that one that is
// down or far away, or whose user lacks a right, is named before anything is judged.
// While all are held it sees whether two URLs lead to the same keys.
func tryOut(masters []Master, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i, m := range masters {
		client, err := redlock.New([]*redis.Options{m.clear()}, &redlock.Options{
			KeyPrefix: prefix, Owner: "try-out",
			NodeTimeout: 2 * time.Second, // a busy machine's first answer is no sign of anything
		})
		if err != nil {
			return err
		}
		defer client.Close()
		lock, err := client.TryAcquire(ctx, "hello", 10*time.Second)
		if errors.Is(err, redlock.ErrHeld) {
			return fmt.Errorf("master %d (%v) has the key of one before it: they are one server, or share data", i+1, m)
		}
		if err != nil {
			return fmt.Errorf("master %d (%v): %w", i+1, m, err)
		}
		defer func() { _ = lock.Release(ctx) }() // otherwise it runs out
		if err := lock.Extend(ctx, 10*time.Second); err != nil {
			return fmt.Errorf("master %d (%v): %w", i+1, m, err)
		}
		server := &urlServer{Master: m, looks: redis.NewClient(m.clear())}
		var ttl, fastest time.Duration
		var ok bool
		for tries := 0; tries < 5 && err == nil && (tries == 0 || fastest > patience); tries++ {
			start := time.Now()
			_, ttl, ok, err = server.get(prefix + "hello")
			fastest = time.Since(start) / 2 // GET and PTTL
		}
		_ = server.close()
		if err != nil || !ok || ttl <= 0 {
			return fmt.Errorf("master %d (%v): a look at a key with GET and PTTL: found %v with TTL %v: %w", i+1, m, ok, ttl, cmp.Or(err, errors.New("want the lock's")))
		}
		if fastest > patience {
			return fmt.Errorf("master %d (%v) takes %v to answer, and clients wait for %v: run this from where your clients are", i+1, m, fastest, patience)
		}
	}
	return nil
}

type urlServer struct {
	Master
	looks *redis.Client // past the proxies
}

// contact implements [guarded].
func (u *urlServer) contact() Contact {
	o := u.options
	return Contact{Username: o.Username, Password: o.Password, DB: o.DB, Protocol: o.Protocol}
}

func (u *urlServer) can(fault string) error { return CanURLs(fault) }

// CanURLs returns nil if a cluster of somebody's own masters can do the fault, or
// [ErrCannot] with the reason.
func CanURLs(fault string) error {
	if f, ok := plan.Find(fault); ok && f.OfClients {
		return nil
	}
	if _, ok := ofNetwork(&plan.Step{Fault: fault}); ok {
		return nil
	}
	return fmt.Errorf("%s: %w", fault, errNotOurs)
}

// errNotOurs is why nothing is done to a master.
var errNotOurs = fmt.Errorf("%w: it would be done to a master that is not ours", ErrCannot)

func (u *urlServer) kill() error              { return errNotOurs }
func (u *urlServer) start(bool) error         { return errNotOurs }
func (u *urlServer) pause() error             { return errNotOurs }
func (u *urlServer) resume() error            { return errNotOurs }
func (u *urlServer) flush() error             { return errNotOurs }
func (u *urlServer) jump(time.Duration) error { return errNotOurs }
func (u *urlServer) rate(float64) error       { return errNotOurs }
func (u *urlServer) isDown() (bool, error)    { return false, errNotOurs }
func (u *urlServer) isPaused() (bool, error)  { return false, errNotOurs }

// offset would need TIME, which the lock has no right to.
func (u *urlServer) offset() (time.Duration, error) { return 0, errNotOurs }

func (u *urlServer) get(key string) (value string, ttl time.Duration, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	value, err = u.looks.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", 0, false, nil
	}
	if err != nil {
		return "", 0, false, err
	}
	switch ttl, err = u.looks.PTTL(ctx, key).Result(); ttl {
	case -2: // it ran out meanwhile
		return "", 0, false, err
	default:
		return value, ttl, true, err
	}
}

func (u *urlServer) close() error { return u.looks.Close() }
