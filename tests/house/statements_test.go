package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// boundLimit is a LIMIT that is an argument, and what follows it.
var boundLimit = regexp.MustCompile(`LIMIT \?\d*( \+ 0)?`)

// TestLimitsAreTerms: no statement has a bare argument as its LIMIT. SQLite plans by the value of one, and so compiles the statement
// anew whenever it is bound, which takes several times what a lookup takes. The value of a term it does not look at.
func TestLimitsAreTerms(t *testing.T) {
	files, err := filepath.Glob("../../sqlite/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range boundLimit.FindAllString(string(text), -1) {
			if found++; !strings.HasSuffix(limit, " + 0") {
				t.Errorf("%s: %s makes SQLite compile the statement for each value: write %s + 0", path, limit, limit)
			}
		}
	}
	if found == 0 {
		t.Error("no statement with a LIMIT was found")
	}
}
