package house_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestWhereIs: each function that ARCHITECTURE.md names under "Where is ...?" is in its package, and each question has one.
func TestWhereIs(t *testing.T) {
	functions := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)[(\[]`)
	var page string
	for _, f := range house(t) {
		if f.path == "ARCHITECTURE.md" {
			_, page, _ = strings.Cut(f.text, "\n## Where is ...?\n")
			page, _, _ = strings.Cut(page, "\n## ")
		}
		if strings.HasSuffix(f.path, ".go") && !strings.HasSuffix(f.path, "_test.go") {
			for _, name := range declared.FindAllStringSubmatch(f.text, -1) {
				functions[f.dir()+" "+name[1]] = true
			}
		}
	}
	questions := regexp.MustCompile("(?m)^\\| [A-Z][^|]*\\? \\| `([^`]+)` \\| `([^`]+)` \\|$").FindAllStringSubmatch(page, -1)
	if len(questions) < 30 || len(questions) != strings.Count(page, "\n|")-2 {
		t.Errorf("of %d rows %d are a question, a package and a function", strings.Count(page, "\n|")-2, len(questions))
	}
	for _, q := range questions {
		if !functions[q[1]+" "+q[2]] {
			t.Errorf("%s is not in %s", q[2], q[1])
		}
	}
}
