package tests

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/field-cases.md names tests, and tests are named after its numbers: neither
// changes without the other.
func TestFieldCasesAreHeldByTheTestsThatTheDocumentNames(t *testing.T) {
	functions := testFunctions(t)
	rows := regexp.MustCompile(`(?m)^\| (B\d+) \| [^|]+ \| ([^|]+) \| [^|]*\|$`).
		FindAllStringSubmatch(read(t, filepath.Join(repository, "docs", "field-cases.md")), -1)
	require.Greater(t, len(rows), 60, "the table is read")

	documented := map[string]bool{}
	for _, row := range rows {
		number, names := row[1], submatches(row[2], "`(\\w+)`")
		assert.False(t, documented[number], "%s has two rows", number)
		documented[number] = true
		assert.True(t, slices.ContainsFunc(names, func(name string) bool { return caseNumber(name) == number }),
			"no test of %s has its number", number)
		for _, name := range names {
			assert.True(t, functions[name], "%s: there is no %s", number, name)
		}
	}
	for name := range functions {
		if number := caseNumber(name); number != "" {
			assert.True(t, documented[number], "%s has no row for %s", "docs/field-cases.md", name)
		}
	}
}

// caseNumber returns the number in the name of a case's test, "" if it is none.
func caseNumber(test string) string {
	found := submatches(test, `^Test(B\d+)`)
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// testFunctions returns the names of all tests of this module.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	require.NoError(t, filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repository && isOutside(path):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			for _, name := range submatches(read(t, path), `(?m)^func (Test\w+)\(`) {
				names[name] = true
			}
		}
		return nil
	}))
	return names
}
