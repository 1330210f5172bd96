package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/report"
)

// An element is one of an SVG, as far as tests look at it.
type element struct {
	Name string
	Attr map[string]string
	Text string
	In   string // ids of the groups around it, outermost first
}

// parse reads an SVG as XML, strictly.
func parse(t testing.TB, svg []byte) []element {
	t.Helper()
	var all []element
	var groups []string
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			require.Empty(t, groups, "a group is not closed")
			return all
		}
		require.NoError(t, err)
		switch x := token.(type) {
		case xml.StartElement:
			e := element{Name: x.Name.Local, Attr: map[string]string{}, In: strings.Join(groups, " ")}
			for _, a := range x.Attr {
				e.Attr[a.Name.Local] = a.Value
			}
			all = append(all, e)
			if e.Name == "g" {
				groups = append(groups, e.Attr["id"])
			}
		case xml.EndElement:
			if x.Name.Local == "g" {
				groups = groups[:len(groups)-1]
			}
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].Text += strings.TrimSpace(string(x))
			}
		}
	}
}

func draw(t testing.TB, run report.Run, view report.View) []element {
	t.Helper()
	var svg bytes.Buffer
	require.NoError(t, report.Draw(run, view).WriteSVG(&svg))
	return parse(t, svg.Bytes())
}

// words returns all texts with a class.
func words(all []element, class string) []string {
	var texts []string
	for i := range all {
		if all[i].Name == "text" && all[i].Attr["class"] == class {
			texts = append(texts, all[i].Text)
		}
	}
	return texts
}

// in returns what has a class in the group with an id.
func in(all []element, id, class string) []element {
	var some []element
	for i := range all {
		if strings.Contains(" "+all[i].In+" ", " "+id+" ") && all[i].Attr["class"] == class {
			some = append(some, all[i])
		}
	}
	return some
}

func TestEveryClientAndNodeHasALane(t *testing.T) {
	for name, run := range samples() {
		all := draw(t, run, report.View{})
		lanes := map[string]bool{}
		for i := range all {
			if all[i].Name == "g" {
				lanes[all[i].Attr["id"]] = true
			}
		}
		for c := 1; c <= run.History.Clients; c++ {
			assert.True(t, lanes[fmt.Sprintf("client-%d", c)], "%s: client %d", name, c)
		}
		for n := 1; n <= run.History.Nodes; n++ {
			assert.True(t, lanes[fmt.Sprintf("node-%d", n)], "%s: node %d", name, n)
		}
	}
}

func TestAnOverlapIsRedAndNamesBothOwners(t *testing.T) {
	all := draw(t, kleppmann(), report.View{})
	assert.Equal(t, []string{"OVERLAP: client-1 and client-2 both believe, 900 ms"}, words(all, "overlap-label"))
	reds, frames := 0, 0
	for i := range all {
		if all[i].Attr["class"] == "overlap" {
			reds++
			if all[i].Attr["fill"] == "none" && all[i].Name == "rect" {
				frames++
			}
			assert.Contains(t, all[i].Attr["fill"]+all[i].Attr["stroke"], "#d1001f")
		}
	}
	assert.Equal(t, 2, frames, "one around each belief")
	assert.Equal(t, 6, reds, "the band, its two edges, its label, and the frames")
	assert.Contains(t, words(all, "seen")[0], `client-1 and client-2 both believed that they held "settle:2026-06-30"`)
	assert.Contains(t, words(all, "seen")[0], "clock-jump on node 3 at 0.9 s")
	assert.Equal(t, []string{"Plan node-clock-jump · seed 7 · out of model · verdict: unsafe by design, detected"}, words(all, "title"))
}

func TestRedIsForOverlapsOnly(t *testing.T) {
	for _, run := range []report.Run{calm(), stalled()} {
		var svg bytes.Buffer
		require.NoError(t, report.Draw(run, report.View{}).WriteSVG(&svg))
		assert.NotContains(t, svg.String(), "#d1001f")
	}
}

func TestNodesShowWhoseKeyTheyKeep(t *testing.T) {
	all := draw(t, kleppmann(), report.View{})
	owners := func(node string) (names []string) {
		for _, e := range in(all, node, "owner") {
			names = append(names, e.Text)
		}
		return names
	}
	assert.Equal(t, []string{"client-1", "client-3"}, owners("node-1"))
	assert.Equal(t, []string{"client-1", "client-2", "client-3"}, owners("node-3"))
	assert.Equal(t, []string{"client-2", "client-3"}, owners("node-5"))
	assert.Equal(t, "clock-jump", in(all, "node-3", "label")[0].Text)
	assert.Equal(t, "+20 s", in(all, "node-3", "offset")[1].Text)
	assert.Empty(t, in(all, "node-4", "clock"), "a clock that is right needs no row")
}

func TestFindingsAreMarkedInTheLaneOfTheirClient(t *testing.T) {
	all := draw(t, stalled(), report.View{})
	assert.Len(t, in(all, "client-1", "stale-write"), 1)
	assert.Len(t, in(all, "client-1", "lost-update"), 1)
	assert.Empty(t, in(all, "client-2", "stale-write"))
	assert.NotEmpty(t, in(all, "client-1", "stall"))
	assert.NotEmpty(t, in(all, "client-2", "crash"))
	assert.Equal(t, "node 2 kept a key without TTL", in(all, "findings", "label")[0].Text)
}

func TestTheLegendExplainsWhatIsDrawnAndNothingElse(t *testing.T) {
	for _, meaning := range words(draw(t, calm(), report.View{}), "meaning") {
		assert.NotContains(t, meaning, "fault")
		assert.NotContains(t, meaning, "two owners")
	}
	assert.Contains(t, words(draw(t, kleppmann(), report.View{}), "meaning"), "two owners believe at once: mutual exclusion is broken")
}

func TestALongRunIsShownAroundItsFirstOverlap(t *testing.T) {
	run := noisy(5, time.Minute)
	run.Marks = []report.Mark{{Kind: report.Overlap, Name: "orders", From: 40 * time.Second, To: 40*time.Second + 3*ms, Clients: []int{4, 2}}}
	all := draw(t, run, report.View{})
	shown := words(all, "shown")[0]
	assert.Contains(t, shown, `lock "orders" (one of 3 locks`)
	assert.Contains(t, shown, "of 60.2 s (around the first overlap)")
	assert.Len(t, words(all, "overlap-label"), 1)
	for c := 1; c <= 8; c++ {
		assert.LessOrEqual(t, len(in(all, fmt.Sprintf("client-%d", c), "wait")), 100)
	}
	assert.NotEmpty(t, in(all, "overview", "window"), "the strip that shows which part it is")
}

func TestALongRunWithoutOverlapsIsShownAroundItsFirstFault(t *testing.T) {
	run := noisy(6, time.Minute)
	all := draw(t, run, report.View{})
	assert.Contains(t, words(all, "shown")[0], "(around the first fault)")
	assert.NotContains(t, words(all, "title")[0], "OVERLAP")
}

func TestAViewIsShownAsAskedFor(t *testing.T) {
	all := draw(t, noisy(6, 10*time.Second), report.View{Name: "invoice", From: 2 * time.Second, To: 3 * time.Second})
	assert.Contains(t, words(all, "shown")[0], `lock "invoice" (one of 3 locks; holding another is a thin grey line), 2 s to 3 s of 10.2 s (as asked for)`)
	assert.Equal(t, []string{"2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "3.0"}, words(all, "time"))
}

func TestTextIsEscaped(t *testing.T) {
	run := calm()
	run.Verdict = "<script>alert(1)</script> & \x00\x1b \xff"
	run.Seen = "</text> ]]> \"'"
	for i := range run.History.Events {
		run.History.Events[i].Name = "a<b>\xfe\x01&"
	}
	all := draw(t, run, report.View{})
	assert.Equal(t, []string{"</text> ]]> \"'"}, words(all, "seen"))
	assert.Contains(t, words(all, "title")[0], "<script>alert(1)</script> & ?? ?")
	for i := range all {
		assert.NotEqual(t, "script", all[i].Name)
	}
}

func TestAHistoryWithoutEventsIsDrawn(t *testing.T) {
	for _, h := range []*history.History{{}, {Header: empty}} {
		assert.NotEmpty(t, draw(t, report.Run{History: h}, report.View{}))
	}
}

func TestThePNGIsTheSamePicture(t *testing.T) {
	var png bytes.Buffer
	p := report.Draw(kleppmann(), report.View{})
	require.NoError(t, p.WritePNG(&png, 0.5))
	assert.True(t, bytes.HasPrefix(png.Bytes(), []byte("\x89PNG")))
	require.Error(t, p.WritePNG(io.Discard, 0))
	require.Error(t, p.WritePNG(io.Discard, 1000))
}
