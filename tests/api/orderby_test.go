package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestOrderByTellsAllValuesApart: a recent with orderBy takes texts first, by their bytes, then numbers, then all other or absent values.
// Of two equal ones the later created comes first, whatever its id and whenever it was written.
func TestOrderByTellsAllValuesApart(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  posts: {derive: {top: {recent: comments.post, max: 100, fields: [id], orderBy: rank.stars}, few: {recent: comments.post, max: 2, fields: [id], orderBy: rank.stars}}}
  comments: {relations: {post: {path: post, to: posts}}}
`)
	long := strings.Repeat("z", 1024)
	// In the order of the list, the last one first.
	stars := []string{"", "null", "true", `{"a":9}`, `[9]`, "1e2000", // neither a text nor a number that can be compared: by creation
		"-1e900", "-2", "-0", "0", "0.0", "0.10", "0.1", "9", "10", "12345678901234567890", "12345678901234567890.5",
		`""`, `"1"`, `"10"`, `"9"`, `"Z"`, `"a"`, `"a"`, `"a\u0000"`, `"aa"`, fmt.Sprintf("%q", long[1:]+"y"), fmt.Sprintf("%q", long+"b"), fmt.Sprintf("%q", long+"a"), `"é"`}
	s.Put("posts", "p", `{}`)
	want := make([]string, len(stars))
	for i, value := range stars {
		rank := ""
		if value != "" {
			rank = `,"rank":{"stars":` + value + `}`
		}
		id := fmt.Sprintf("%02d", (i*7)%len(stars)) // the ids are in another order
		harness.ImportStored(s, "comments", `{"id":"`+id+`","post":"p"`+rank+`}`)
		want[len(stars)-1-i] = fmt.Sprintf(`{"id":%q}`, id)
	}
	wantTop := func() {
		t.Helper()
		s.WantDoc("posts", "p", `{"id":"p","few":[`+strings.Join(want[:2], ",")+`],"top":[`+strings.Join(want, ",")+`]}`)
	}
	wantTop()
	first := func(i int) string { return strings.Split(want[i], `"`)[3] }
	s.Merge("comments", first(1), `{"n":1}`) // a write does not make it newer
	wantTop()
	s.Put("comments", "other", `{"post":"p","rank":{"stars":"é"}}`)
	s.Merge("comments", "other", `{"rank":{"stars":3}}`)
	s.Merge("comments", "other", `{"rank":{"stars":0}}`) // it comes among its equals as the newest
	at := len(stars) - 1 - 10
	want = append(want[:at:at], append([]string{`{"id":"other"}`}, want[at:]...)...)
	wantTop()
	s.Delete("comments", first(at+1))
	s.Put("comments", first(at+1), `{"post":"p","rank":{"stars":0}}`) // made again, it is the newest
	want[at], want[at+1] = want[at+1], want[at]
	wantTop()
	before := s.Digest()
	s.Replay()
	if s.Digest() != before {
		t.Fatal("the replay's rows differ")
	}
}

// TestListOfNoValues: a copied list has an entry for each id, null for one without a value, and is absent where no id has one.
func TestListOfNoValues(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {}
  books: {relations: {authors: {path: "authors[]", to: authors}}, derive: {names: {copy: authors, value: doc.name}}}
`)
	s.Put("books", "1", `{"authors":["a","b"]}`)
	s.WantDoc("books", "1", `{"id":"1","authors":["a","b"]}`)
	s.Put("authors", "b", `{"name":"B"}`)
	s.WantDoc("books", "1", `{"id":"1","authors":["a","b"],"names":[null,"B"]}`)
	s.Put("authors", "b", `{}`)
	s.WantDoc("books", "1", `{"id":"1","authors":["a","b"]}`)
	s.Put("authors", "a", `{"name":null}`) // which is a value
	s.WantDoc("books", "1", `{"id":"1","authors":["a","b"],"names":[null,null]}`)
	s.Put("books", "2", `{"authors":[]}`)
	s.WantDoc("books", "2", `{"id":"2","authors":[]}`)
}

// TestTwoOrders: ids and lists of children go by the creation of the children, and pages by when each began to refer to the document. A
// place in a page is never given out again.
func TestTwoOrders(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  posts: {derive: {ids: {ids: comments.post}, recent: {recent: comments.post, max: 9, fields: [id]}}}
  comments: {relations: {post: {path: post, to: posts}}, pages: {by: post, size: 3}}
`)
	s.Put("posts", "p", `{}`)
	for _, id := range []string{"c", "b", "a"} {
		s.Put("comments", id, `{"post":"other"}`)
	}
	for _, id := range []string{"b", "a", "c"} {
		s.Merge("comments", id, `{"post":"p"}`)
	}
	wantOrders := func(pages ...string) {
		t.Helper()
		s.WantDoc("posts", "p", `{"id":"p","ids":["c","b","a"],"recent":[{"id":"a"},{"id":"b"},{"id":"c"}]}`)
		children, _ := harness.Items(t, s, "/v1/posts/p/comments")
		harness.WantText(t, strings.Join(children, " "), "c b a")
		for i, want := range pages {
			var page struct{ Comments []struct{ ID string } }
			r := s.Want(200, "GET", fmt.Sprintf("/v1/posts/p/comments?page=%d", i+1), "")
			if err := json.Unmarshal(r.Body, &page); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, c := range page.Comments {
				got += c.ID
			}
			harness.WantText(t, got, want)
		}
	}
	wantOrders("bac")
	s.Merge("comments", "a", `{"post":null}`)
	s.Merge("comments", "a", `{"post":"p"}`)
	wantOrders("bc", "a")
}

// TestOrderByTimes: a recent can go by when documents were last written or created; a derived change is no write. The model is applied in
// the background to documents that are there. A store that imports an export orders by its own times.
func TestOrderByTimes(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  customers: {}
  posts: {}
  comments: {relations: {post: {path: post, to: posts}, by: {path: by, to: customers}}, derive: {name: {copy: by, value: doc.name}}}
`)
	s.Put("posts", "p", `{}`)
	for _, id := range []string{"a", "b", "c"} {
		s.Put("comments", id, `{"post":"p","by":"k"}`)
	}
	s.Merge("comments", "a", `{"x":0}`)
	s.Want(200, "PATCH", "/v1/_model?background=true", `{"collections":{"posts":{"derive":{"active":{"recent":"comments.post","max":2,"fields":["id"],"orderBy":"_meta.updatedAt"},
		"came":{"recent":"comments.post","max":2,"fields":["id"],"orderBy":"_meta.createdAt"}}}}}`, "Content-Type", harness.MergeType, "Fanfold-Timeout", "60")
	want := func(active, came string) {
		t.Helper()
		list := func(ids string) string {
			return `[{"id":"` + ids[:1] + `"},{"id":"` + ids[1:] + `"}]`
		}
		s.WantDoc("posts", "p", `{"id":"p","active":`+list(active)+`,"came":`+list(came)+`}`)
	}
	want("ac", "cb")
	s.Put("customers", "k", `{"name":"K"}`) // changes all comments, and writes none
	want("ac", "cb")
	s.Merge("comments", "b", `{"x":1}`)
	want("ba", "cb")
	if dry := s.Want(200, "PATCH", "/v1/comments/c?dryRun=true", `{}`, "Content-Type", harness.MergeType); !strings.Contains(string(dry.Body), `"posts.active":1`) {
		t.Errorf("a dry run says %s", dry.Body)
	}
	s.Want(200, "POST", "/v1/_transactions", `{"operations":[{"op":"patch","collection":"comments","id":"c","patch":{}},{"op":"patch","collection":"comments","id":"a","patch":{}}]}`)
	want("ac", "cb") // of one moment: the later operation
	var list struct {
		Items []struct {
			ID   string
			Meta struct{ UpdatedAt, CreatedAt string } `json:"_meta"`
		}
	}
	harness.Decode(t, s.Want(200, "GET", "/v1/comments", "").Body, &list)
	if d := list.Items; d[0].Meta.UpdatedAt < d[1].Meta.UpdatedAt || d[0].Meta.CreatedAt > d[2].Meta.CreatedAt {
		t.Errorf("the times are %+v", d)
	}
	if model := string(s.Want(200, "GET", "/v1/_model", "").Body); !strings.Contains(model, `"orderBy":{"_meta":"updatedAt"}`) {
		t.Errorf("the model is %s", model)
	}
	s.Replay()
	want("ac", "cb")
	other := harness.OpenTemp(t, "")
	other.Want(200, "POST", "/v1/_import", string(s.Want(200, "GET", "/v1/_export", "").Body), "Content-Type", "application/x-ndjson")
	other.WantDoc("posts", "p", `{"id":"p","active":[{"id":"c"},{"id":"b"}],"came":[{"id":"c"},{"id":"b"}]}`)
}
