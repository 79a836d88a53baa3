package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	anchorLink = regexp.MustCompile(`\]\(([^)#:]*)#([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		out[strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// TestLinksLeadToHeadings: the heading that a document's link names is there.
func TestLinksLeadToHeadings(t *testing.T) {
	walkHouse(t, func(path string) error {
		if !strings.HasSuffix(path, ".md") || filepath.Base(path) == "CHANGELOG.md" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range anchorLink.FindAllStringSubmatch(string(text), -1) {
			to := path
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(path), m[1])
			}
			if !anchors(t, to)[m[2]] {
				t.Errorf("%s links to %s#%s, and there is no such heading", path, m[1], m[2])
			}
		}
		return err
	})
}
