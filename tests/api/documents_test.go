package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/fanfold/fanfold/tests/harness"
)

func TestPostMakesIDs(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	r := s.Want(201, "POST", "/v1/books", "{ \"title\" : \"T\",\n\"n\":1 }")
	location := r.Header.Get("Location")
	id := strings.TrimPrefix(location, "/v1/books/")
	if u, err := uuid.Parse(id); err != nil || u.Version() != 7 {
		t.Fatalf("Location %q has no UUIDv7", location)
	}
	if got, want := referenced(s, "books", id), `{"id":"`+id+`", "title" : "T",`+"\n\"n\":1 }"; got != want {
		t.Errorf("the document is\n%s\nwant\n%s", got, want)
	}
	harness.WantHeader(t, r, "ETag", harness.Tag(s, location))
	rev := r.Header.Get("Fanfold-Revision")
	harness.WantHeader(t, r, "Fanfold-Position", rev+"-0-"+string(s.Node.Log.Store()))
	if !strings.HasPrefix(r.Header.Get("ETag"), `"`+rev+"."+rev+"-0.") {
		t.Errorf("ETag %s of revision %s", r.Header.Get("ETag"), rev)
	}
	empty := s.Want(201, "POST", "/v1/books", `{}`).Header.Get("Location")
	s.WantDoc("books", strings.TrimPrefix(empty, "/v1/books/"), `{"id":"`+strings.TrimPrefix(empty, "/v1/books/")+`"}`)
}

func TestPostWithID(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	harness.WantHeader(t, s.Want(201, "POST", "/v1/books", `{"title":"T","id":"b 1/2"}`), "Location", "/v1/books/b%201%2F2")
	s.WantDoc("books", "b 1/2", `{"title":"T","id":"b 1/2"}`)
	r := s.Want(201, "POST", "/v1/books", `{"id":7}`)
	harness.WantHeader(t, r, "Location", "/v1/books/7")
	s.WantDoc("books", "7", `{"id":7}`)
	again := s.Want(409, "POST", "/v1/books", `{"id":"7"}`)
	if !strings.Contains(string(again.Body), `"revision":`+r.Header.Get("Fanfold-Revision")) {
		t.Errorf("%s does not tell the revision", again.Body)
	}
	s.Want(201, "POST", "/v1/books", `{"id":8}`, "If-None-Match", "*")
}

func TestPutCreatesAndReplaces(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	first := s.Want(201, "PUT", "/v1/books/b1", `{"title":"T"}`)
	second := s.Want(204, "PUT", "/v1/books/b1", `{"title":"U"}`)
	if len(first.Body)+len(second.Body) > 0 {
		t.Error("a PUT is answered with a body")
	}
	harness.WantHeader(t, second, "ETag", harness.Tag(s, "/v1/books/b1"))
	if first.Header.Get("ETag") == second.Header.Get("ETag") {
		t.Error("two writes have one ETag")
	}
	s.Want(201, "PUT", "/v1/books/9", `{"id":9}`)
	s.WantDoc("books", "9", `{"id":9}`)
}

func TestPatchBothKinds(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("books", "b1", `{"z":1, "title":"T","list":[1,{"x":2.50}],"gone":true}`)
	r := s.Want(204, "PATCH", "/v1/books/b1", `{"title":"U","gone":null,"new":{"a":null,"b":1e2}}`, "Content-Type", harness.MergeType)
	harness.WantHeader(t, r, "ETag", harness.Tag(s, "/v1/books/b1"))
	harness.WantHeader(t, r, "Accept-Patch", harness.MergeType+", "+harness.PatchType)
	s.WantDoc("books", "b1", `{"id":"b1","z":1,"title":"U","list":[1,{"x":2.50}],"new":{"b":1e2}}`)
	r = s.Want(204, "PATCH", "/v1/books/b1", `[{"op":"test","path":"/list/1/x","value":2.5},{"op":"add","path":"/list/-","value":3},
		{"op":"move","from":"/new/b","path":"/b"},{"op":"copy","from":"/list/0","path":"/list/0"},{"op":"remove","path":"/z"},{"op":"replace","path":"/new","value":"ü"}]`,
		"Content-Type", harness.PatchType+"; charset=utf-8")
	harness.WantHeader(t, r, "ETag", harness.Tag(s, "/v1/books/b1"))
	s.WantDoc("books", "b1", `{"id":"b1","title":"U","list":[1,1,{"x":2.50},3],"new":"ü","b":1e2}`)
	before := harness.Tag(s, "/v1/books/b1")
	s.Want(204, "PATCH", "/v1/books/b1", `[]`, "Content-Type", harness.PatchType)
	harness.WantText(t, harness.Tag(s, "/v1/books/b1"), before) // it changes nothing
}

func TestDeleteAndCreateAgain(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("books", "b1", `{"authors":[{"id":"a1"}]}`)
	last := 0
	for _, create := range []step{
		{201, "PUT", "/v1/authors/a1", `{"name":"B"}`, nil},
		{201, "POST", "/v1/authors", `{"id":"a1","name":"B"}`, nil},
		{201, "PUT", "/v1/authors/a1", `{"name":"B"}`, []string{"If-None-Match", "*"}},
	} {
		gone := s.Want(204, "DELETE", "/v1/authors/a1", "")
		if gone.Header.Get("ETag") != "" || gone.Header.Get("Fanfold-Revision") == "" {
			t.Errorf("a DELETE is answered with %v", gone.Header)
		}
		s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a1"}]}`)
		s.Want(404, "DELETE", "/v1/authors/a1", "")
		s.Want(404, "GET", "/v1/authors/a1", "")
		s.Want(404, "PATCH", "/v1/authors/a1", `{}`, "Content-Type", harness.MergeType)
		s.Want(412, "PUT", "/v1/authors/a1", `{}`, "If-Match", "*")
		s.Want(412, "PUT", "/v1/authors/a1", `{}`, "If-Match", `"`+gone.Header.Get("Fanfold-Revision")+`"`)
		r := s.Want(create.want, create.method, create.path, create.body, create.headers...)
		var rev int
		if _, err := fmt.Sscan(r.Header.Get("Fanfold-Revision"), &rev); err != nil || rev <= last {
			t.Errorf("revision %d follows %d", rev, last)
		}
		last = rev
		s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a1","name":"B"}]}`)
		s.WantDoc("authors", "a1", `{"id":"a1","name":"B","countOfBooks":1}`)
	}
}

// TestReferencedViewIsByteForByte: what was written comes back; the embedded view has the same tokens.
func TestReferencedViewIsByteForByte(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	for i, body := range []string{
		"{\"id\":\"b1\"}", "{\r\n\t\"id\" : \"b1\" }", "{\"z\":1,\"id\":\"\\u0062\\u0031\",\"a\":2}",
		`{"id":"b1","n":[2.50,1E5,-0,0.1e-7,123456789012345678901234567890,1e999],"s":"\u00e9\/\ud83d\ude00é😀<>&\u2028"}`,
		`{"id":"b1", "authors" : [ {"id" : "a1"} , {"id":"a1", "x": [ ] } ], "": {" ":{}}, "é":null}`,
	} {
		s.Put("books", "b1", body)
		if got := referenced(s, "books", "b1"); got != body {
			t.Errorf("%d: written\n%q\nread\n%q", i, body, got)
		}
	}
	s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a1","name":"A"},{"id":"a1","x":[],"name":"A"}],"":{" ":{}},"é":null}`)
	s.Put("books", "b1", `{"id":"b1","n":[2.50, 1E5,-0],"s":"\u00e9\/<>&"}`)
	s.WantDoc("books", "b1", `{"id":"b1","n":[2.50,1E5,-0],"s":"\u00e9\/<>&"}`)
}

// TestRoundTrip: GET, edit, PUT keeps copies out of what is stored.
func TestRoundTrip(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("publishers", "p1", `{"name":"P"}`)
	s.Put("books", "b1", `{"title":"T","authors":[{"id":"a1"}],"pub":"p1"}`)
	got := s.Want(200, "GET", "/v1/books/b1?expand=authors", "")
	edited := strings.Replace(string(got.Body), `"T"`, `"U"`, 1)
	r := s.Want(204, "PUT", "/v1/books/b1", edited, "If-Match", got.Header.Get("ETag"))
	harness.WantHeader(t, r, "ETag", "")
	s.Put("authors", "a1", `{"name":"B"}`)
	if got := referenced(s, "books", "b1"); got != `{"id":"b1","title":"U","authors":[{"id":"a1"}],"pub":"p1"}` {
		t.Errorf("stored: %s", got)
	}
	s.WantDoc("books", "b1", `{"id":"b1","title":"U","authors":[{"id":"a1","name":"B"}],"pub":"p1","publisherName":"P"}`)
	items := s.Want(200, "GET", "/v1/books", "").Body
	item := strings.TrimSuffix(strings.TrimPrefix(string(items), `{"items":[`), `]}`)
	last := s.Node.Store.Applied.Seq()
	s.Want(204, "PUT", "/v1/books/b1", item)
	if after := s.Node.Store.Applied.Seq(); after != last {
		t.Errorf("what was written came back otherwise: event %d follows %d", after, last)
	}
	s.WantDoc("books", "b1", `{"id":"b1","title":"U","authors":[{"id":"a1","name":"B"}],"pub":"p1","publisherName":"P"}`)
}

func TestMethodsAndSystemRoutes(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	for path, allow := range map[string][]string{"/v1/books": {"GET", "POST"}, "/v1/books/b1": {"GET", "HEAD", "PUT", "PATCH", "DELETE"}, "/v1/_model": {"GET", "PUT"}, "/healthz": {"GET"}} {
		r := s.Want(405, "TRACE", path, "")
		if !strings.Contains(r.Header.Get("Content-Type"), "problem+json") {
			t.Errorf("%s: %s", path, r.Body)
		}
		for _, m := range allow {
			if !strings.Contains(r.Header.Get("Allow"), m) {
				t.Errorf("%s: Allow %q lacks %s", path, r.Header.Get("Allow"), m)
			}
		}
	}
	m := s.Want(200, "GET", "/v1/_model", "", "Accept", "application/yaml")
	harness.WantHeader(t, m, "Content-Type", "application/yaml")
	r := s.Want(200, "PUT", "/v1/_model", string(m.Body), "Content-Type", "application/yaml", "If-Match", m.Header.Get("ETag"))
	if !strings.Contains(string(r.Body), `"differences":0,"documents":0,"values":0`) {
		t.Errorf("the model as read is another: %s", r.Body)
	}
	harness.WantHeader(t, s.Want(200, "GET", "/v1/_model", ""), "ETag", r.Header.Get("ETag"))
	s.Want(412, "PUT", "/v1/_model", `{}`, "If-Match", `"7777"`)
	harness.WantHeader(t, s.Want(200, "PUT", "/v1/_model?dryRun=true", `{}`), "Fanfold-Revision", "")
	harness.WantHeader(t, s.Want(200, "GET", "/v1/_model", ""), "ETag", r.Header.Get("ETag"))
}

// referenced is a document as written.
func referenced(s *harness.Store, collection, id string) string {
	return string(s.Want(200, "GET", harness.Path(collection, id)+"?view=referenced", "").Body)
}
