package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quorumlock/redlock/chaos/cluster"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// printList lists faults and plans.
func (s *settings) printList() (int, error) {
	clusters, cannot := map[string]cluster.Cluster{}, ""
	for _, backend := range backends {
		if backend == "sim" || backend == "urls" { // nothing to probe
			continue
		}
		c, err := s.probe(backend)
		if err != nil {
			cannot += fmt.Sprintf("\n-backend %s: %v", backend, err)
			continue
		}
		defer c.Close()
		clusters[backend] = c
	}
	out := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "FAULT\tRUNS ON\tWHAT HAPPENS")
	for _, f := range plan.Faults {
		fmt.Fprintf(out, "%s\t%s\t%s\n", f.Name, strings.Join(where(clusters, f), " "), f.About)
	}
	if cannot != "" {
		fmt.Fprintln(out, cannot)
	}
	fmt.Fprintln(out, "\nPLAN\tCLASS\tWHAT IS ATTACKED\tEXPECTED")
	for _, m := range plan.Catalog {
		p := m.Make(s.seed, s.nodes)
		class := string(p.Class)
		if p.Breaks != "" {
			class += " (" + p.Breaks + ")"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", p.Name, class, p.About, p.Expect)
	}
	return exitAsPromised, out.Flush()
}

// where returns the backends that can do the fault here, now.
func where(clusters map[string]cluster.Cluster, f plan.Fault) (names []string) {
	for _, name := range backends {
		c := clusters[name]
		if name == "urls" && cluster.CanURLs(f.Name) == nil {
			names = append(names, name)
			continue
		}
		if name == "sim" && new(cluster.Sim).Can(f.Name) == nil || c != nil && (f.OfClients || c.Can(f.Name) == nil) {
			names = append(names, name)
		}
	}
	return names
}

// probe returns a cluster of one node, to be asked what it can do.
func (s *settings) probe(backend string) (cluster.Cluster, error) {
	p := plan.Plan{Name: "probe", Nodes: 1}
	setup := cluster.Setup{Plan: &p, Log: history.NewRecorder(func() time.Duration { return 0 })}
	return s.newCluster(backend, setup)
}
