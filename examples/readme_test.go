// Package examples_test keeps the README and the documents true.
package examples_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = ".."

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(b)
}

// between returns what stands between two marks.
func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, begin)
	require.True(t, ok, begin)
	inner, _, ok := strings.Cut(rest, end)
	require.True(t, ok, end)
	return inner
}

func TestTheFirstProgramOfTheREADMEIsTheFirstExample(t *testing.T) {
	readme := between(t, read(t, "README.md"), "\nfunc main() {\n", "\n}\n")
	example := between(t, read(t, "example_test.go"), "\nfunc Example() {\n", "\n}\n")
	require.Equal(t, example, readme)
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)

func TestLinksInTheDocumentsLeadToFiles(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	documents = append(documents, filepath.Join(root, "README.md"))
	links := 0
	for _, doc := range documents {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			links++
			require.FileExists(t, filepath.Join(filepath.Dir(doc), l[1]), doc)
		}
	}
	require.Greater(t, links, 5)
}

var folder = regexp.MustCompile("(?m)^\\| `([a-z/]+)/` \\|")

func TestTheREADMEsMapNamesFoldersThatExist(t *testing.T) {
	found := folder.FindAllStringSubmatch(read(t, "README.md"), -1)
	require.Greater(t, len(found), 5)
	for _, f := range found {
		require.DirExists(t, filepath.Join(root, f[1]))
	}
}
