package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// pastPage is a page of a list.
type pastPage struct {
	Items []struct{ ID, Name string }
	Next  string
}

// readPast reads a page of a list.
func readPast(t *testing.T, s *harness.Store, path string) (p pastPage, names string) {
	t.Helper()
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, path, "").Body, &p); err != nil {
		t.Fatal(err)
	}
	for _, item := range p.Items {
		names += item.ID + "=" + item.Name + " "
	}
	return p, strings.TrimSpace(names)
}

// TestListsOfThePast: a list as it was shows the same state on every page, whatever is written between, and its cursor alone says which.
func TestListsOfThePast(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	for i := range 5 {
		s.Put("notes", fmt.Sprint(i), fmt.Sprintf(`{"name":"n%d"}`, i))
	}
	at := s.Want(http.StatusOK, http.MethodGet, "/v1/notes/0", "").Header.Get("Fanfold-Position")
	change := func(round int) {
		s.Put("notes", fmt.Sprint(round), `{"name":"changed"}`)
		s.Delete("notes", fmt.Sprint(4-round))
		s.Put("notes", fmt.Sprint(4-round)+"a", `{"name":"new"}`)
	}
	change(0)
	p, names := readPast(t, s, "/v1/notes?limit=2&at="+at)
	change(1)
	second, more := readPast(t, s, "/v1/notes?limit=2&cursor="+p.Next)
	change(2)
	_, last := readPast(t, s, "/v1/notes?limit=2&cursor="+second.Next)
	if got := strings.Join([]string{names, more, last}, " "); got != "0=n0 1=n1 2=n2 3=n3 4=n4" {
		t.Errorf("the list at %s has %s", at, got)
	}
	if p, names := readPast(t, s, "/v1/notes?at="+at+"&fields=name&ids=4,2,9"); names != "4=n4 2=n2" || len(p.Items) != 2 {
		t.Errorf("by ids it has %s", names)
	}
	if _, names := readPast(t, s, "/v1/notes?at=0"); names != "" {
		t.Errorf("at the beginning it has %s", names)
	}
	bare, _, _ := strings.Cut(at, "-")
	for _, again := range []string{at, bare} {
		s.Want(http.StatusOK, http.MethodGet, "/v1/notes?limit=2&at="+again+"&cursor="+p.Next, "")
	}
	present, _ := readPast(t, s, "/v1/notes?limit=1")
	for path, says := range map[string]string{
		"/v1/notes?at=1&cursor=" + p.Next:                "at=1",
		"/v1/notes?at=" + at + "&cursor=" + present.Next: "present",
		"/v1/notes?at=" + at + "&filter=true":            "filter",
		"/v1/notes?at=" + at + "&count=true":             "count",
		"/v1/notes?at=" + at + "&consistency=strong":     "consistency",
		"/v1/others?cursor=" + p.Next:                    "notes",
	} {
		if r := s.Want(http.StatusBadRequest, http.MethodGet, path, ""); !strings.Contains(string(r.Body), says) {
			t.Errorf("%s says %s, want %s", path, r.Body, says)
		}
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/none?at="+at, "")
}

// TestPastUnderItsModel: relations are expanded as the model of then says.
func TestPastUnderItsModel(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	s.Model(`{"collections":{"books":{"relations":{"author":{"path":"a","to":"authors"}}},"authors":{}}}`)
	s.Put("authors", "1", `{"name":"A"}`)
	then := s.Put("books", "1", `{"a":"1"}`).Header.Get("Fanfold-Position")
	s.Model(`{"collections":{"books":{"relations":{"writer":{"path":"a","to":"authors"}}},"authors":{}}}`)
	s.Put("authors", "1", `{"name":"B"}`)
	for path, want := range map[string]string{
		"/v1/books/1?expand=author&at=" + then: `"_expanded":{"author":{"1":{"id":"1","name":"A"}}}`,
		"/v1/books?expand=author&at=" + then:   `"_expanded":{"author":{"1":{"id":"1","name":"A"}}}`,
		"/v1/books/1?expand=writer":            `"_expanded":{"writer":{"1":{"id":"1","name":"B"}}}`,
	} {
		if r := s.Want(http.StatusOK, http.MethodGet, path, ""); !strings.Contains(string(r.Body), want) {
			t.Errorf("%s has %s, want %s", path, r.Body, want)
		}
	}
	s.Want(http.StatusBadRequest, http.MethodGet, "/v1/books?expand=writer&at="+then, "")
}

// TestDiff: documents that differ, by collection and id, and none that came back to what they were.
func TestDiff(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	s.Model(`{"collections":{"books":{"relations":{"author":{"path":"a","to":"authors"}},"derive":{"by":{"copy":"author","value":"doc.name"}}},"authors":{}}}`)
	s.Put("authors", "1", `{"name":"A"}`)
	for _, id := range []string{"b", "c", "d"} {
		s.Put("books", id, `{"a":"1","n":1}`)
	}
	from := s.Want(http.StatusOK, http.MethodGet, "/v1/books/b", "").Header.Get("Fanfold-Position")
	s.Put("books", "b", `{"a":"1","n":2}`)
	s.Put("books", "b", `{"a":"1","n":1}`)
	s.Delete("books", "c")
	s.Put("books", "e", `{"n":5}`)
	s.Put("authors", "1", `{"name":"B"}`)
	to := s.Want(http.StatusOK, http.MethodGet, "/v1/books/b", "").Header.Get("Fanfold-Position")
	diff := func(query string) (lines []string) {
		t.Helper()
		for rest := query; rest != ""; {
			var page struct {
				Items []struct {
					Collection, ID, Op string
					Before, After      json.RawMessage
					Patch              json.RawMessage
				}
				From, To, Next string
			}
			if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/_diff?"+rest, "").Body, &page); err != nil {
				t.Fatal(err)
			}
			for _, i := range page.Items {
				if (i.Before == nil) != (i.Op == "create") || (i.After == nil) != (i.Op == "delete") {
					t.Errorf("%s of %s is from %s to %s", i.Op, i.ID, i.Before, i.After)
				}
				line := fmt.Sprintf("%s %s/%s", i.Op, i.Collection, i.ID)
				if i.Op == "change" {
					line += " " + string(i.Patch)
				}
				lines = append(lines, line)
			}
			if rest = ""; page.Next != "" {
				rest = strings.Split(query, "&to=")[0] + "&cursor=" + page.Next
			}
			s.Put("books", "z", `{"n":9}`) // not a part of it
		}
		return lines
	}
	author, by := `change authors/1 [{"op":"replace","path":"/name","value":"B","old":"A"}]`, `[{"op":"replace","path":"/by","value":"B","old":"A"}]`
	for query, want := range map[string][]string{
		"from=" + from + "&limit=1&to=" + to:                    {author, "change books/b " + by, "delete books/c", "change books/d " + by, "create books/e"},
		"from=" + from + "&derived=exclude&to=" + to:            {author, "delete books/c", "create books/e"},
		"from=" + from + "&view=referenced&limit=2&to=" + to:    {author, "delete books/c", "create books/e"},
		"from=" + from + "&collections=authors&to=" + to:        {author},
		"from=" + to + "&to=" + to:                              nil,
		"from=0&collections=authors&limit=3&view=embedded&to=3": {"create authors/1"},
	} {
		if got := diff(query); !slices.Equal(got, want) {
			t.Errorf("%s has\n  %s\nwant\n  %s", query, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
	for query, says := range map[string]string{"": "from", "from=" + to + "&to=" + from: "later than to", "from=x": "from=x", "from=1&to=x": "to=x", "from=1&consistency=x": "consistency",
		"from=1&derived=x": "derived=x", "from=1&limit=0": "limit", "from=1&cursor=x": "cursor", "from=1&view=x": "view=x"} {
		if r := s.Want(http.StatusBadRequest, http.MethodGet, "/v1/_diff?"+query, ""); !strings.Contains(string(r.Body), says) {
			t.Errorf("%s says %s, want %s", query, r.Body, says)
		}
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/_diff?from=1&collections=none", "")
}

// TestRevert: a document is written as it was written, under the conditions of a put; where that is what is there, nothing is written.
func TestRevert(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	s.Model(`{"collections":{"books":{"relations":{"author":{"path":"a","to":"authors"}},"derive":{"by":{"copy":"author","value":"doc.name"}}},"authors":{}}}`)
	s.Put("authors", "1", `{"name":"A"}`)
	first := s.Put("books", "b", `{ "a" : "1", "n" : 1 }`).Header.Get("Fanfold-Position")
	s.Put("authors", "1", `{"name":"B"}`)
	s.Put("books", "b", `{"a":"1","n":2}`)
	revert := func(status int, query, at string, headers ...string) *harness.Response {
		t.Helper()
		return s.Want(status, http.MethodPost, "/v1/books/b/_revert"+query, `{"at":"`+at+`"}`, append([]string{"Content-Type", "application/json"}, headers...)...)
	}
	revert(http.StatusOK, "?dryRun=true", first)
	s.WantDoc("books", "b", `{"id":"b","a":"1","n":2,"by":"B"}`)
	revert(http.StatusPreconditionFailed, "", first, "If-Match", `"3.3-0"`)
	r := revert(http.StatusNoContent, "", first, "Idempotency-Key", "k", "Prefer", "return=minimal")
	if again := revert(http.StatusNoContent, "", first, "Idempotency-Key", "k"); again.Header.Get("Fanfold-Revision") != r.Header.Get("Fanfold-Revision") {
		t.Errorf("the same request again is at revision %s, want %s", again.Header.Get("Fanfold-Revision"), r.Header.Get("Fanfold-Revision"))
	}
	s.WantDoc("books", "b", `{"id":"b","a":"1","n":1,"by":"B"}`)
	same := revert(http.StatusNoContent, "", first)
	if same.Header.Get("Fanfold-Revision") != r.Header.Get("Fanfold-Revision") {
		t.Errorf("a revert to what is there is at revision %s, want %s", same.Header.Get("Fanfold-Revision"), r.Header.Get("Fanfold-Revision"))
	}
	revert(http.StatusPreconditionFailed, "", first, "If-Match", `"3.3-0"`) // conditions come first
	revert(http.StatusNotFound, "", "1")
	s.Delete("books", "b")
	revert(http.StatusCreated, "", first)
	s.WantDoc("books", "b", `{"id":"b","a":"1","n":1,"by":"B"}`)
	for body, says := range map[string]string{`{}`: "at", `{"at":1}`: "at", `{"at":""}`: "at", `{"at":"x"}`: "at=x", `{"at":"1","b":1}`: "unknown member", `[]`: "object",
		`{"at":"` + strings.Repeat("1", 256) + `"}`: "255"} {
		if r := s.Want(http.StatusBadRequest, http.MethodPost, "/v1/books/b/_revert", body, "Content-Type", "application/json"); !strings.Contains(string(r.Body), says) {
			t.Errorf("%s says %s, want %s", body, r.Body, says)
		}
	}
}

// TestVersionsOfLargeViews: each version can be read that fits an answer by itself. A patch that is too long is left out.
func TestVersionsOfLargeViews(t *testing.T) {
	s := harness.OpenTemp(t, `
embedded: {limit: 67108864}
collections:
  parts: {}
  wholes: {relations: {parts: {path: "parts[].id", to: parts}}, derive: {"parts[].x": {copy: parts, value: doc.x}}}
`)
	var refs []string
	for i := range 9 {
		s.Put("parts", fmt.Sprint(i), fmt.Sprintf(`{"x":%q}`, strings.Repeat("a", 2<<20-100)))
		refs = append(refs, fmt.Sprintf(`{"id":"%d"}`, i))
	}
	s.Put("wholes", "w", `{"parts":[`+strings.Join(refs, ",")+`]}`)
	s.Want(200, "GET", "/v1/wholes/w?at=11", "") // 18 MiB
	for query, docs := range map[string]bool{"?limit=1&include_docs=false": false, "?limit=1": true, "?limit=1&order=asc": true} {
		body := string(s.Want(200, "GET", "/v1/wholes/w/_history"+query, "").Body)
		if strings.Contains(body, `"patch"`) || strings.Contains(body, `"doc"`) != docs || !strings.Contains(body, `"op":"create"`) {
			t.Errorf("%s has %d bytes: %.300s", query, len(body), body)
		}
	}
}

// TestPagesOfDifferences: a page ends early where it gets large, and the pages have every difference once.
func TestPagesOfDifferences(t *testing.T) {
	s := harness.OpenTemp(t, "")
	var want []string
	for i := range 12 {
		s.Put("notes", fmt.Sprintf("%02d", i), `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
		want = append(want, fmt.Sprintf("%02d", i))
	}
	var got []string
	pages := 0
	for path := "/v1/_diff?from=0"; path != ""; pages++ {
		r := s.Want(http.StatusOK, http.MethodGet, path, "")
		if len(r.Body) > 16<<20+4<<20 {
			t.Errorf("a page has %d bytes", len(r.Body))
		}
		var page struct {
			Items []struct{ ID string }
			Next  string
		}
		if err := json.Unmarshal(r.Body, &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		if path = ""; page.Next != "" {
			path = "/v1/_diff?from=0&cursor=" + page.Next
		}
	}
	if pages != 2 || !slices.Equal(got, want) {
		t.Errorf("%d pages have %v, want %v on two", pages, got, want)
	}
	s.Want(http.StatusBadRequest, http.MethodGet, "/v1/_diff?from=0&limit=1001", "")
}

// TestRevertIsAWriteOfNow: a revert is judged by the schema of now, and frozen copies stay as they are now.
func TestRevertIsAWriteOfNow(t *testing.T) {
	const declared = `collections: {authors: {}, books: {%s relations: {author: {path: a, to: authors}}, derive: {by: {copy: author, value: doc.name, frozen: true}, now: {copy: author, value: doc.name}}}}`
	s := harness.OpenTemp(t, fmt.Sprintf(declared, ""))
	s.Put("authors", "1", `{"name":"A"}`)
	first := s.Put("books", "b", `{"a":"1","n":1}`).Header.Get("Fanfold-Position")
	s.Put("authors", "1", `{"name":"B"}`)
	s.Put("books", "b", `{"a":"1","n":2}`)
	revert := func(status int, at string) {
		t.Helper()
		s.Want(status, http.MethodPost, "/v1/books/b/_revert", `{"at":"`+at+`"}`)
	}
	revert(http.StatusNoContent, first)
	s.WantDoc("books", "b", `{"id":"b","a":"1","n":1,"by":"A","now":"B"}`)
	second := s.Want(http.StatusNoContent, http.MethodPut, "/v1/books/b?refresh=by", `{"a":"1","n":3}`).Header.Get("Fanfold-Position")
	revert(http.StatusNoContent, first)
	s.WantDoc("books", "b", `{"id":"b","a":"1","n":1,"by":"B","now":"B"}`)
	s.Model(fmt.Sprintf(declared, "schema: {type: object, properties: {n: {maximum: 2}}},"))
	revert(http.StatusUnprocessableEntity, second)
	revert(http.StatusNoContent, first)
	s.WantDoc("books", "b", `{"id":"b","a":"1","n":1,"by":"B","now":"B"}`)
}

// readsChildren returns the ids of the documents that refer to one, from all pages of a list. The cursors alone say which state they show.
func readChildren(t *testing.T, s *harness.Store, path, at string) string {
	t.Helper()
	var ids []string
	p, _ := readPast(t, s, path+"&at="+at)
	for {
		for _, item := range p.Items {
			ids = append(ids, item.ID)
		}
		if p.Next == "" {
			return strings.Join(ids, " ")
		}
		p, _ = readPast(t, s, path+"&cursor="+p.Next)
	}
}

// TestChildrenOfThePast: the list has the documents that referred to one then, under the model of then, whatever moved, was deleted or came back.
func TestChildrenOfThePast(t *testing.T) {
	s := harness.OpenTemp(t, `{"collections":{"books":{"relations":{"author":{"path":"a","to":"authors"}}},"authors":{}}}`)
	s.Put("authors", "1", `{"name":"A"}`)
	for i := range 5 {
		s.Put("books", fmt.Sprint(i), `{"a":"1"}`)
	}
	here := func() string {
		return s.Want(http.StatusOK, http.MethodGet, "/v1/authors", "").Header.Get("Fanfold-Position")
	}
	all := here()
	s.Put("books", "0", `{"a":"2"}`)
	s.Delete("books", "1")
	moved := here()
	s.Put("books", "1", `{"a":"1"}`)
	s.Put("books", "0", `{"a":"1"}`)
	s.Model(`{"collections":{"books":{"relations":{"writer":{"path":"a","to":"authors"}}},"authors":{}}}`)
	renamed := here()
	s.Put("books", "3", `{"b":"1"}`)
	s.Model(`{"collections":{"books":{"relations":{"author":{"path":"b","to":"authors"}}},"authors":{}}}`)
	for path, want := range map[string]string{
		"limit=2 " + all: "0 1 2 3 4", "limit=1 " + moved: "2 3 4", "limit=2&relation=writer " + renamed: "0 2 3 4 1", "limit=2&relation=author " + here(): "3",
	} {
		query, at, _ := strings.Cut(path, " ")
		if got := readChildren(t, s, "/v1/authors/1/books?"+query, at); got != want {
			t.Errorf("%s has %s, want %s", path, got, want)
		}
	}
	p, _ := readPast(t, s, "/v1/authors/1/books?limit=2&at="+all)
	present, _ := readPast(t, s, "/v1/authors/1/books?limit=2")
	if present.Next != "" || p.Next == "" {
		t.Fatalf("the cursors are %q and %q", p.Next, present.Next)
	}
	for query, says := range map[string]string{"at=3&cursor=" + p.Next: "at=3", "relation=writer&cursor=" + p.Next: "author", "filter=true&cursor=" + p.Next: "filter",
		"relation=writer&at=" + all: "relation=writer", "relation=author&at=" + renamed: "relation=author", "page=1&at=" + all: "has no pages"} {
		if r := s.Want(http.StatusBadRequest, http.MethodGet, "/v1/authors/1/books?"+query, ""); !strings.Contains(string(r.Body), says) {
			t.Errorf("%s says %s, want %s", query, r.Body, says)
		}
	}
	s.Want(http.StatusBadRequest, http.MethodGet, "/v1/authors/2/books?cursor="+p.Next, "")
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/authors/2/books?at="+all, "")
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/authors/1/books?at=0", "")
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/authors/1/books?at=1", "")
}

// TestPagesOfThePast: a page has the documents that stood in it then, of as many pages as there were, also where the places count anew since.
func TestPagesOfThePast(t *testing.T) {
	const declared = `{"collections":{"books":{"relations":{"author":{"path":"a","to":"authors"}}%s},"authors":{}}}`
	paged := fmt.Sprintf(declared, `,"pages":{"by":"author","size":2}`)
	s := harness.OpenTemp(t, paged)
	s.Put("authors", "1", `{"name":"A"}`)
	var at []string
	step := func(change func()) {
		change()
		at = append(at, s.Want(http.StatusOK, http.MethodGet, "/v1/authors", "").Header.Get("Fanfold-Position"))
	}
	step(func() {
		for i := range 3 {
			s.Put("books", fmt.Sprint(i), `{"a":"1"}`)
		}
	})
	step(func() { s.Delete("books", "1"); s.Put("books", "0", `{"a":"2"}`) })
	step(func() { s.Put("books", "0", `{"a":"1"}`); s.Put("books", "9", `{"a":"1"}`) })
	step(func() { s.Model(fmt.Sprintf(declared, "")) })
	step(func() { s.Model(paged) })
	step(func() { s.Put("books", "5", `{"a":"1"}`) })
	for i, want := range []string{"0 1|2", "|2", "|2 0|9", "", "0 2|9", "0 2|9 5"} {
		if want == "" {
			s.Want(http.StatusBadRequest, http.MethodGet, "/v1/authors/1/books?page=1&at="+at[i], "")
			continue
		}
		pages := strings.Split(want, "|")
		for n, ids := range pages {
			for _, number := range []string{fmt.Sprint(n + 1), "last"} {
				if number == "last" && n < len(pages)-1 {
					continue
				}
				var p struct {
					Page, Pages int
					Books       []struct{ ID string }
				}
				if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/authors/1/books?page="+number+"&at="+at[i], "").Body, &p); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, b := range p.Books {
					got = append(got, b.ID)
				}
				if strings.Join(got, " ") != ids || p.Page != n+1 || p.Pages != len(pages) {
					t.Errorf("at %s page %s of %s is %+v", at[i], number, want, p)
				}
			}
		}
		s.Want(http.StatusNotFound, http.MethodGet, fmt.Sprintf("/v1/authors/1/books?page=%d&at=%s", len(pages)+1, at[i]), "")
	}
	for query, says := range map[string]string{"page=0": "page=0", "page=1&limit=2": "limit", "page=1&cursor=x": "cursor", "page=1&filter=true": "filter", "page=1&view=x": "view=x"} {
		if r := s.Want(http.StatusBadRequest, http.MethodGet, "/v1/authors/1/books?at=3&"+query, ""); !strings.Contains(string(r.Body), says) {
			t.Errorf("%s says %s, want %s", query, r.Body, says)
		}
	}
}

// TestExportOfThePast: an export as of a position is the one that was made then, with values that stay on documents.
func TestExportOfThePast(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {}
  books:
    relations: { author: { path: a, to: authors, onDelete: keep }, others: { path: "of[].id", to: authors } }
    derive:
      now: { copy: author, value: doc.name }
      by: { copy: author, value: doc.name, frozen: true }
      names: { copy: others, value: doc.name, frozen: true }
      of[].name: { copy: others, value: doc.name, frozen: true }
`)
	export := func(query string) string {
		t.Helper()
		return string(s.Want(http.StatusOK, http.MethodGet, "/v1/_export"+query, "").Body)
	}
	s.Put("authors", "1", `{"name":"A"}`)
	s.Put("authors", "2", `{"name":"B"}`)
	s.Put("books", "b", `{ "a":"1", "of":[{"id":"2"},{"id":"3"},{"id":"1"}] }`)
	s.Put("books", "c", `{"a":"3"}`)
	s.Delete("authors", "1")
	then, at := export(""), s.Want(http.StatusOK, http.MethodGet, "/v1/books", "").Header.Get("Fanfold-Position")
	books := export("?collections=books")
	s.Put("authors", "1", `{"name":"C"}`)
	s.Put("authors", "3", `{"name":"D"}`)
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/books/b?refresh=by,names", `{"a":"1"}`)
	s.Delete("books", "c")
	s.Model(`{"collections":{"authors":{},"books":{"release":["now","by","names","of[].name"]},"more":{}}}`)
	s.Put("more", "1", `{}`)
	if got := export("?at=" + at); got != then || !strings.Contains(then, `"kept"`) {
		t.Errorf("the export at %s is\n%s\nwant\n%s", at, got, then)
	}
	if got := export("?collections=books&at=" + at); got != books {
		t.Errorf("the export of books at %s is\n%s\nwant\n%s", at, got, books)
	}
	if got := export("?at=0"); got != "" {
		t.Errorf("the export of the empty store is\n%s", got)
	}
	if r := s.Want(http.StatusOK, http.MethodHead, "/v1/_export?at="+at, ""); r.Header.Get("Fanfold-Position") != at {
		t.Errorf("the position is %s, want %s", r.Header.Get("Fanfold-Position"), at)
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/_export?collections=none&at="+at, "")
}

// TestDifferenceOfLargeViews: a document with a large view can be read.
func TestDifferenceOfLargeViews(t *testing.T) {
	s := harness.OpenTemp(t, `
embedded: {limit: 67108864}
collections:
  parts: {}
  wholes: {relations: {parts: {path: "parts[].id", to: parts}}, derive: {"parts[].x": {copy: parts, value: doc.x}}}
`)
	var refs []string
	for i := range 11 {
		s.Put("parts", fmt.Sprint(i), fmt.Sprintf(`{"x":%q}`, strings.Repeat("a", 2<<20-100)))
		refs = append(refs, fmt.Sprintf(`{"id":"%d"}`, i))
	}
	s.Put("wholes", "w", `{"parts":[`+strings.Join(refs, ",")+`]}`)
	at := s.Want(200, "GET", "/v1/wholes/w", "").Header.Get("Fanfold-Position")
	s.Want(200, "GET", "/v1/wholes/w?at="+at, "")
	s.Put("wholes", "w", `{"n":1,"parts":[`+strings.Join(refs, ",")+`]}`)
	s.Want(200, "GET", "/v1/wholes/w?at="+at, "")
	if body := string(s.Want(200, "GET", "/v1/_diff?collections=wholes&from="+at, "").Body); strings.Contains(body, `"before"`) || !strings.Contains(body, `"patch":[{"op":"add","path":"/n"`) {
		t.Errorf("the difference of 44 MiB in both states has %d bytes: %.300s", len(body), body)
	}
	if body := string(s.Want(200, "GET", "/v1/_diff?collections=wholes&from=0&to="+at, "").Body); !strings.Contains(body, `"after"`) || strings.Contains(body, `"patch"`) {
		t.Errorf("the difference of 22 MiB has %d bytes: %.300s", len(body), body)
	}
}
