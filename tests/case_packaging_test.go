package tests

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	repository = ".."
	library    = "github.com/quorumlock/redlock"
	published  = library + "@v0.1.0"
	goRedis    = "github.com/redis/go-redis/v9"
)

// A consumer is the module of a program that imports the library and nothing
// else. It needs no network: what the library requires comes from the module cache
// of this machine.
type consumer struct {
	t   *testing.T
	dir string
	env []string
}

func newConsumer(t *testing.T, env ...string) *consumer {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	c := &consumer{t, t.TempDir(), append(os.Environ(), append(env, "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local")...)}
	program := "package main\n\nimport _ \"" + library + "\"\n\nfunc main() {}\n"
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "main.go"), []byte(program), 0o600))
	c.run("mod", "init", "consumer")
	c.run("mod", "edit", "-go="+goMod(t, repository).Go)
	return c
}

// fromProxy returns a consumer that gets the library as if it were published, into
// an empty module cache. To compile there would take long every time.
func fromProxy(t *testing.T) *consumer {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	downloads := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	c := newConsumer(t,
		"GOPROXY=file://"+publish(t)+",file://"+downloads,
		"GOMODCACHE="+t.TempDir(),
		"GOFLAGS=-mod=mod -modcacherw", // or the test could not remove it
	)
	c.run("get", published)
	return c
}

// fromHere returns a consumer whose library is this repository. What it compiles is
// in the build cache already.
func fromHere(t *testing.T) *consumer {
	t.Helper()
	here, err := filepath.Abs(repository)
	require.NoError(t, err)
	c := newConsumer(t, "GOPROXY=off", "GOFLAGS=-mod=mod")
	c.run("mod", "edit", "-replace="+library+"="+here)
	c.run("mod", "tidy")
	return c
}

var missing = regexp.MustCompile(`reading file://|disabled by GOPROXY=off`)

// run runs the go command and returns what it prints. The test is skipped if this
// machine lacks a module.
func (c *consumer) run(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	output, err := cmd.CombinedOutput()
	if err != nil && missing.Match(output) {
		c.t.Skipf("not in the module cache of this machine: %s", output)
	}
	require.NoError(c.t, err, "go %v: %s", args, output)
	return string(output)
}

// find returns the first submatches of a pattern in a file of the consumer.
func (c *consumer) find(file, pattern string) []string {
	c.t.Helper()
	return submatches(read(c.t, filepath.Join(c.dir, file)), pattern)
}

func submatches(text, pattern string) (found []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// publish makes a proxy that has this repository as it is.
func publish(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	versions := filepath.Join(folder, filepath.FromSlash(library), "@v")
	require.NoError(t, os.MkdirAll(versions, 0o700))
	mod, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(versions, "v0.1.0.mod"), mod, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(versions, "v0.1.0.info"), []byte(`{"Version":"v0.1.0"}`), 0o600))
	file, err := os.Create(filepath.Join(versions, "v0.1.0.zip"))
	require.NoError(t, err)
	defer file.Close()
	w := zip.NewWriter(file)
	require.NoError(t, filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repository && isOutside(path):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(repository, path)
		if err != nil {
			return err
		}
		f, err := w.Create(published + "/" + filepath.ToSlash(name))
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return err
	}))
	require.NoError(t, w.Close())
	return folder
}

// isOutside reports whether a folder is no part of the module: it is hidden or a
// module of its own.
func isOutside(path string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil || strings.HasPrefix(filepath.Base(path), ".")
}

func TestB79AConsumerGetsGoRedisAndNothingElse(t *testing.T) {
	t.Parallel()
	c := fromProxy(t)
	c.run("mod", "tidy")
	c.run("mod", "vendor")
	vendored := []string{
		"github.com/cespare/xxhash/v2", "github.com/dgryski/go-rendezvous", // of go-redis
		library, goRedis, "golang.org/x/sync",
	}
	assert.Equal(t, vendored, c.find("vendor/modules.txt", `(?m)^# (\S+) `))
	// go-redis tests itself with the other two: everybody who imports it has
	// their sums, and nobody their code.
	summed := slices.Sorted(slices.Values(append(vendored, "github.com/bsm/ginkgo/v2", "github.com/bsm/gomega")))
	assert.Equal(t, summed, slices.Compact(c.find("go.sum", `(?m)^(\S+) `)))
}

func TestB81AnEmptyModuleCacheIsEnough(t *testing.T) {
	t.Parallel()
	assert.Empty(t, goMod(t, repository).Replace, "a consumer would not have it")
	c := fromProxy(t)
	assert.Contains(t, c.run("list", "-deps", "."), library)
	assert.Contains(t, c.run("mod", "verify"), "all modules verified")
	assert.Empty(t, goMod(t, c.dir).Replace)
}

func TestB81AConsumerBuildsAndVets(t *testing.T) {
	t.Parallel()
	c := fromHere(t)
	c.run("vet", ".")
	c.run("build", "-o", os.DevNull, ".")
}

// The newest go-redis is the one that CI tests with.
func TestB82AConsumerMayHaveTheLowestOrTheNewestGoRedis(t *testing.T) {
	t.Parallel()
	m := goMod(t, repository)
	lowest := m.version(goRedis)
	ci := read(t, filepath.Join(repository, ".ci", "run"))
	newest := submatches(ci, `(?m)^newest_redis=`+goRedis+`@(v9\.\S+)$`)
	require.Len(t, newest, 1)
	assert.Regexp(t, `(?m)^step .* with_newest_redis$`, ci)
	for _, version := range []string{lowest, newest[0]} {
		t.Run(version, func(t *testing.T) {
			c := fromHere(t)
			c.run("get", goRedis+"@"+version)
			c.run("build", "-o", os.DevNull, ".")
			got := goMod(t, c.dir)
			assert.Equal(t, version, got.version(goRedis), "the library asks for no more")
			assert.Equal(t, m.Go, got.Go, "nor does it of Go")
		})
	}
}

func TestB82TheREADMEStatesTheLowestGo(t *testing.T) {
	lowest := strings.TrimSuffix(goMod(t, repository).Go, ".0")
	for _, document := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, stated := range submatches(read(t, filepath.Join(repository, document)), `\bGo (1\.[0-9.]*[0-9])`) {
			assert.Equal(t, lowest, stated, document)
		}
	}
	assert.Contains(t, read(t, filepath.Join(repository, "README.md")), "Go "+lowest+" or later")
}

// A manifest is a part of what go mod edit -json prints.
type manifest struct {
	Go      string
	Require []struct{ Path, Version string }
	Replace []any
}

func (m *manifest) version(path string) string {
	for _, r := range m.Require {
		if r.Path == path {
			return r.Version
		}
	}
	return ""
}

func goMod(t *testing.T, folder string) (m manifest) {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = folder
	output, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(output, &m))
	return m
}
