package quorum

import "context"

// Call asks voters 0 to n-1 at once, each in a goroutine of its own, and
// returns as soon as need of them said yes, or that became impossible, or ctx
// ended (whoever has not voted is then [Late], and the decision [Lost]). It
// does not wait for the rest and does not cancel them: ask gets ctx itself, and
// should return when ctx ends.
//
// Every answer is handed on exactly once: in the ballots returned, or, if it
// came too late for them, to late, which runs in the voter's goroutine. A nil
// late ignores those answers. An ask that never returns costs its goroutine. Call
// panics as [NewTally] does, before anybody is asked.
func Call[A any](
	ctx context.Context,
	n, need int,
	ask func(ctx context.Context, i int) (A, Vote),
	late func(i int, a A, v Vote),
) (Decision, []Ballot[A]) {
	round := NewRound[A](n, need)
	for i := range n {
		go func() {
			a, v := ask(ctx, i)
			if !round.Answer(i, v, a) && late != nil {
				late(i, a, v)
			}
		}()
	}
	select {
	case <-round.Decided():
	case <-ctx.Done():
		round.Close()
	}
	d, _, ballots := round.Result()
	return d, ballots
}
