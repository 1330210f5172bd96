package skew_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock/chaos/skew"
)

// inAnotherProcess makes a control there and returns its library.
func inAnotherProcess(t *testing.T, env ...string) (string, error) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), helperEnv+"="+t.TempDir()), env...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return string(output), nil
}

func TestProcessesThatCompileAtOnceLeaveOneLibrary(t *testing.T) {
	skew.Need(t)
	t.Parallel()
	cache := t.TempDir()
	var processes sync.WaitGroup
	for range 6 {
		processes.Go(func() {
			library, err := inAnotherProcess(t, "XDG_CACHE_HOME="+cache)
			if err != nil || filepath.Dir(library) != filepath.Join(cache, "redlock", "skew") {
				t.Error(library, err)
			}
		})
	}
	processes.Wait()
	files, err := os.ReadDir(filepath.Join(cache, "redlock", "skew"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, ".so", filepath.Ext(files[0].Name()))
}

func TestMachineThatCannotMoveClocksSaysWhy(t *testing.T) {
	skew.Need(t)
	t.Parallel()
	broken := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = --version ] || { echo 'no headers' >&2; exit 1; }\n"
	require.NoError(t, os.WriteFile(filepath.Join(broken, "cc"), []byte(script), 0o700))
	cache, spaced := t.TempDir(), filepath.Join(t.TempDir(), "a b")
	for _, test := range []struct{ env, reason string }{
		{"PATH=" + t.TempDir(), `"cc": executable file not found`},
		{"PATH=" + broken + ":/bin", "no headers"},
		{"XDG_CACHE_HOME=" + spaced, "the blank"},
	} {
		_, err := inAnotherProcess(t, "XDG_CACHE_HOME="+cache, test.env)
		require.ErrorContains(t, err, skew.ErrUnavailable.Error())
		require.ErrorContains(t, err, test.reason)
	}
	files, err := os.ReadDir(filepath.Join(cache, "redlock", "skew"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// watch reads the wall clock in every way, a million times, and compares each
// reading with the real time. It prints how often they were near, how often the
// clock was 1,000 s ahead or more, how often it was anything else, and how often
// the monotonic clock was off.
const watch = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t ns(struct timespec t) { return t.tv_sec * INT64_C(1000000000) + t.tv_nsec; }
static int64_t raw(int id) { struct timespec t; syscall(SYS_clock_gettime, id, &t); return ns(t); }

int main(void) {
	long near = 0, away = 0, wrong = 0;
	int64_t off = 0;
	for (int i = 0; i < 1000000; i++) {
		struct timespec t;
		struct timeval v;
		int64_t real = raw(CLOCK_REALTIME), now;
		switch (i % 4) {
		case 0: clock_gettime(CLOCK_REALTIME, &t); now = ns(t); break;
		case 1: clock_gettime(CLOCK_REALTIME_COARSE, &t); now = ns(t); break;
		case 2: gettimeofday(&v, 0); now = v.tv_sec * INT64_C(1000000000) + v.tv_usec * 1000; break;
		default: now = time(0) * INT64_C(1000000000);
		}
		int64_t ahead = (now - real) / 1000000;
		if (ahead > -2000 && ahead < 8000) near++;
		else if (ahead > 998000) away++;
		else wrong++;
		int64_t before = raw(CLOCK_MONOTONIC), after;
		clock_gettime(CLOCK_MONOTONIC, &t);
		after = raw(CLOCK_MONOTONIC);
		if (ns(t) < before || ns(t) > after) off++;
	}
	printf("%ld %ld %ld %ld", near, away, wrong, (long)off);
}`

// Two settings alternate. The rate of one with the offset of the other would make
// a clock that is some hundred seconds ahead.
func TestNoReadingSeesHalfOfAChangeAndTheMonotonicClockIsLeftAlone(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	program := filepath.Join(t.TempDir(), "watch")
	cc := exec.Command("cc", "-O2", "-x", "c", "-o", program, "-")
	cc.Stdin = strings.NewReader(watch)
	output, err := cc.CombinedOutput()
	require.NoError(t, err, "%s", output)

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if i%2 == 0 {
				c.Set(1000*time.Second, 1e7)
			} else {
				c.Set(0, 1)
			}
			for began := time.Now(); time.Since(began) < 20*time.Microsecond; { // no timer is as short
			}
		}
	}()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), c.Env()...)
	output, err = cmd.CombinedOutput()
	close(stop)
	<-stopped
	require.NoError(t, err, "%s", output)
	var near, away, wrong, monotonic int
	_, err = fmt.Sscan(string(output), &near, &away, &wrong, &monotonic)
	require.NoError(t, err)
	require.Greater(t, near, 1000)
	require.Greater(t, away, 1000)
	require.Zero(t, wrong)
	require.Zero(t, monotonic)
}
