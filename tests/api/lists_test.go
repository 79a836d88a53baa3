package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

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
	s := harness.OpenTemp(t, harness.APIModel)
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

func TestChildrenComeByCreation(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
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
	s := harness.OpenTemp(t, harness.APIModel)
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
