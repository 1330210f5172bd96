package quorum_test

import (
	"context"
	"fmt"

	"github.com/quorumlock/redlock/quorum"
)

// Five voters of which one hangs: the other four decide without it.
func ExampleCall() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // sends the hanging voter home

	ask := func(ctx context.Context, i int) (string, quorum.Vote) {
		if i == 4 {
			<-ctx.Done()
			return "", quorum.Fault
		}
		return fmt.Sprintf("yes from %d", i), quorum.Yes
	}
	decision, ballots := quorum.Call(ctx, 5, quorum.Majority(5), ask, nil)

	yes := 0
	for _, ballot := range ballots {
		if ballot.Vote == quorum.Yes {
			yes++
		}
	}
	fmt.Printf("%v with %d yes, the last voter answered: %t\n", decision, yes, ballots[4].Vote != 0)
	// Output: won with 3 yes, the last voter answered: false
}

// The arithmetic alone: the decision falls at the vote that makes it certain.
func ExampleTally() {
	tally := quorum.NewTally(5, quorum.Majority(5))
	fmt.Println(tally.Add(3, quorum.Yes))
	fmt.Println(tally.Add(0, quorum.No))
	fmt.Println(tally.Add(1, quorum.Fault))
	fmt.Println(tally.Add(4, quorum.Late))
	fmt.Println(tally.Add(2, quorum.Yes)) // too late to change anything
	// Output:
	// open
	// open
	// open
	// lost
	// lost
}
