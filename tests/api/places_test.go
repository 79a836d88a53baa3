package api_test

import (
	"encoding/json"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// placed is a problem with its places.
type placed struct {
	Line, Column int
	Problems     []struct {
		Path         string
		Line, Column int
	}
}

// placesOf returns a problem's places.
func placesOf(t *testing.T, r *harness.Response) (p placed) {
	t.Helper()
	if err := json.Unmarshal(r.Body, &p); err != nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
	return p
}

// TestPlacesOfBadJSON: the problem of a body that is not JSON says in which line and column that is. Columns count code points.
func TestPlacesOfBadJSON(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("books", "b1", `{}`)
	for body, want := range map[string][2]int{
		"{":                         {1, 2},
		"{\"a\":nul}":               {1, 9},
		"{\r\n  \"ä𝄞\": tru3\r\n}":  {2, 12},
		"{\n\"a\":1,\n\n\"a\":2}":   {4, 1},
		"{\n \"a\": 1\n}\n\n x":     {5, 2},
		"{\"a\":\"\x01\"}":          {1, 7},
		"{\"a\": 1,}":               {1, 8},
		"{\"n\":\n[1,\n  2,\n 03]}": {4, 3},
	} {
		for _, st := range []step{{400, "PUT", "/v1/books/b1", body, nil}, {400, "PATCH", "/v1/books/b1", body, []string{"Content-Type", harness.MergeType}}, {400, "POST", "/v1/books", body, nil},
			{400, "POST", "/v1/books/_query", body, nil}, {400, "PUT", "/v1/_model", body, []string{"Content-Type", "application/json"}}} {
			if got := placesOf(t, s.Want(st.want, st.method, st.path, st.body, st.headers...)); got.Line != want[0] || got.Column != want[1] {
				t.Errorf("%s %s %q: line %d, column %d, want %v", st.method, st.path, body, got.Line, got.Column, want)
			}
		}
	}
	if got := placesOf(t, s.Want(400, "POST", "/v1/_transactions", "{\"operations\":[\n {\"op\":}]}")); got.Line != 2 || got.Column != 8 {
		t.Errorf("a bad transaction has the place %+v", got)
	}
	if got := placesOf(t, s.Want(400, "POST", "/v1/_transactions", `{}`)); got.Line != 0 || got.Column != 0 {
		t.Errorf("JSON that is no document has the place %+v", got)
	}
}

// TestPlacesOfModels: each problem of a model has the line and the column of its member in the text that was sent, which may be of one
// collection.
func TestPlacesOfModels(t *testing.T) {
	s := harness.OpenTemp(t, "collections:\n  authors: {}\n  books:\n    relations: { author: { path: author, to: authors } }\n    derive: { name: { copy: author, value: doc.name } }\n")
	yaml := []string{"Content-Type", "application/yaml"}
	for _, c := range []struct {
		path, body, at string
		line, column   int
	}{
		{"/v1/_model?dryRun=true", "collections:\n  books:\n    derive:\n      \"a.b\": { copy: none, value: doc.x }\n", `collections.books.derive["a.b"].copy`, 4, 16},
		{"/v1/_model/books?dryRun=true", "# one\nderive:\n  x:\n    value: doc.(\n", `collections.books.derive["x"].value`, 4, 5},
		{"/v1/_model", "collections:\n  authors: {}\n  books: {}\n", `collections.books.relations.author`, 3, 3}, // what it would take away
	} {
		r, err := s.Do("PUT", c.path, []byte(c.body), yaml...)
		if err != nil || r.Status < 400 {
			t.Fatalf("%v, %s", err, r.Body)
		}
		found := false
		for _, p := range placesOf(t, r).Problems {
			found = found || p.Path == c.at && p.Line == c.line && p.Column == c.column
		}
		if !found {
			t.Errorf("%s: %s, want %s at line %d, column %d", c.path, r.Body, c.at, c.line, c.column)
		}
	}
	if got := placesOf(t, s.Want(400, "PUT", "/v1/_model", "collections:\n  ä: [1\n  b: 2\n", yaml...)); got.Line != 3 || got.Column != 4 {
		t.Errorf("no YAML has the place %+v", got)
	}
}
