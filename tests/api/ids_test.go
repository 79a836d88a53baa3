package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

func TestIDsOfEveryKind(t *testing.T) {
	s := harness.OpenTemp(t, harness.RefusalModel)
	for _, id := range []string{".", ".."} { // clients take these out of URLs
		harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "POST", "/v1/books", `{"id":"` + id + `"}`, nil, []string{"cannot be an id"}})
	}
	ids := []string{"...", "a.b", "*", ">", "a/b", "/", "//", "../b", " ", " a ", "a b", "😀", "é", "e\u0301", "%", "%25", "%2F", "100%", "?x=1", "#", "a+b", "a&b=c",
		`"`, `\`, "\n", "\x00", "a\x00b", "a\x00c", "\u2028", "0", "-0", "1.0", "1e3", "id", "_x", "_changes", "$G", "'; DROP TABLE document", strings.Repeat("x", 255), strings.Repeat("é", 127), "\U0010FFFF"}
	for i, id := range ids {
		s.Want(201, "PUT", harness.Path("books", id), fmt.Sprintf(`{"n":%d}`, i))
	}
	for i, id := range ids {
		quoted, _ := json.Marshal(id)
		var doc struct {
			ID string
			N  int
		}
		if err := json.Unmarshal([]byte(s.Get("books", id)), &doc); err != nil || doc.ID != id || doc.N != i {
			t.Errorf("id %q reads %+v %v", id, doc, err)
		}
		harness.Refuse(t, s, harness.Refusal{"", 409, "exists", "POST", "/v1/books", `{"id":` + string(quoted) + `}`, nil, []string{"exists"}})
		s.Want(204, "PUT", harness.Path("books", id), fmt.Sprintf(`{"id":%s,"authors":[{"id":%s}]}`, quoted, quoted))
		s.Want(201, "PUT", harness.Path("authors", id), `{"name":"x"}`)
		if !strings.Contains(s.Get("books", id), `"name":"x"`) || !strings.Contains(s.Get("authors", id), `"count":1`) {
			t.Errorf("id %q is not copied to: %s %s", id, s.Get("books", id), s.Get("authors", id))
		}
		s.Want(200, "GET", harness.Path("authors", id)+"/books?expand=authors", "")
	}
	rows, _ := s.Changes("collections=books")
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.ID] = true
	}
	listed := walk(t, s, "/v1/books?limit=7")
	for _, id := range ids {
		if !seen[id] || !listed[id] {
			t.Errorf("id %q: in the feed %v, in the list %v", id, seen[id], listed[id])
		}
	}
	s.Replay()
	for _, id := range ids {
		s.Delete("books", id)
	}
}

// walk follows a list's cursors and returns the ids it met.
func walk(t *testing.T, s *harness.Store, path string) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for cursor := ""; ; {
		var page struct {
			Items []struct{ ID string }
			Next  string
		}
		if err := json.Unmarshal(s.Want(200, "GET", path+cursor, "").Body, &page); err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			if ids[it.ID] {
				t.Errorf("%s is listed twice", it.ID)
			}
			ids[it.ID] = true
		}
		if page.Next == "" {
			return ids
		}
		cursor = "&cursor=" + url.QueryEscape(page.Next)
	}
}

func TestRefusedIDs(t *testing.T) {
	s := harness.OpenTemp(t, "")
	long := strings.Repeat("x", 256)
	for _, b := range []harness.Refusal{
		{"256 bytes", 400, "invalid", "PUT", "/v1/books/" + long, `{}`, nil, []string{"256", "255"}},
		{"256 bytes of é", 400, "invalid", "PUT", harness.Path("books", strings.Repeat("é", 128)), `{}`, nil, []string{"256"}},
		{"256 bytes read", 400, "invalid", "GET", "/v1/books/" + long, ``, nil, []string{"256"}},
		{"256 bytes posted", 400, "invalid", "POST", "/v1/books", `{"id":"` + long + `"}`, nil, []string{"256"}},
		{"empty posted", 400, "invalid", "POST", "/v1/books", `{"id":""}`, nil, []string{"empty"}},
		{"wrong UTF-8", 400, "invalid", "PUT", "/v1/books/%c3%28", `{}`, nil, []string{"UTF-8"}},
		{"surrogate", 400, "invalid", "DELETE", "/v1/books/%ed%a0%80", ``, nil, []string{"UTF-8"}},
		{"empty", 404, "not-found", "PUT", "/v1/books/", `{}`, nil, []string{"/openapi.json"}},
		{"collection", 400, "invalid", "PUT", "/v1/b%2Fc/x", `{}`, nil, []string{"b/c"}},
		{"collection dots", 400, "invalid", "PUT", "/v1/../x", `{}`, nil, []string{".."}},
		{"collection token", 400, "invalid", "POST", "/v1/books.%3E", `{}`, nil, []string{"books.>"}},
	} {
		t.Run(b.Name, func(t *testing.T) { harness.Refuse(t, s, b) })
	}
	if rows, _ := s.Changes(""); len(rows) > 0 {
		t.Errorf("%v was written", rows)
	}
}
