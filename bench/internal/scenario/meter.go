package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/quorumlock/redlock"
	"github.com/quorumlock/redlock/bench/internal/fleet"
)

// A meter reads what the servers count.
type meter struct {
	fleet         *fleet.Fleet
	records       []fleet.Recording
	sets, scripts int64 // at the last reading, on all nodes
}

// A tally is what the servers counted.
type tally struct {
	acquired, extended, released int64   // on all nodes
	nodes                        []int64 // all, on each node
	sent                         int64   // by clients, whatever it was, as MONITOR saw it
}

// startMeter sets the counts to zero. close ends it.
func startMeter(f *fleet.Fleet) (*meter, error) {
	m := &meter{fleet: f}
	if err := f.Reset(); err != nil {
		return nil, err
	}
	for _, n := range f.Nodes {
		r, err := n.Record()
		if err != nil {
			m.close()
			return nil, err
		}
		m.records = append(m.records, r)
	}
	return m, nil
}

func (m *meter) close() {
	for _, r := range m.records {
		_ = r.Close()
	}
}

// read takes a reading.
func (m *meter) read() ([]fleet.Stats, error) {
	stats, err := m.fleet.Stats()
	m.sets, m.scripts = 0, 0
	for _, s := range stats {
		m.sets += s.Calls["set"]
		m.scripts += s.Scripts()
	}
	return stats, err
}

// expect waits until the servers have carried out so many commands: an operation
// returns at a quorum, and the other nodes follow.
func (m *meter) expect(ctx context.Context, commands int64) error {
	arrived, err := until(ctx, patient, func() (bool, error) {
		_, err := m.read()
		return m.sets+m.scripts >= commands, err
	})
	if err != nil {
		return err
	}
	if !arrived {
		return fmt.Errorf("the servers counted %d commands in %v, not %d", m.sets+m.scripts, patient, commands)
	}
	return nil
}

// settle waits until as much has been carried out as the bill says, or a moment
// is over: not all clients keep to the formula.
func (m *meter) settle(ctx context.Context, bill Bill) (stats []fleet.Stats, err error) {
	_, err = until(ctx, 300*time.Millisecond, func() (bool, error) {
		stats, err = m.read()
		return m.sets+m.scripts >= int64(bill.Total()), err
	})
	return stats, err
}

// end shuts the client down, after which nothing comes any more, and returns
// what was counted in all.
func (m *meter) end(ctx context.Context, client *redlock.Client) (t tally, err error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	if err := client.Shutdown(ctx); err != nil {
		return t, err
	}
	stats, err := m.read()
	if err != nil {
		return t, err
	}
	t.acquired = m.sets
	for _, s := range stats {
		t.nodes = append(t.nodes, s.Locking())
	}
	t.sent, err = m.sent()
	return t, err
}

// sent returns how many commands clients have sent.
func (m *meter) sent() (sent int64, err error) {
	for _, r := range m.records {
		commands, err := r.Commands()
		if err != nil {
			return 0, err
		}
		for _, times := range commands {
			sent += int64(times)
		}
	}
	return sent, nil
}
