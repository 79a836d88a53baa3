package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)`)
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
	link     = regexp.MustCompile(`\]\(([^):#\s]+)\)`)
	fileName = regexp.MustCompile("`([a-z][\\w-]*(?:/[\\w.-]+)+\\.(?:go|md|sql|yaml|yml|json))`")
)

// testsOfTheHouse returns the names of all tests.
func testsOfTheHouse(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	for _, f := range house(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			for _, name := range testFunc.FindAllStringSubmatch(f.text, -1) {
				tests[name[1]] = true
			}
		}
	}
	if len(tests) == 0 {
		t.Fatal("there are no tests")
	}
	return tests
}

// TestDocumentsNameWhatIsThere: every test and file that a document of the project names or links to is there.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	root, tests, documents := "../..", testsOfTheHouse(t), 0
	for _, f := range house(t) {
		if !strings.HasSuffix(f.path, ".md") || f.path == "CHANGELOG.md" {
			continue
		}
		documents++
		for _, name := range testName.FindAllString(f.text, -1) {
			if !tests[name] {
				t.Errorf("%s names %s, which is not there", f.path, name)
			}
		}
		for _, m := range append(fileName.FindAllStringSubmatch(f.text, -1), link.FindAllStringSubmatch(f.text, -1)...) {
			_, fromRoot := os.Stat(filepath.Join(root, m[1]))
			if _, beside := os.Stat(filepath.Join(root, f.dir(), m[1])); fromRoot != nil && beside != nil {
				t.Errorf("%s names %s, which is not there", f.path, m[1])
			}
		}
	}
	if documents < 5 {
		t.Errorf("%d documents", documents)
	}
}
