package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// rightOf is the table of docs/security.md: the right of each route, by method and path.
func rightOf(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| [^|]* \\| (`[A-Z].*) \\|$")
	route := regexp.MustCompile("`([A-Z ]+) (/[^`]*)`")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		for _, r := range route.FindAllStringSubmatch(m[2], -1) {
			for method := range strings.FieldsSeq(r[1]) {
				out[method+" "+r[2]] = m[1]
				if method == http.MethodGet {
					out["HEAD "+r[2]] = m[1]
				}
			}
		}
	}
	return out
}

// inBraces returns a route's path as documents have it.
func inBraces(path string) string {
	return regexp.MustCompile(`:(\w+)`).ReplaceAllString(strings.Replace(path, "*", "{file}", 1), "{$1}")
}

// TestTableOfRights: docs/security.md, openapi.json and the program have the same routes, and the first two the same rights. Package
// api holds openapi.json against the rights by which it judges.
func TestTableOfRights(t *testing.T) {
	s := harness.OpenTemp(t, "")
	table := rightOf(t)
	var routes []string
	for _, r := range s.Node.API().Routes() {
		routes = append(routes, inBraces(r))
	}
	if got, want := slices.Sorted(maps.Keys(table)), slices.Sorted(slices.Values(routes)); !slices.Equal(got, want) {
		t.Errorf("docs/security.md has the routes\n%s\nand the program\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var document struct {
		Paths map[string]map[string]struct {
			Right string `json:"x-right"`
		}
	}
	var raw struct {
		Paths map[string]map[string]json.RawMessage
	}
	text := s.Want(http.StatusOK, "GET", "/openapi.json", "").Body
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	for path, item := range raw.Paths {
		delete(item, "parameters")
		one, err := json.Marshal(map[string]any{"paths": map[string]any{path: item}})
		if err == nil {
			err = json.Unmarshal(one, &document)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, item := range document.Paths {
		for method, op := range item {
			if name := strings.ToUpper(method) + " " + path; table[name] != op.Right {
				t.Errorf("%s needs %q by docs/security.md, and %q by openapi.json", name, table[name], op.Right)
			}
		}
	}
}
