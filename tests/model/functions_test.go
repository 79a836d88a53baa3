package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/tests/harness"
)

// seats is a model with a function and a trigger.
const seats = `collections:
    seats:
        trigger: check
functions:
    check:
        source: |
            export default () => {
              // nothing to say
            }
    reserve:
        args:
            type: object
        reads:
            - seats
        source: |
            export default (ctx, args) => null
`

// TestModelOfFunctions: functions come, change and go as everything else of the model, beside documents that nobody looks at.
func TestModelOfFunctions(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {seats: {}}")
	s.Put("seats", "1", `{"by":"ann"}`)
	before := s.Get("seats", "1")
	differences := func(method, body string, headers ...string) (found []string) {
		t.Helper()
		var preview client.Preview
		r := s.Want(http.StatusOK, method, "/v1/_model?dryRun=true", body, headers...)
		if err := json.Unmarshal(r.Body, &preview); err != nil {
			t.Fatal(err)
		}
		if preview.Changes != 0 || len(preview.Problems) > 0 {
			t.Errorf("functions change %d documents, and have the problems %v", preview.Changes, preview.Problems)
		}
		for _, d := range preview.Differences {
			found = append(found, d.Change+" "+d.Path)
		}
		return found
	}
	want := func(got []string, want ...string) {
		t.Helper()
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("the differences are %q, want %q", got, want)
		}
	}
	merge := []string{"Content-Type", harness.MergeType}
	want(differences("PUT", seats, "Content-Type", "application/yaml"), "added collections.seats.trigger", "added functions.check", "added functions.reserve")
	s.Model(seats)
	if got := string(s.Want(http.StatusOK, "GET", "/v1/_model", "", "Accept", "application/yaml").Body); got != seats {
		t.Errorf("the model comes back as %s", got)
	}
	const change = `{"functions":{"reserve":{"source":"export default () => 1\n"},"other":{"call":["admin"],"authority":"model","source":"export default () => 2"}}}`
	want(differences("PATCH", change, merge...), "added functions.other", "changed functions.reserve.source")
	s.Want(http.StatusOK, "PATCH", "/v1/_model", change, merge...)

	for patch, problem := range map[string]string{
		`{"functions":{"other":null}}`:                                                       "functions.other",
		`{"functions":null,"collections":{"seats":{"trigger":null}}}`:                        "functions.check",
		`{"collections":{"seats":{"trigger":null}}}`:                                         "collections.seats.trigger",
		`{"collections":{"seats":{"trigger":"reserve"}}}`:                                    "collections.seats.trigger",
		`{"functions":{"other":{"call":null,"authority":null}}}`:                             "functions.other.call",
		`{"functions":{"reserve":{"args":null},"more":{"source":"export default () => 3"}}}`: "functions.reserve.args",
	} {
		r := s.Want(http.StatusConflict, "PATCH", "/v1/_model", patch, merge...)
		if !strings.Contains(string(r.Body), `:model-removes"`) || !strings.Contains(string(r.Body), `"`+problem+`"`) {
			t.Errorf("%s: %s, want %s", patch, r.Body, problem)
		}
	}
	r := s.Want(http.StatusBadRequest, "PATCH", "/v1/_model", `{"functions":{"check":null}}`, merge...)
	if !strings.Contains(string(r.Body), "collections.seats.trigger") || !strings.Contains(string(r.Body), `unknown function`) {
		t.Errorf("a trigger whose function goes: %s", r.Body)
	}
	s.Want(http.StatusOK, "PATCH", "/v1/_model?allowRemoval=true", `{"functions":{"other":null}}`, merge...)
	if got := s.Get("seats", "1"); got != before {
		t.Errorf("the document is %s, was %s", got, before)
	}
	if rows, _ := s.Changes(""); len(rows) != 1 {
		t.Errorf("the feed has %d rows, want that of the document alone", len(rows))
	}
	s.Verify()
}

// TestFunctionsAreExported: an export has the functions, and a store that imports it has them, with its documents as they were.
func TestFunctionsAreExported(t *testing.T) {
	s := harness.OpenTemp(t, seats)
	s.Put("seats", "1", `{"by":"ann"}`)
	export := string(s.Want(http.StatusOK, "GET", "/v1/_export", "").Body)
	other := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer other.Close()
	other.Want(http.StatusOK, "POST", "/v1/_import", export, "Content-Type", "application/x-ndjson")
	if got := string(other.Want(http.StatusOK, "GET", "/v1/_model", "", "Accept", "application/yaml").Body); got != seats {
		t.Errorf("the imported model is %s", got)
	}
	other.WantDoc("seats", "1", `{"id":"1","by":"ann"}`)
	other.Verify()
}

// TestFunctionsNeedAFold: under a version of the fold whose programs cannot read functions a model with one is refused.
func TestFunctionsNeedAFold(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer s.Close()
	s.Model("collections: { seats: {} }")
	r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/_model", seats, "Content-Type", "application/yaml")
	if !strings.Contains(string(r.Body), "the model has functions, which version 8 of the fold does not know") || !strings.Contains(string(r.Body), "fanfold upgrade") {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.SetFold(9)
	s.Model(seats)
}

// TestFunctionMistakesHaveLines: a mistake in a function is told with the line of the file.
func TestFunctionMistakesHaveLines(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	text := strings.Replace(seats, "reads:\n            - seats", "reads:\n            - seats\n            - shows", 1)
	r := s.Want(http.StatusBadRequest, "PUT", "/v1/_model", text, "Content-Type", "application/yaml")
	if !strings.Contains(string(r.Body), `"path":"functions.reserve.reads"`) || !strings.Contains(string(r.Body), `"line":13`) {
		t.Errorf("the refusal is %s", r.Body)
	}
}

// TestMistakesInSources: a mistake in a source is told at its line and column of the YAML, or of the source where that was sent as JSON.
func TestMistakesInSources(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	for _, c := range []struct{ contentType, body, want string }{
		{"application/yaml", strings.Replace(seats, "args) => null", "args) => ]", 1), `"line":16,"column":43`},
		{"application/json", `{"functions":{"f":{"source":"export default () => {\n  return (\n}"}}}`, `"line":3,"column":1`},
	} {
		r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/_model", c.body, "Content-Type", c.contentType)
		if !strings.Contains(string(r.Body), c.want) || !strings.Contains(string(r.Body), ".source") {
			t.Errorf("the refusal is %s, want %s", r.Body, c.want)
		}
	}
}

// TestLargeFunctions: a model has up to 1 MiB of sources, each of up to 64 KiB, and comes back to the byte.
func TestLargeFunctions(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	source := "export default () => 1\n" + strings.Repeat("// "+strings.Repeat("x", 60)+"\n", 1000)
	functions := map[string]any{}
	for i := range 16 {
		functions[fmt.Sprintf("f%d", i)] = map[string]any{"source": source}
	}
	text, err := json.Marshal(map[string]any{"collections": map[string]any{}, "functions": functions})
	if err != nil {
		t.Fatal(err)
	}
	s.Model(string(text))
	yaml := string(s.Want(http.StatusOK, "GET", "/v1/_model", "", "Accept", "application/yaml").Body)
	if n := strings.Count(yaml, "source: |\n"); n != 16 {
		t.Errorf("%d of 16 sources come back as lines", n)
	}
	s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", yaml, "Content-Type", "application/yaml")
	r := s.Want(http.StatusOK, "GET", "/v1/_model", "")
	var model struct {
		Functions map[string]struct{ Source string }
	}
	if err := json.Unmarshal(r.Body, &model); err != nil || model.Functions["f15"].Source != source {
		t.Errorf("f15 comes back with %d bytes of %d, %v", len(model.Functions["f15"].Source), len(source), err)
	}
	s.Want(http.StatusRequestEntityTooLarge, "PUT", "/v1/_model", "{\"collections\": {}"+strings.Repeat(" ", modelfile.MaxBytes)+"}")
}
