package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/quorumlock/redlock/chaos/cluster"
)

// keyPrefix is what keys on somebody's own masters begin with in every run, so
// that a user can be limited to them.
const keyPrefix = "redlock-chaos:"

// urlsEnv may hold the URLs instead of the flag: what is in a command line, others
// on the machine can see.
const urlsEnv = "REDLOCK_CHAOS_URLS"

// own takes the URLs of somebody's own masters, which say how many nodes there
// are, and chooses this run's prefix.
func (s *settings) own(urls []string) {
	if len(urls) == 0 && s.backend == "urls" {
		urls = split(os.Getenv(urlsEnv))
	}
	s.urls, s.prefix = urls, keyPrefix+strings.ToLower(rand.Text()[:8])+":"
	if len(urls) > 0 && !s.chosen["nodes"] {
		s.nodes = len(urls)
	}
}

// announce says what will be done to somebody's own masters, and returns whether
// it may be.
func (s *settings) announce() (goOn bool, err error) {
	masters, err := cluster.Masters(s.urls)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(s.out, "This run uses %d masters that are not its own:\n", len(masters))
	for i, m := range masters {
		fmt.Fprintf(s.out, "  node %d  %v\n", i+1, m)
	}
	fmt.Fprintf(s.out, `
What it does there: clients in this program take, extend and release locks for about a minute,
some hundred commands a second at most, and look at the keys at the end.
  keys      only such as begin with %[1]s; each lives for two seconds at most,
            ten while the masters are tried out
  commands  SET NX PX, the lock's two scripts (SCRIPT LOAD, EVALSHA or EVAL; in them GET, PTTL, PEXPIRE,
            DEL), GET, PTTL, and HELLO, AUTH, SELECT to log in; the scripts stay in the script cache
  faults    on this side only: a proxy in front of each master loses, delays, doubles and forges
            messages and cuts connections; clients crash, stop, and have wrong clocks
What it does not do: change a setting, list, read, change or delete another key, stop or slow down a
master. Enough for its user:
  ACL SETUSER chaos on >PASSWORD ~%[2]s* resetchannels -@all +hello +select +set +get +del +pttl +pexpire +evalsha +eval +script|load

`, s.prefix, keyPrefix)
	if !s.yes {
		fmt.Fprintln(s.out, "Nothing has been done. To go ahead, say the same with -yes.")
	}
	return s.yes, nil
}
