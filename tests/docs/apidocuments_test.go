package docs_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// codeOfDocuments returns what stands as code in the documents below docs: spans between backquotes, and blocks.
func codeOfDocuments(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d documents, %v", len(paths), err)
	}
	var code strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(t, path) {
			code.WriteString(b.text)
		}
		for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(text), -1) {
			code.WriteString(strings.ReplaceAll(m[1], `\|`, "|") + "\n")
		}
	}
	return code.String()
}

// apiNames returns everything that a client must know by name: routes, parameters, and headers of requests and answers. It also has the
// values of the members type of problems and op of changes.
func apiNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	type answers map[string]struct{ Headers map[string]any }
	var doc struct {
		Paths      map[string]map[string]struct{ Responses answers }
		Components struct {
			Schemas struct {
				Problem, Change struct {
					Properties map[string]struct{ Enum []string }
				}
				Heartbeat struct{ Properties map[string]any }
			}
			Parameters map[string]struct{ In, Name string }
			Responses  answers
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(all answers) {
		for _, a := range all {
			names = slices.AppendSeq(names, maps.Keys(a.Headers))
		}
	}
	for path, item := range doc.Paths {
		parts := strings.Split(path, "/") // a row of a table may have the end of a route alone, below its beginning
		names = append(names, strings.Trim(parts[len(parts)-1], "{}"))
		for _, o := range item {
			add(o.Responses)
		}
	}
	add(doc.Components.Responses)
	for _, p := range doc.Components.Parameters {
		if p.In != "path" {
			names = append(names, p.Name)
		}
	}
	for _, urn := range doc.Components.Schemas.Problem.Properties["type"].Enum {
		names = append(names, strings.TrimPrefix(urn, "urn:fanfold:problem:"))
	}
	for name := range doc.Components.Schemas.Change.Properties {
		names = append(names, name)
	}
	for name := range doc.Components.Schemas.Heartbeat.Properties {
		names = append(names, name)
	}
	return append(names, doc.Components.Schemas.Change.Properties["op"].Enum...)
}

// TestDocumentsHaveTheAPI: what openapi.json gives a name stands in the documents, too.
func TestDocumentsHaveTheAPI(t *testing.T) {
	code, names := codeOfDocuments(t), apiNames(t)
	if len(names) < 100 {
		t.Fatalf("openapi.json has %d names", len(names))
	}
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] && !regexp.MustCompile(`(^|[^\w-])`+regexp.QuoteMeta(name)+`($|[^\w-])`).MatchString(code) {
			t.Errorf("openapi.json has %q, and no document below docs tells of it", name)
		}
		seen[name] = true
	}
}
