package house_test

import (
	"io/fs"
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

// walkHouse calls visit with each file of the project.
func walkHouse(t *testing.T, visit func(path string) error) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == ".git" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return err
		}
		return visit(path)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testsOfTheHouse returns the names of all tests.
func testsOfTheHouse(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	walkHouse(t, func(path string) error {
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		for _, name := range testFunc.FindAllSubmatch(src, -1) {
			tests[string(name[1])] = true
		}
		return err
	})
	if len(tests) == 0 {
		t.Fatal("there are no tests")
	}
	return tests
}

// TestDocumentsNameWhatIsThere: every test and file that a document of the project names or links to is there.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	root, tests, documents := "../..", testsOfTheHouse(t), []string{}
	walkHouse(t, func(path string) error {
		if strings.HasSuffix(path, ".md") && filepath.Base(path) != "CHANGELOG.md" {
			documents = append(documents, path)
		}
		return nil
	})
	if len(documents) < 5 {
		t.Fatalf("%d documents", len(documents))
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range testName.FindAllString(string(text), -1) {
			if !tests[name] {
				t.Errorf("%s names %s, which is not there", path, name)
			}
		}
		for _, m := range append(fileName.FindAllStringSubmatch(string(text), -1), link.FindAllStringSubmatch(string(text), -1)...) {
			_, fromRoot := os.Stat(filepath.Join(root, m[1]))
			if _, beside := os.Stat(filepath.Join(filepath.Dir(path), m[1])); fromRoot != nil && beside != nil {
				t.Errorf("%s names %s, which is not there", path, m[1])
			}
		}
	}
}
