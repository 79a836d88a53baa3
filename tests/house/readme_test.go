package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeNamesTheFolders: tests/README.md says of each promise where its tests are, and each test that ARCHITECTURE.md names
// for a promise is among them.
func TestReadmeNamesTheFolders(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	placed := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z]+)\\.(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		placed[m[2]] = true
		if !hasTest(t, filepath.Join("..", m[1]), m[2]) && !hasTest(t, filepath.Join("../..", m[1]), m[2]) {
			t.Errorf("%s has no %s", m[1], m[2])
		}
	}
	architecture, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, found := strings.Cut(string(architecture), "## Promises")
	promises, _, ended := strings.Cut(promises, "## Layers")
	if !found || !ended || len(placed) == 0 {
		t.Fatal("there are no promises")
	}
	for _, name := range testName.FindAllString(promises, -1) {
		if !placed[name] {
			t.Errorf("tests/README.md does not say where %s is", name)
		}
	}
}

// hasTest tells whether a directory has a test.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
