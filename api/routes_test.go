package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/writer"
)

// describedOperation is what openapi.json says of an operation.
type describedOperation struct {
	Right      right                                 `json:"x-right"`
	Parameters []struct{ Name, In, Ref string }      `json:"parameters"`
	Responses  map[string]struct{ Content schemaOf } `json:"responses"`
}

// schemaOf holds schemas by media type.
type schemaOf map[string]struct {
	Schema json.RawMessage `json:"schema"`
}

// operationsIn returns the operations in openapi.json, by method and path.
func operationsIn(t *testing.T) map[string]describedOperation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(openAPI), `"$ref"`, `"ref"`)), &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]describedOperation{}
	for path, item := range doc.Paths {
		for method, text := range item {
			if method == "parameters" {
				continue
			}
			var op describedOperation
			if err := json.Unmarshal(text, &op); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			all[strings.ToUpper(method)+" "+path] = op
		}
	}
	return all
}

// inBraces returns a route's path as openapi.json has it.
func inBraces(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == "*" {
			parts[i] = "{file}"
		}
		if name, isParameter := strings.CutPrefix(part, ":"); isParameter {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// noConsole is a console without files.
type noConsole struct{}

func (noConsole) ServeFile(http.ResponseWriter, *http.Request, string) error {
	return fanfold.Errorf(fanfold.NotFound, "none")
}

// TestRoutesAreDescribed: the table of routes and openapi.json have the same methods and paths, and say of each the same right
// and the same headers of writes.
func TestRoutesAreDescribed(t *testing.T) {
	s := New(Dependencies{Writer: &writer.Writer{}}, Options{Metrics: http.NotFoundHandler(), Console: noConsole{}})
	inDocument, inTable := operationsIn(t), map[string]bool{}
	for _, r := range s.routes.rows {
		name := r.method + " " + inBraces(r.path)
		inTable[name] = true
		op, found := inDocument[name]
		if !found {
			t.Errorf("openapi.json lacks %s", name)
			continue
		}
		if op.Right != r.right {
			t.Errorf("%s needs the right %q; openapi.json says %q", name, r.right, op.Right)
		}
		if r.method == http.MethodGet {
			continue
		}
		described := func(header string) bool {
			return slices.ContainsFunc(op.Parameters, func(p struct{ Name, In, Ref string }) bool {
				return p.Name == header || p.Ref == "#/components/parameters/"+header+"Parameter"
			})
		}
		refused := r.refused()
		for _, header := range []string{headerIdempotencyKey, "If-Match", "If-None-Match"} {
			if described(header) && slices.Contains(refused, header) {
				t.Errorf("%s refuses %s, which openapi.json has", name, header)
			}
		}
	}
	for name, op := range inDocument {
		get := "GET" + strings.TrimPrefix(name, "HEAD")
		if !inTable[name] && (!strings.HasPrefix(name, "HEAD ") || !inTable[get]) {
			t.Errorf("the table of routes lacks %s", name)
		}
		if asked, found := inDocument[get]; strings.HasPrefix(name, "HEAD ") && found && op.Right != asked.Right {
			t.Errorf("%s needs another right than GET", name)
		}
	}
}

// TestRoutesAreWhole: every row of the table has a right and a handler, and each link of the first page leads to a route. No
// two rows have one path and method.
func TestRoutesAreWhole(t *testing.T) {
	s := New(Dependencies{Writer: &writer.Writer{}}, Options{Metrics: http.NotFoundHandler(), Console: noConsole{}})
	seen := map[string]bool{}
	for _, r := range s.routes.rows {
		name := r.method + " " + r.path
		if seen[name] || r.handle == nil || !slices.Contains(rights, r.right) {
			t.Errorf("%s: twice %v, right %q", name, seen[name], r.right)
		}
		seen[name] = true
		if r.method == http.MethodGet && (r.right == rightWrite && r.path != "/v1/_import" || r.admit == byRoom || r.admit == byType) {
			t.Errorf("%s changes nothing: right %q, entry %d", name, r.right, r.admit)
		}
	}
	for _, l := range hyperlinks {
		if s.routes.byPath[l.Href] == nil {
			t.Errorf("the first page leads to %s, which is no route", l.Href)
		}
	}
	for _, path := range []string{statusPath, workPath + ":work"} {
		if s.routes.byPath[path] == nil {
			t.Errorf("answers lead to %s, which is no route", path)
		}
	}
}
