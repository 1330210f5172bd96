package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/quorumlock/redlock/bench/internal/contender"
	"github.com/quorumlock/redlock/bench/internal/fleet"
	"github.com/quorumlock/redlock/bench/internal/scenario"
	"github.com/quorumlock/redlock/chaos/process"
)

var peers = []contender.Contender{redsyncDefault, redsyncFailFast, redsyncShort, redsyncRueidis, rueidisLock, bsmLock}

// A peer that would not exclude would win every comparison.
func TestEveryPeerExcludesWaitsAndReleases(t *testing.T) {
	process.Need(t)
	for _, c := range peers {
		t.Run(c.Name, func(t *testing.T) {
			f, err := fleet.Start(t.Context(), fleet.Process, 3)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			client, err := c.Open(t.Context(), f.Addrs())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			held := acquire(t, client)
			if l, err := client.Acquire(t.Context(), "name", time.Minute); err == nil {
				t.Fatalf("a held lock was acquired: %v", l)
			}
			if x, ok := held.(contender.Extender); ok {
				if err := x.Extend(t.Context(), time.Minute); err != nil {
					t.Errorf("extend: %v", err)
				}
			}
			waited := make(chan error, 1)
			go func() {
				l, err := client.(contender.Waiter).Wait(context.Background(), "name", time.Minute)
				if err == nil {
					err = l.Release(context.Background())
				}
				waited <- err
			}()
			if err := held.Release(t.Context()); err != nil {
				t.Errorf("release: %v", err)
			}
			if err := <-waited; err != nil {
				t.Errorf("wait: %v", err)
			}
			if stats, err := f.Stats(); err != nil || c.Nodes == 1 && stats[1].Calls["set"] > 0 {
				t.Errorf("a client of one node used others: %v, %v", stats, err)
			}
		})
	}
}

// acquire tries until it succeeds: a busy machine exceeds 10 ms now and then.
func acquire(t *testing.T, client contender.Client) contender.Lock {
	t.Helper()
	for {
		l, err := client.Acquire(t.Context(), "name", time.Minute)
		if err == nil {
			return l
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scenarios() {
		if s.Name == "" || s.Title == "" || s.About == "" || seen[s.Name] {
			t.Errorf("scenario %+v", s)
		}
		seen[s.Name] = true
	}
}

func TestPricesAreMeasured(t *testing.T) {
	process.Need(t)
	e := scenario.NewEnv(fleet.Process, true, 1, io.Discard)
	sections, err := e.Run(t.Context(), scenario.Price([]contender.Contender{redsyncDefault, rueidisLock, bsmLock}))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections[0].Samples {
		if s.Quantity == "sent for a lock" && s.Param("N") == "1" && s.Median() != 2 {
			t.Errorf("one node: %v", s.String())
		}
	}
}
