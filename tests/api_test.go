package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

const apiModel = `
collections:
  authors:
    derive:
      countOfBooks: {count: books.authors}
  publishers:
    relations: {city: {path: city, to: cities}}
  cities: {}
  books:
    relations:
      authors: {path: "authors[].id", to: authors}
      publisher: {path: pub, to: publishers}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
      publisherName: {copy: publisher, value: doc.name}
`

// referenced is a document as written.
func referenced(s *harness.Store, collection, id string) string {
	return string(s.Want(200, "GET", harness.Path(collection, id)+"?view=referenced", "").Body)
}

// tag is a document's ETag now.
func tag(s *harness.Store, path string) string {
	return s.Want(200, "GET", path, "").Header.Get("ETag")
}

func wantHeader(t *testing.T, r *harness.Response, name, want string) {
	t.Helper()
	if got := r.Header.Get(name); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

func TestPostMakesIDs(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	r := s.Want(201, "POST", "/v1/books", "{ \"title\" : \"T\",\n\"n\":1 }")
	location := r.Header.Get("Location")
	id := strings.TrimPrefix(location, "/v1/books/")
	if u, err := uuid.Parse(id); err != nil || u.Version() != 7 {
		t.Fatalf("Location %q has no UUIDv7", location)
	}
	if got, want := referenced(s, "books", id), `{"id":"`+id+`", "title" : "T",`+"\n\"n\":1 }"; got != want {
		t.Errorf("the document is\n%s\nwant\n%s", got, want)
	}
	wantHeader(t, r, "ETag", tag(s, location))
	rev := r.Header.Get("Fanfold-Revision")
	wantHeader(t, r, "Fanfold-Position", rev+"-0")
	if !strings.HasPrefix(r.Header.Get("ETag"), `"`+rev+"."+rev+"-0.") {
		t.Errorf("ETag %s of revision %s", r.Header.Get("ETag"), rev)
	}
	empty := s.Want(201, "POST", "/v1/books", `{}`).Header.Get("Location")
	s.WantDoc("books", strings.TrimPrefix(empty, "/v1/books/"), `{"id":"`+strings.TrimPrefix(empty, "/v1/books/")+`"}`)
}

func TestPostWithID(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	wantHeader(t, s.Want(201, "POST", "/v1/books", `{"title":"T","id":"b 1/2"}`), "Location", "/v1/books/b%201%2F2")
	s.WantDoc("books", "b 1/2", `{"title":"T","id":"b 1/2"}`)
	r := s.Want(201, "POST", "/v1/books", `{"id":7}`)
	wantHeader(t, r, "Location", "/v1/books/7")
	s.WantDoc("books", "7", `{"id":7}`)
	again := s.Want(409, "POST", "/v1/books", `{"id":"7"}`)
	if !strings.Contains(string(again.Body), `"revision":`+r.Header.Get("Fanfold-Revision")) {
		t.Errorf("%s does not tell the revision", again.Body)
	}
	s.Want(201, "POST", "/v1/books", `{"id":8}`, "If-None-Match", "*")
}

func TestPutCreatesAndReplaces(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	first := s.Want(201, "PUT", "/v1/books/b1", `{"title":"T"}`)
	second := s.Want(204, "PUT", "/v1/books/b1", `{"title":"T"}`)
	if len(first.Body)+len(second.Body) > 0 {
		t.Error("a PUT is answered with a body")
	}
	wantHeader(t, second, "ETag", tag(s, "/v1/books/b1"))
	if first.Header.Get("ETag") == second.Header.Get("ETag") {
		t.Error("two writes have one ETag")
	}
	s.Want(201, "PUT", "/v1/books/9", `{"id":9}`)
	s.WantDoc("books", "9", `{"id":9}`)
}

func TestPatchBothKinds(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	s.Put("books", "b1", `{"z":1, "title":"T","list":[1,{"x":2.50}],"gone":true}`)
	r := s.Want(204, "PATCH", "/v1/books/b1", `{"title":"U","gone":null,"new":{"a":null,"b":1e2}}`, "Content-Type", mergeType)
	wantHeader(t, r, "ETag", tag(s, "/v1/books/b1"))
	wantHeader(t, r, "Accept-Patch", mergeType+", "+patchType)
	s.WantDoc("books", "b1", `{"id":"b1","z":1,"title":"U","list":[1,{"x":2.50}],"new":{"b":1e2}}`)
	r = s.Want(204, "PATCH", "/v1/books/b1", `[{"op":"test","path":"/list/1/x","value":2.5},{"op":"add","path":"/list/-","value":3},
		{"op":"move","from":"/new/b","path":"/b"},{"op":"copy","from":"/list/0","path":"/list/0"},{"op":"remove","path":"/z"},{"op":"replace","path":"/new","value":"ü"}]`,
		"Content-Type", patchType+"; charset=utf-8")
	wantHeader(t, r, "ETag", tag(s, "/v1/books/b1"))
	s.WantDoc("books", "b1", `{"id":"b1","title":"U","list":[1,1,{"x":2.50},3],"new":"ü","b":1e2}`)
	before := tag(s, "/v1/books/b1")
	s.Want(204, "PATCH", "/v1/books/b1", `[]`, "Content-Type", patchType)
	if tag(s, "/v1/books/b1") == before {
		t.Error("an empty patch is a write, too")
	}
}

func TestDeleteAndCreateAgain(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
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
		s.Want(404, "PATCH", "/v1/authors/a1", `{}`, "Content-Type", mergeType)
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

func TestIfMatchComparesTheRevision(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	old := s.Put("books", "b1", `{"authors":[{"id":"a1"}],"n":0}`).Header.Get("ETag")
	now := s.Put("books", "b1", `{"authors":[{"id":"a1"}],"n":1}`)
	for _, st := range []step{
		{412, "PUT", "/v1/books/b1", `{}`, nil}, {412, "DELETE", "/v1/books/b1", ``, nil},
		{412, "PATCH", "/v1/books/b1", `{}`, []string{"Content-Type", mergeType}},
	} {
		r := s.Want(st.want, st.method, st.path, st.body, append(st.headers, "If-Match", old)...)
		wantHeader(t, r, "ETag", now.Header.Get("ETag"))
		wantHeader(t, r, "Fanfold-Revision", now.Header.Get("Fanfold-Revision"))
	}
	for _, form := range []string{"%s", "W/%s", `"1.1-0.1", %s`, "%s , \"1\""} {
		current := tag(s, "/v1/books/b1")
		s.Merge("authors", "a1", `{"name":"`+url.QueryEscape(form)+`"}`) // changes the view, not the revision
		if tag(s, "/v1/books/b1") == current {
			t.Fatal("the derived change did not change the ETag")
		}
		s.Want(204, "PUT", "/v1/books/b1", `{"authors":[{"id":"a1"}]}`, "If-Match", fmt.Sprintf(form, current))
	}
	expanded := tag(s, "/v1/books/b1?expand=authors")
	if plain := tag(s, "/v1/books/b1"); !strings.HasPrefix(expanded, strings.TrimSuffix(plain, `"`)+".") {
		t.Errorf("the expanded tag is %s, the plain one %s", expanded, plain)
	}
	r := s.Want(204, "PATCH", "/v1/books/b1", `{"n":5}`, "Content-Type", mergeType, "If-Match", expanded)
	s.Want(204, "PUT", "/v1/books/b1", `{"n":6}`, "If-Match", `"`+r.Header.Get("Fanfold-Revision")+`"`)
	s.Want(204, "PUT", "/v1/books/b1", `{"n":7}`, "If-Match", "*")
	s.Want(204, "DELETE", "/v1/books/b1", ``, "If-Match", tag(s, "/v1/books/b1"))
}

// TestConditionsUnderConcurrency: of many writers under one condition exactly one succeeds.
func TestConditionsUnderConcurrency(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	current := s.Put("books", "b1", `{}`).Header.Get("ETag")
	for name, st := range map[string]step{
		"PUT":    {204, "PUT", "/v1/books/b1", `{"n":1}`, []string{"If-Match", current}},
		"create": {201, "PUT", "/v1/books/b2", `{}`, []string{"If-None-Match", "*"}},
		"POST":   {201, "POST", "/v1/books", `{"id":"b3"}`, nil},
	} {
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				r, err := s.Do(st.method, st.path, []byte(st.body), st.headers...)
				switch {
				case err == nil && r.Status == st.want:
					won.Add(1)
				case err != nil || r.Status != http.StatusPreconditionFailed && r.Status != http.StatusConflict:
					t.Errorf("%s: %v %+v", name, err, r)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%s: %d writers succeeded", name, won.Load())
		}
	}
	var wg sync.WaitGroup
	s.Put("books", "n", `{"list":[]}`)
	for i := range 16 {
		wg.Go(func() {
			s.Want(204, "PATCH", "/v1/books/n", fmt.Sprintf(`[{"op":"add","path":"/list/-","value":%d}]`, i), "Content-Type", patchType)
		})
	}
	wg.Wait()
	if got := strings.Count(s.Get("books", "n"), ","); got != 16 {
		t.Errorf("after 16 patches: %s", s.Get("books", "n"))
	}
}

func TestCreateOnly(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	s.Want(201, "PUT", "/v1/books/b1", `{}`, "If-None-Match", "*")
	r := s.Want(412, "PUT", "/v1/books/b1", `{"n":1}`, "If-None-Match", "*")
	wantHeader(t, r, "ETag", tag(s, "/v1/books/b1"))
	s.WantDoc("books", "b1", `{"id":"b1"}`)
}

func TestConditionalGet(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("books", "b1", `{"authors":[{"id":"a1"}]}`)
	for _, path := range []string{"/v1/books/b1", "/v1/books/b1?expand=authors"} {
		current := tag(s, path)
		for _, v := range []string{current, "W/" + current, `"1", ` + current, "*"} {
			r := s.Want(304, "GET", path, "", "If-None-Match", v)
			wantHeader(t, r, "ETag", current)
			if len(r.Body) > 0 {
				t.Errorf("a 304 has the body %s", r.Body)
			}
		}
		s.Want(200, "GET", path, "", "If-None-Match", `"1", "x"`)
		s.Merge("authors", "a1", `{"name":"`+url.QueryEscape(path)+`"}`)
		s.Want(200, "GET", path, "", "If-None-Match", current)
	}
	get, head := s.Want(200, "GET", "/v1/books/b1", ""), s.Want(200, "HEAD", "/v1/books/b1", "")
	for _, name := range []string{"ETag", "Fanfold-Revision", "Fanfold-Position", "Last-Modified", "Content-Type", "Content-Length"} {
		wantHeader(t, head, name, get.Header.Get(name))
	}
	if _, err := http.ParseTime(get.Header.Get("Last-Modified")); err != nil {
		t.Error(err)
	}
}

// TestExpandedTagFollowsExpandedDocuments: also where the document itself copies nothing.
func TestExpandedTagFollowsExpandedDocuments(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	s.Put("publishers", "p1", `{"city":"c1"}`)
	s.Put("books", "b1", `{"pub":"p1"}`)
	path := "/v1/books/b1?expand=publisher.city"
	plain, tags := tag(s, "/v1/books/b1"), []string{tag(s, path)}
	s.Put("cities", "c1", `{"name":"C"}`)
	tags = append(tags, tag(s, path))
	s.Put("cities", "c1", `{"name":"D"}`)
	tags = append(tags, tag(s, path))
	s.Delete("cities", "c1")
	tags = append(tags, tag(s, path))
	if slices.Sort(tags[1:]); len(slices.Compact(slices.Clone(tags[1:]))) != 3 || tag(s, "/v1/books/b1") != plain {
		t.Errorf("tags %v, the document's own %s", tags, plain)
	}
}

func TestPreferences(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	body := `{"authors":[{"id":"a1","name":"forged"}],"publisherName":"x"}`
	p := refuse(t, s, bad{"", 422, "unprocessable", "PUT", "/v1/books/b1", body, []string{"Prefer", "handling=strict"}, []string{"/authors/0/name", "/publisherName"}})
	if len(p.Problems) != 2 {
		t.Errorf("problems %v", p.Problems)
	}
	s.Want(404, "GET", "/v1/books/b1", "")
	r := s.Want(201, "PUT", "/v1/books/b1", body, "Prefer", "handling=lenient, return=minimal")
	wantHeader(t, r, "ETag", "") // what was stored is not what was sent
	wantHeader(t, r, "Preference-Applied", "handling=lenient, return=minimal")
	if r.Header.Get("Fanfold-Revision") == "" || len(r.Body) > 0 {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a1","name":"A"}]}`)

	r = s.Want(200, "PUT", "/v1/books/b1", body, "Prefer", `odd, Return="representation"; x=1`)
	wantHeader(t, r, "ETag", tag(s, "/v1/books/b1"))
	wantHeader(t, r, "Content-Type", "application/json")
	if string(r.Body) != s.Get("books", "b1") {
		t.Errorf("the representation is %s", r.Body)
	}
	r = s.Want(201, "POST", "/v1/books", `{"id":"b2","authors":[{"id":"a1"}]}`, "Prefer", "return=representation")
	if string(r.Body) != `{"id":"b2","authors":[{"id":"a1","name":"A"}]}` {
		t.Errorf("the representation is %s", r.Body)
	}
	r = s.Want(200, "PATCH", "/v1/books/b2", `{"n":1}`, "Prefer", "return=representation", "Content-Type", mergeType)
	if string(r.Body) != `{"id":"b2","authors":[{"id":"a1","name":"A"}],"n":1}` {
		t.Errorf("the representation is %s", r.Body)
	}
	s.Want(204, "PUT", "/v1/books/b2", `{}`, "Prefer", "handling=strict")
}

func TestRespondAsync(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	for _, st := range []step{
		{202, "POST", "/v1/books", `{"id":"b1"}`, nil}, {202, "PUT", "/v1/books/b1", `{"n":1}`, nil},
		{202, "PATCH", "/v1/books/b1", `{"n":2}`, []string{"Content-Type", mergeType}}, {202, "DELETE", "/v1/books/b1", ``, nil},
	} {
		r := s.Want(st.want, st.method, st.path, st.body, append(st.headers, "Prefer", "respond-async")...)
		wantHeader(t, r, "Preference-Applied", "respond-async")
		status := 200
		if st.method == "DELETE" {
			status = 404
		}
		got := s.Want(status, "GET", "/v1/books/b1", "", "Fanfold-Min-Position", r.Header.Get("Fanfold-Position"))
		if status == 200 {
			wantHeader(t, got, "Fanfold-Revision", r.Header.Get("Fanfold-Revision"))
		}
	}
}

func TestWritesAreNot5xxWhenTheFoldIsLate(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	for i := range 20 {
		r, err := s.Do("PUT", fmt.Sprintf("/v1/books/b%d", i), []byte(`{}`), "Fanfold-Timeout", "0")
		if err != nil || r.Status != 201 && r.Status != 202 || r.Header.Get("Fanfold-Position") == "" {
			t.Fatalf("%v %+v", err, r)
		}
	}
	s.CatchUp()
	if n := len(walk(t, s, "/v1/books?limit=100")); n != 20 {
		t.Errorf("%d documents", n)
	}
}

func TestMinPositionWaits(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	at, err := fanfold.ParsePosition(s.Put("books", "b1", `{"n":0}`).Header.Get("Fanfold-Position"))
	if err != nil {
		t.Fatal(err)
	}
	s.Put("authors", "a1", `{}`)
	next := fanfold.At(at.Seq()+2, 0).String()
	for _, path := range []string{"/v1/books/b1", "/v1/books", "/v1/authors/a1/books", "/v1/_model"} {
		begin := time.Now()
		refuse(t, s, bad{"", 504, "timeout", "GET", path, ``, []string{"Fanfold-Min-Position", next, "Fanfold-Timeout", "50ms"},
			[]string{fmt.Sprint("stands at event ", at.Seq()+1), fmt.Sprint(at.Seq() + 2), "50ms"}})
		if took := time.Since(begin); took < 40*time.Millisecond || took > 3*time.Second {
			t.Errorf("%s: the answer took %v", path, took)
		}
	}
	var wg sync.WaitGroup
	for _, path := range []string{"/v1/books/b1", "/v1/books"} {
		wg.Go(func() {
			if r := s.Want(200, "GET", path, "", "Fanfold-Min-Position", next, "Fanfold-Timeout", "30"); !strings.Contains(string(r.Body), `"n":1`) {
				t.Errorf("%s answers %s", path, r.Body)
			}
		})
	}
	wantHeader(t, s.Put("books", "b1", `{"n":1}`), "Fanfold-Position", next)
	wg.Wait()
	s.Want(200, "GET", "/v1/books/b1", "", "Fanfold-Min-Position", fmt.Sprint(at.Seq()+2))
}

func TestStrongReadsShowEveryWrite(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	for i := range 30 {
		s.Want(202, "PUT", "/v1/books/b1", fmt.Sprintf(`{"n":%d}`, i), "Prefer", "respond-async")
		for _, path := range []string{"/v1/books/b1?consistency=strong", "/v1/books?consistency=strong"} {
			if got := string(s.Want(200, "GET", path, "").Body); !strings.Contains(got, fmt.Sprintf(`"n":%d`, i)) {
				t.Fatalf("%s after write %d: %s", path, i, got)
			}
		}
	}
	if rows, _ := s.Changes("mode=all"); len(rows) != 30 {
		t.Errorf("%d changes: fences are not changes", len(rows))
	}
}

// TestReferencedViewIsByteForByte: what was written comes back; the embedded view has the same tokens.
func TestReferencedViewIsByteForByte(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
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
	s := harness.OpenTemp(t, apiModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("publishers", "p1", `{"name":"P"}`)
	s.Put("books", "b1", `{"title":"T","authors":[{"id":"a1"}],"pub":"p1"}`)
	got := s.Want(200, "GET", "/v1/books/b1?expand=authors", "")
	edited := strings.Replace(string(got.Body), `"T"`, `"U"`, 1)
	r := s.Want(204, "PUT", "/v1/books/b1", edited, "If-Match", got.Header.Get("ETag"))
	wantHeader(t, r, "ETag", "")
	s.Put("authors", "a1", `{"name":"B"}`)
	if got := referenced(s, "books", "b1"); got != `{"id":"b1","title":"U","authors":[{"id":"a1"}],"pub":"p1"}` {
		t.Errorf("stored: %s", got)
	}
	s.WantDoc("books", "b1", `{"id":"b1","title":"U","authors":[{"id":"a1","name":"B"}],"pub":"p1","publisherName":"P"}`)
	items := s.Want(200, "GET", "/v1/books", "").Body
	item := strings.TrimSuffix(strings.TrimPrefix(string(items), `{"items":[`), `]}`)
	wantHeader(t, s.Want(204, "PUT", "/v1/books/b1", item), "Fanfold-Position", fmt.Sprint(s.Node.Store.Applied.Seq(), "-0"))
	s.WantDoc("books", "b1", `{"id":"b1","title":"U","authors":[{"id":"a1","name":"B"}],"pub":"p1","publisherName":"P"}`)
}

// item is a listed document.
type item struct {
	ID   string
	N    int
	Meta struct {
		Rev                  uint64
		Position             fanfold.Position
		CreatedAt, UpdatedAt time.Time
	} `json:"_meta"`
	Expanded map[string]map[string]json.RawMessage `json:"_expanded"`
}

func listPage(t *testing.T, s *harness.Store, path string) (items []item, next string) {
	t.Helper()
	var page struct {
		Items []item
		Next  string
	}
	r := s.Want(200, "GET", path, "")
	if err := json.Unmarshal(r.Body, &page); err != nil || page.Items == nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	if r.Header.Get("Fanfold-Position") == "" {
		t.Error("a list has no Fanfold-Position")
	}
	return page.Items, page.Next
}

func TestListPages(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	if items, next := listPage(t, s, "/v1/books"); len(items) > 0 || next != "" {
		t.Errorf("an empty list is %v %q", items, next)
	}
	for i := range 20 {
		s.Put("books", fmt.Sprintf("b%02d", (i*7)%20), fmt.Sprintf(`{"n":%d}`, i))
	}
	first, next := listPage(t, s, "/v1/books?limit=10")
	s.Delete("books", "b09") // the cursor's own
	s.Delete("books", "b10")
	s.Put("books", "b095", `{}`)
	second, end := listPage(t, s, "/v1/books?limit=10&cursor="+url.QueryEscape(next))
	if len(first) != 10 || len(second) != 10 || end != "" {
		t.Fatalf("pages of %d and %d, then %q", len(first), len(second), end)
	}
	for i, it := range slices.Concat(first, second) {
		want := fmt.Sprintf("b%02d", i)
		if i == 10 {
			want = "b095"
		}
		if it.ID != want || it.Meta.Rev == 0 || it.Meta.Position.Seq() != it.Meta.Rev || it.Meta.CreatedAt.IsZero() || !it.Meta.CreatedAt.Equal(it.Meta.UpdatedAt) {
			t.Errorf("item %d is %+v, want %s", i, it, want)
		}
	}
	if all, end := listPage(t, s, "/v1/books?limit=19"); len(all) != 19 || end != "" {
		t.Errorf("one page has %d, then %q", len(all), end)
	}
}

func TestChildrenComeByArrival(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	s.Put("authors", "a1", `{}`)
	for i := range 15 {
		s.Put("books", fmt.Sprintf("b%02d", (i*7)%15), fmt.Sprintf(`{"n":%d,"authors":[{"id":"a1"},{"id":"a1"}]}`, i))
	}
	s.Put("books", "other", `{"authors":[{"id":"a2"}]}`)
	s.Put("books", "b00", `{"n":0,"authors":[{"id":"a2"},{"id":"a1"}]}`) // keeps its place
	var got []item
	for path, pages := "/v1/authors/a1/books?limit=4", 0; ; pages++ {
		items, next := listPage(t, s, path)
		got = append(got, items...)
		if next == "" {
			break
		}
		path = "/v1/authors/a1/books?limit=4&expand=authors&view=referenced&cursor=" + url.QueryEscape(next)
	}
	if len(got) != 15 {
		t.Fatalf("%d children", len(got))
	}
	for i, it := range got {
		if it.N != i {
			t.Errorf("child %d is %s, number %d", i, it.ID, it.N)
		}
	}
	s.Want(404, "GET", "/v1/authors/a2/books", "") // no such author, though a book names it
	s.Want(404, "GET", "/v1/authors/a1/publishers", "")
}

func TestExpand(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
	s.Put("cities", "c1", `{"name":"C"}`)
	s.Put("publishers", "p1", `{"name":"P","city":"c1"}`)
	s.Put("authors", "2", `{"id":2,"name":"B"}`)
	s.Put("authors", "1", `{"name":"A"}`)
	s.Put("books", "b1", `{"authors":[{"id":2},{"id":"1"},{"id":"none"},{"id":"2"}],"pub":"p1"}`)
	embedded := s.Get("books", "b1")
	r := s.Want(200, "GET", "/v1/books/b1?expand=publisher.city,authors", "")
	want := strings.TrimSuffix(embedded, "}") + `,"_expanded":{"publisher":{"p1":{"id":"p1","name":"P","city":"c1","_expanded":{"city":{"c1":{"id":"c1","name":"C"}}}}},` +
		`"authors":{"2":{"id":2,"name":"B","countOfBooks":1},"1":{"id":"1","name":"A","countOfBooks":1}}}}`
	if string(r.Body) != want {
		t.Errorf("expanded\n%s\nwant\n%s", r.Body, want)
	}
	r = s.Want(200, "GET", "/v1/books/b1?expand=authors&view=referenced", "")
	if !strings.HasSuffix(string(r.Body), `"_expanded":{"authors":{"2":{"id":2,"name":"B"},"1":{"id":"1","name":"A"}}}}`) {
		t.Errorf("expanded as written: %s", r.Body)
	}
	items, _ := listPage(t, s, "/v1/books?expand=publisher")
	if string(items[0].Expanded["publisher"]["p1"]) != `{"id":"p1","name":"P","city":"c1"}` {
		t.Errorf("listed: %s", items[0].Expanded)
	}
	s.Delete("publishers", "p1")
	r = s.Want(200, "GET", "/v1/books/b1?expand=publisher", "")
	if !strings.HasSuffix(string(r.Body), `"_expanded":{"publisher":{}}}`) {
		t.Errorf("dangling: %s", r.Body)
	}
}

// renamed is a store in whose feed the last event is a rename of a1 with five derived changes.
func renamed(t *testing.T) *harness.Store {
	s := harness.OpenTemp(t, apiModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	for i := range 5 {
		s.Put("books", fmt.Sprint("b", i), `{"authors":[{"id":"a1"}]}`)
	}
	s.Put("books", "b0", `{"authors":[{"id":"a1"}],"n":1}`)
	s.Put("authors", "a1", `{"name":"B"}`)
	return s
}

func TestFeedLimitIsSoft(t *testing.T) {
	s := renamed(t)
	all, last := s.Changes("mode=all")
	for limit := 1; limit <= len(all); limit++ {
		var got []harness.Change
		since := "0"
		for {
			rows, next := s.Changes(fmt.Sprintf("mode=all&limit=%d&since=%s", limit, since))
			if len(rows) == 0 {
				break
			}
			got, since = append(got, rows...), next
			if n := len(got); n < len(all) && event(all[n].Seq) == event(all[n-1].Seq) {
				t.Fatalf("limit=%d cuts event %s", limit, event(all[n].Seq))
			}
		}
		if len(got) != len(all) || since != last {
			t.Fatalf("limit=%d: %d rows up to %s, want %d up to %s", limit, len(got), since, len(all), last)
		}
	}
	for i, row := range all {
		if rows, _ := s.Changes("mode=all&since=" + row.Seq); len(rows) != len(all)-i-1 {
			t.Errorf("since=%s: %d rows, want %d", row.Seq, len(rows), len(all)-i-1)
		}
	}
	r := s.Want(200, "GET", "/v1/_changes?limit=1&mode=all", "")
	if strings.Contains(string(r.Body), `"pending":0`) {
		t.Errorf("nothing is pending in %s", r.Body)
	}
}

// event is a position's sequence.
func event(position string) string { seq, _, _ := strings.Cut(position, "-"); return seq }

func TestFeedModes(t *testing.T) {
	s := renamed(t)
	latest, _ := s.Changes("")
	if len(latest) != 6 {
		t.Fatalf("latest: %d rows, want one a document: %v", len(latest), latest)
	}
	for i, row := range latest[1:] {
		c := row.Cause
		if row.Op != "derive" || row.Collection != "books" || c == nil || c.Seq != latest[0].Seq || c.Collection != "authors" || c.ID != "a1" || !strings.Contains(c.Rule, "name") || event(row.Seq) != event(latest[0].Seq) {
			t.Errorf("row %d: %+v, cause %+v", i, row, c)
		}
		if row.Doc != nil || row.Previous != nil || row.Patch != nil {
			t.Errorf("latest has documents: %+v", row)
		}
	}
	all, _ := s.Changes("mode=all&collections=books,cities&include_docs=true")
	for _, row := range all {
		if row.Collection != "books" || !strings.Contains(string(row.Doc), `"_meta"`) {
			t.Errorf("%+v with %s", row, row.Doc)
		}
		if row.Op == "replace" && string(row.Previous) != `{"id":"b0","authors":[{"id":"a1","name":"A"}]}` {
			t.Errorf("previous is %s", row.Previous)
		}
		if row.Op == "derive" && (!strings.Contains(string(row.Patch), `"old":"A"`) || !strings.Contains(string(row.Patch), `"value":"B"`)) {
			t.Errorf("the patch is %s", row.Patch)
		}
	}
	s.Delete("books", "b1")
	rows, _ := s.Changes("include_docs=true&collections=books")
	if row := rows[len(rows)-1]; row.Op != "delete" || row.ID != "b1" || row.Doc != nil {
		t.Errorf("%+v", row)
	}
}

func TestFeedSince(t *testing.T) {
	s := renamed(t)
	all, last := s.Changes("mode=all")
	count := func(since string) int {
		rows, _ := s.Changes("mode=all&since=" + url.QueryEscape(since))
		return len(rows)
	}
	begin, err := time.Parse(time.RFC3339Nano, all[0].Time)
	if err != nil {
		t.Fatal(err)
	}
	for since, want := range map[string]int{"0": len(all), "0-0": len(all), "now": 0, last: 0, event(all[0].Seq): len(all) - 1, "2001-02-03T04:05:06Z": len(all),
		begin.Format(time.RFC3339Nano): len(all), begin.Add(time.Hour).Format(time.RFC3339): 0, all[0].Seq: len(all) - 1} {
		if got := count(since); got != want {
			t.Errorf("since=%s: %d rows, want %d", since, got, want)
		}
	}
	r := s.Want(200, "GET", "/v1/_changes?mode=all&since=0", "", "Last-Event-ID", last)
	if !strings.Contains(string(r.Body), `"results":[`+"\n]") {
		t.Errorf("Last-Event-ID does not go before since: %s", r.Body)
	}
	refuse(t, s, bad{"", 504, "timeout", "GET", "/v1/_changes?timeout=20&since=99999-0", ``, nil, []string{"99999-0"}})
}

func TestLongPoll(t *testing.T) {
	s := renamed(t)
	rows, last := s.Changes("feed=longpoll&timeout=20&since=now")
	if _, head := s.Changes(""); len(rows) > 0 || last != head {
		t.Errorf("a quiet long poll has %v up to %s, want %s", rows, last, head)
	}
	got := make(chan []harness.Change)
	go func() {
		rows, _ := s.Changes("feed=longpoll&collections=cities&timeout=30000&since=" + last)
		got <- rows
	}()
	s.Put("books", "b1", `{}`) // is not asked about
	s.Put("cities", "c1", `{}`)
	if rows := <-got; len(rows) != 1 || rows[0].ID != "c1" {
		t.Errorf("the long poll has %v", rows)
	}
	if rows, _ := s.Changes("feed=longpoll&limit=1"); len(rows) == 0 {
		t.Error("what is there already is not answered")
	}
}

// sse is a stream of server-sent events.
type sse struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Scanner
}

func openSSE(t *testing.T, s *harness.Store, query string, headers ...string) *sse {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/_changes?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	return &sse{t: t, body: resp.Body, in: bufio.NewScanner(resp.Body)}
}

// next is the next event; ok is false at the stream's end.
func (e *sse) next() (id, event string, row harness.Change, ok bool) {
	e.t.Helper()
	for e.in.Scan() {
		name, value, _ := strings.Cut(e.in.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			if err := json.Unmarshal([]byte(value), &row); err != nil {
				e.t.Fatalf("%v in %s", err, value)
			}
		case "":
			return id, event, row, true
		default:
			e.t.Fatalf("line %q", e.in.Text())
		}
	}
	if err := e.in.Err(); err != nil {
		e.t.Fatalf("the stream broke: %v", err)
	}
	return "", "", row, false
}

func TestEventStream(t *testing.T) {
	s := renamed(t)
	all, last := s.Changes("mode=all")
	e := openSSE(t, s, "mode=all", "Accept", "text/event-stream")
	for _, want := range all {
		id, event, row, _ := e.next()
		if id != want.Seq || event != "change" || row.Seq != want.Seq || row.ID != want.ID || row.Op != want.Op {
			t.Fatalf("event %s %s %+v, want %+v", id, event, row, want)
		}
	}
	written := s.Put("cities", "c1", `{}`).Header.Get("Fanfold-Position")
	if id, _, row, _ := e.next(); id != written || row.ID != "c1" {
		t.Errorf("event %s %+v, want %s", id, row, written)
	}
	e = openSSE(t, s, "feed=eventsource&mode=all&since=0&limit=1", "Last-Event-ID", last)
	if id, _, _, _ := e.next(); id != written {
		t.Errorf("event %s, want %s", id, written)
	}
	e = openSSE(t, s, "feed=eventsource&mode=all&limit=1&since="+all[7].Seq)
	n := 0
	for _, _, _, ok := e.next(); ok; _, _, _, ok = e.next() {
		n++
	}
	if n == 0 || n > len(all)-8 {
		t.Errorf("a stream with limit=1 had %d events", n)
	}
}

// TestHeartbeatsCarryPositions: a consumer whose filter matches nothing still learns where it is.
func TestHeartbeatsCarryPositions(t *testing.T) {
	s := renamed(t)
	e := openSSE(t, s, "feed=eventsource&collections=cities&heartbeat=100&since=now")
	written := s.Put("books", "b9", `{}`).Header.Get("Fanfold-Position")
	for reached := false; !reached; {
		id, event, _, ok := e.next()
		if !ok || event != "heartbeat" {
			t.Fatalf("event %s %s", id, event)
		}
		reached = event == "heartbeat" && id == written
	}
	s.Put("cities", "c1", `{}`)
	for {
		id, event, row, _ := e.next()
		if event == "change" {
			if row.ID != "c1" || id != row.Seq {
				t.Errorf("event %s %+v", id, row)
			}
			return
		}
	}
}

// TestFeedsEndWithTheServer: open streams and long polls end in order, at once.
func TestFeedsEndWithTheServer(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	s.Put("books", "b1", `{}`)
	e := openSSE(t, s, "feed=eventsource")
	e.next()
	poll := make(chan *harness.Response, 1)
	go func() {
		r, _ := s.Do("GET", "/v1/_changes?feed=longpoll&since=now", nil) // an error where the server went before it was asked
		poll <- r
	}()
	s.Put("books", "b1", `{}`)
	e.next()
	begin := time.Now()
	s.Close()
	if _, _, _, ok := e.next(); ok {
		t.Error("the stream goes on")
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("closing took %v", took)
	}
	if r := <-poll; r != nil && r.Status != 200 && r.Status != 503 {
		t.Errorf("the long poll ends with %d %s", r.Status, r.Body)
	}
}

func TestMethodsAndSystemRoutes(t *testing.T) {
	s := harness.OpenTemp(t, apiModel)
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
	wantHeader(t, m, "Content-Type", "application/yaml")
	r := s.Want(200, "PUT", "/v1/_model", string(m.Body), "Content-Type", "application/yaml", "If-Match", m.Header.Get("ETag"))
	if !strings.Contains(string(r.Body), `"changes":0`) || strings.Contains(string(r.Body), `"new"`) {
		t.Errorf("the model as read is another: %s", r.Body)
	}
	wantHeader(t, s.Want(200, "GET", "/v1/_model", ""), "ETag", r.Header.Get("ETag"))
	s.Want(412, "PUT", "/v1/_model", `{}`, "If-Match", m.Header.Get("ETag"))
	wantHeader(t, s.Want(200, "PUT", "/v1/_model?dryRun=true", `{}`), "Fanfold-Revision", "")
	wantHeader(t, s.Want(200, "GET", "/v1/_model", ""), "ETag", r.Header.Get("ETag"))
}
