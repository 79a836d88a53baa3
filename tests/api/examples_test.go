package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/tests/harness"
)

// exampleModel has rules of three collections that a change of an author reaches: one of them only editors read.
const exampleModel = `
collections:
  authors: { access: { read: [everyone], write: [clerks, editors] } }
  books:
    access: { read: [everyone], write: [editors] }
    relations: { author: { path: author, to: authors } }
    derive: { authorName: { copy: author, value: doc.name }, upper: { value: "'<' + doc.authorName + '>'" } }
  notes:
    access: { write: [editors] }
    relations: { author: { path: author, to: authors } }
    derive: { authorName: { copy: author, value: doc.name } }
`

// exampleRow is a derived change as a dry run shows it.
type exampleRow struct {
	Collection, ID, Rule string
	Rules                []string
	Patch                json.RawMessage
}

// examplesOf sends a dry run, and returns its examples.
func examplesOf(c *harness.Client, status int, method, path, body string, headers ...string) (list []exampleRow) {
	var out struct{ Examples []exampleRow }
	if err := json.Unmarshal(c.Want(status, method, path, body, headers...).Body, &out); err != nil {
		panic(err)
	}
	return out.Examples
}

// derivedRows returns the derived changes that the feed has after a position, as examples.
func derivedRows(s *harness.Store, since string) (list []exampleRow) {
	var page struct {
		Results []struct {
			exampleRow
			Op    string
			Cause struct {
				Rule  string
				Rules []string
			}
		}
	}
	if err := json.Unmarshal(s.Want(200, "GET", "/v1/_changes?mode=all&limit=100000&since="+since, "").Body, &page); err != nil {
		panic(err)
	}
	for _, row := range page.Results {
		if row.Op == "derive" {
			row.Rule, row.Rules = row.Cause.Rule, row.Cause.Rules
			list = append(list, row.exampleRow)
		}
	}
	return list
}

// TestExamplesOfDryRuns: a dry run shows so many of the derived changes, the first of each rule before others, by every way to
// write. They are what the feed has once the write is made.
func TestExamplesOfDryRuns(t *testing.T) {
	s := harness.OpenClosed(t, exampleModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	for i := range 100 { // more than set-oriented SQL takes
		s.Put("notes", fmt.Sprint("n", i), `{"author":"a1"}`)
	}
	for i := range 3 {
		s.Put("books", fmt.Sprint("b", i), `{"author":"a1"}`)
	}
	admin := s.Client
	merge := []string{"Content-Type", harness.MergeType}
	name := `{"name":"<B>"}`
	for most, want := range map[int]int{0: 0, 1: 1, 2: 2, 20: 20} {
		if got := examplesOf(admin, 200, "PATCH", fmt.Sprintf("/v1/authors/a1?dryRun=true&examples=%d", most), name, merge...); len(got) != want || got == nil {
			t.Errorf("%d examples are %v", most, got)
		}
	}
	if got := admin.Want(200, "PATCH", "/v1/authors/a1?dryRun=true", name, merge...); strings.Contains(string(got.Body), "examples") {
		t.Errorf("examples that nobody asked for: %s", got.Body)
	}
	ways := [][]exampleRow{
		examplesOf(admin, 200, "PATCH", "/v1/authors/a1?dryRun=true&examples=20", name, merge...),
		examplesOf(admin, 200, "PUT", "/v1/authors/a1?dryRun=true&examples=20", name),
		examplesOf(admin, 200, "PUT", "/v1/authors/a1?examples=20", name, "Prefer", "dry-run"),
		examplesOf(admin, 200, "POST", "/v1/_transactions?dryRun=true&examples=20", `{"operations":[{"op":"put","collection":"authors","id":"a1","body":`+name+`},{"op":"put","collection":"other","id":"x","body":{}}]}`),
	}
	at := s.Put("authors", "a1", name).Header.Get("Fanfold-Position")
	rows := derivedRows(s, previous(at))
	if len(rows) < 103 {
		t.Fatalf("the feed has %d derived changes", len(rows))
	}
	for i, got := range ways {
		seen := map[string]bool{}
		for j, x := range got {
			if rules := len(seen); j > 0 && rules < 3 && seen[x.Rule] && (x.Rules == nil || seen[x.Rules[1]]) {
				t.Errorf("way %d: example %d is of %s before each rule has one", i, j, x.Rule)
			}
			for _, rule := range append([]string{x.Rule}, x.Rules...) {
				seen[rule] = true
			}
			found := false
			for _, row := range rows {
				found = found || reflect.DeepEqual(row, x)
			}
			if !found {
				t.Errorf("way %d: the feed has no %+v %s", i, x, x.Patch)
			}
		}
		if len(got) != 20 || len(seen) != 3 {
			t.Errorf("way %d shows %d examples of the rules %v", i, len(got), seen)
		}
	}
	if got := examplesOf(admin, 200, "POST", "/v1/authors/a1/_revert?dryRun=true&examples=2", `{"at":"`+previous(at)+`"}`); len(got) != 2 {
		t.Errorf("a revert shows %v", got)
	}
	if got := examplesOf(admin, 200, "POST", "/v1/authors/a1/_revert?dryRun=true&examples=2", `{"at":"`+at+`"}`); got == nil || len(got) != 0 {
		t.Errorf("a revert to what is there shows %v", got)
	}
	if got := examplesOf(admin, 200, "DELETE", "/v1/authors/a1?dryRun=true&examples=1", ""); len(got) != 1 {
		t.Errorf("a delete shows %v", got)
	}
	if got := examplesOf(admin, 200, "POST", "/v1/authors?dryRun=true&examples=1", `{"id":"a2"}`); got == nil || len(got) != 0 {
		t.Errorf("a create shows %v", got)
	}
	_, clerk := keyOf(t, s, "clerks")
	got := examplesOf(clerk, 200, "PATCH", "/v1/authors/a1?dryRun=true&examples=20", `{"name":"C"}`, merge...)
	if len(got) != 3 { // all of those that it may read, though others come first
		t.Errorf("a clerk is shown %v", got)
	}
	for _, x := range got {
		if x.Collection != "books" || strings.HasPrefix(x.Rule, "notes") {
			t.Errorf("a clerk is shown %+v", x)
		}
	}
}

// previous returns the position of the event before a write's.
func previous(position string) string {
	var seq int
	if _, err := fmt.Sscanf(position, "%d-", &seq); err != nil {
		panic(err)
	}
	_, store, _ := strings.Cut(position[strings.Index(position, "-")+1:], "-")
	return fmt.Sprintf("%d-0-%s", seq-1, store)
}

// TestBoundsOfExamples: examples are of a dry run, up to 20, and take 64 KiB together. Those that have no room are left out.
func TestBoundsOfExamples(t *testing.T) {
	s := harness.OpenTemp(t, "collections:\n  authors: {}\n  books:\n    relations: { author: { path: author, to: authors } }\n    derive: { authorName: { copy: author, value: doc.name }, short: { copy: author, value: doc.short } }\n")
	s.Put("authors", "a1", `{"name":"A"}`)
	for i := range 30 {
		s.Put("books", fmt.Sprint("b", i), `{"author":"a1"}`)
	}
	for _, query := range []string{"examples=1", "dryRun=false&examples=1", "dryRun=true&examples=21", "dryRun=true&examples=-1", "dryRun=true&examples=", "dryRun=true&examples=x", "dryRun=true&examples=1.0",
		"dryRun=true&examples=99999999999999999999", "dryRun=true&examples=1&examples=2", "dryRun=true&examples=%00", "dryRun=true&Examples=1"} {
		for _, st := range []step{{400, "PUT", "/v1/authors/a1?", `{"name":"B"}`, nil}, {400, "DELETE", "/v1/authors/a1?", "", nil}, {400, "POST", "/v1/authors?", `{}`, nil},
			{400, "PATCH", "/v1/authors/a1?", `{"name":"B"}`, []string{"Content-Type", harness.MergeType}}, {400, "POST", "/v1/_transactions?", `{"operations":[{"op":"delete","collection":"authors","id":"a1"}]}`, nil},
			{400, "POST", "/v1/authors/a1/_revert?", `{"at":"2-0"}`, nil}} {
			s.Want(st.want, st.method, st.path+query, st.body, st.headers...)
		}
	}
	s.WantDoc("authors", "a1", `{"id":"a1","name":"A"}`)
	for length, want := range map[int]int{10: 20, 10_000: 6, 40_000: 1, model.MaxExampleBytes: 0} {
		body := `{"name":"` + strings.Repeat("n", length) + `"}`
		r := s.Want(http.StatusOK, "PUT", "/v1/authors/a1?dryRun=true&examples=20", body)
		if got := examplesOf(s.Client, 200, "PUT", "/v1/authors/a1?dryRun=true&examples=20", body); len(got) != want || len(r.Body) > model.MaxExampleBytes+2000 {
			t.Errorf("of changes of %d bytes %d are shown, in %d bytes, want %d", length, len(got), len(r.Body), want)
		}
	}
}

// TestLineagesHaveKindsAndTimes: each derived value has its rule's kind, also for a reader who may not read the model. The event that gave
// it has a time.
func TestLineagesHaveKindsAndTimes(t *testing.T) {
	s := harness.OpenClosed(t, exampleModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("books", "b1", `{"author":"a1"}`)
	s.Put("books", "b2", `{"author":"none"}`)
	_, clerk := keyOf(t, s, "clerks")
	clerk.Want(403, "GET", "/v1/_model", "")
	for id, withTime := range map[string]bool{"b1": true, "b2": false} {
		var out struct {
			Derived []struct {
				Rule, Kind string
				Event      struct{ Time string }
			}
		}
		r := clerk.Want(200, "GET", "/v1/books/"+id+"/_lineage", "")
		if err := json.Unmarshal(r.Body, &out); err != nil || len(out.Derived) != 2 {
			t.Fatalf("%v: %s", err, r.Body)
		}
		for _, v := range out.Derived {
			if want := map[string]string{"books.authorName": "copy", "books.upper": "value"}[v.Rule]; v.Kind != want || withTime != (v.Event.Time != "") {
				t.Errorf("%s: %s", id, r.Body)
			}
		}
	}
}
