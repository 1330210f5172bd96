package check_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/check"
)

func TestPorcupineOrdersWaitersThatOverlapInTime(t *testing.T) {
	s := tell()
	const waiters = 200
	for i := range waiters {
		s.asks(i, i+1)
	}
	for i := range waiters { // the last one first
		client, at := waiters-i, 1000+10*i
		s.holds(at, client, fmt.Sprint("token-", client), at+9).releases(at+5, client, fmt.Sprint("token-", client))
	}
	o := check.Porcupine(&s.History)
	require.Equal(t, check.Legal, o.Result)
	require.Equal(t, 2*waiters, o.Operations)
	require.Equal(t, 7, o.Segments, "it is cut where nobody holds")
	t.Logf("%d steps for %d operations", o.Steps, o.Operations)
}

func TestPorcupineFindsAnOverlapInTheMiddleOfALongHistory(t *testing.T) {
	s := tell()
	for i := range 5000 {
		token, until := fmt.Sprint("token-", i), 10*i+9
		if i == 2500 {
			until = 10*i + 11
		}
		s.asks(10*i, 1+i%7).holds(10*i, 1+i%7, token, until)
	}
	o := check.Porcupine(&s.History)
	require.Equal(t, check.Illegal, o.Result)
	require.Equal(t, 1, o.Findings.Count)
	f := o.Findings.List[0]
	require.Less(t, f.From, ms(25001))
	require.Greater(t, f.To, ms(25011))
}

// Wherever a history is cut, an overlap is in one piece.
func TestPorcupineDoesNotCutThroughAnOverlap(t *testing.T) {
	for at := range 70 {
		s := tell()
		for i := range 71 {
			until := 10*i + 9
			if i == at {
				until = 10*i + 11
			}
			s.holds(10*i, 1+i%7, fmt.Sprint("token-", i), until)
		}
		require.Equal(t, check.Illegal, check.Porcupine(&s.History).Result, at)
	}
}

// Beliefs that all overlap cannot be cut: one segment, as long as the history.
func TestPorcupineIsBoundedOnWhatCannotBeCut(t *testing.T) {
	s := tell()
	for i := range 20000 {
		s.asks(0, i+1)
	}
	for i := range 20000 {
		s.holds(10+i, i+1, fmt.Sprint("token-", i), 10+i+2)
	}
	o := check.Porcupine(&s.History)
	require.Equal(t, check.Illegal, o.Result)
	t.Logf("%s after %d steps", o.Result, o.Steps)
}

func TestDrawShowsTheSurroundingsOfAnOverlap(t *testing.T) {
	s := tell()
	for i := range 5000 {
		token, until := fmt.Sprint("t", i, "."), 10*i+9
		if i == 2500 {
			until = 10*i + 11
		}
		s.asks(10*i, 1+i%7).holds(10*i, 1+i%7, token, until)
	}
	var page bytes.Buffer
	require.NoError(t, check.Draw(&s.History, &page))
	require.True(t, strings.Contains(page.String(), "<html"), "the page lacks %q", "<html")
	for _, shown := range []string{"t2500.", "t2501.", "t2498.", "client-2 believes", "held by client-2"} {
		require.True(t, strings.Contains(page.String(), shown), "the page lacks %q", shown)
	}
	require.False(t, strings.Contains(page.String(), "t3000."), "the page shows what is far away")
	require.Less(t, page.Len(), 1<<20)
}

func TestDrawShowsTheBeginningOfAGoodHistoryAndNothingOfNone(t *testing.T) {
	var page strings.Builder
	require.NoError(t, check.Draw(&quiet().History, &page))
	require.True(t, strings.Contains(page.String(), "held by client-1 (token a)"), "the page lacks %q", "held by client-1 (token a)")
	page.Reset()
	require.NoError(t, check.Draw(&tell().History, &page))
	require.True(t, strings.Contains(page.String(), "<html"), "the page lacks %q", "<html")
}
