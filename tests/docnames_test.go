package tests

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
	link     = regexp.MustCompile(`\]\(([^):#\s]+)\)`)
	fileName = regexp.MustCompile("`([a-z][\\w-]*(?:/[\\w.-]+)+\\.(?:go|md|sql|yaml|yml|json))`")
)

// TestDocumentsNameWhatIsThere: every test and file that a document of the project names or links to is there.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	root, tests, documents := "..", map[string]bool{}, []string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return cmp.Or(err, fs.SkipDir)
		case strings.HasSuffix(path, "_test.go"):
			src, err := os.ReadFile(path)
			for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllSubmatch(src, -1) {
				tests[string(name[1])] = true
			}
			return err
		case strings.HasSuffix(path, ".md") && filepath.Base(path) != "CHANGELOG.md":
			documents = append(documents, path)
		}
		return nil
	})
	if err != nil || len(tests) == 0 || len(documents) < 5 {
		t.Fatalf("%d tests, %d documents, %v", len(tests), len(documents), err)
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
