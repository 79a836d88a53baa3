package house_test

import (
	"path"
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
func anchors(document string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(document, -1) {
		out[strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// TestLinksLeadToHeadings: the heading that a document's link names is there.
func TestLinksLeadToHeadings(t *testing.T) {
	has := map[string]map[string]bool{}
	for _, f := range house(t) {
		if strings.HasSuffix(f.path, ".md") {
			has[f.path] = anchors(f.text)
		}
	}
	for _, f := range house(t) {
		if !strings.HasSuffix(f.path, ".md") || f.path == "CHANGELOG.md" {
			continue
		}
		for _, m := range anchorLink.FindAllStringSubmatch(f.text, -1) {
			to := f.path
			if m[1] != "" {
				to = path.Join(f.dir(), m[1])
			}
			if !has[to][m[2]] {
				t.Errorf("%s links to %s#%s, and there is no such heading", f.path, m[1], m[2])
			}
		}
	}
}
