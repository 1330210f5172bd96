package report_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/report"
)

var pictures = flag.String("report.pictures", "", "write the samples' pictures into this folder")

// samples are what one should look at after a change of the drawing:
//
//	go test ./chaos/report -run Pictures -report.pictures=/tmp
func samples() map[string]report.Run {
	return map[string]report.Run{
		"calm": calm(), "kleppmann": kleppmann(), "stalled": stalled(),
		"noisy": noisy(2, 60*time.Second), "overlapping": violated(3, 20*time.Second, 6), "empty": {History: newScript(empty).done(time.Second)},
	}
}

func TestPicturesAreWritten(t *testing.T) {
	if *pictures == "" {
		t.Skip("-report.pictures is not set")
	}
	for name, run := range samples() {
		for ending, write := range map[string]func(*report.Picture, *os.File) error{
			".svg": func(p *report.Picture, f *os.File) error { return p.WriteSVG(f) },
			".png": func(p *report.Picture, f *os.File) error { return p.WritePNG(f, 1.25) },
		} {
			f, err := os.Create(filepath.Join(*pictures, name+ending))
			require.NoError(t, err)
			require.NoError(t, write(report.Draw(run, report.View{}), f))
			require.NoError(t, f.Close())
		}
	}
}
