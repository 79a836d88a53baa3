package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestFindText: documents are found if a version that was written has the text, also by a patch, in deleted ones, and in the base alone. Copies do not count.
func TestFindText(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	s.Want(200, "PUT", "/v1/_model", "collections:\n  authors: {}\n  books:\n    relations: {author: {path: authorId, to: authors}}\n    derive: {authorName: {copy: author, value: doc.name}}\n", "Content-Type", "application/yaml")
	s.Put("authors", "a1", `{"name":"Ada \u004covelace"}`)
	s.Put("books", "b1", `{"authorId":"a1","title":"Notes"}`)
	s.Put("books", "by-hand", `{"note":["x",{"of":"by Lovelace"}]}`)
	s.Put("books", "number", `{"n":1815.1210}`)
	s.Put("books", "merged", `{"n":1}`)
	s.Want(204, "PATCH", "/v1/books/merged", `{"by":"Lovelace"}`, "Content-Type", "application/merge-patch+json")
	s.Want(204, "PATCH", "/v1/books/merged", `{"by":null}`, "Content-Type", "application/merge-patch+json")
	s.Put("books", "patched", `{"n":1}`)
	s.Want(204, "PATCH", "/v1/books/patched", `[{"op":"add","path":"/by","value":"Lovelace"}]`, "Content-Type", "application/json-patch+json")
	s.Put("books", "gone", `{"by":"Lovelace"}`)
	s.Put("books", "gone", `{"by":"Lovelace, Ada"}`)
	s.Want(204, "DELETE", "/v1/books/gone", "")
	want := []wire.Found{{Collection: "authors", ID: "a1", Versions: 1}, {Collection: "books", ID: "by-hand", Versions: 1},
		{Collection: "books", ID: "gone", Versions: 2, Deleted: true}, {Collection: "books", ID: "merged", Versions: 1}, {Collection: "books", ID: "patched", Versions: 1}}
	find := func(text string, limit int) ([]wire.Found, bool) {
		t.Helper()
		s.CatchUp()
		found, more, err := s.Node.Forget.Finder.FindText(t.Context(), text, limit)
		if err != nil {
			t.Fatal(err)
		}
		return found, more
	}
	if found, more := find("Lovelace", 1000); more || !reflect.DeepEqual(found, want) {
		t.Errorf("found %+v, %v", found, more)
	}
	if found, more := find("Lovelace", 2); !more || len(found) != 2 {
		t.Errorf("of two at most there are %+v, %v", found, more)
	}
	if found, _ := find("815.121", 0); len(found) != 1 || found[0].ID != "number" {
		t.Errorf("of a number there are %+v", found)
	}
	for _, text := range []string{"op", "add", "value", "Lovelace Ada"} {
		if found, _ := find(text, 1000); len(found) != 0 {
			t.Errorf("%s is in %+v", text, found)
		}
	}
	last, err := s.Node.Log.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Compact(last)
	want = []wire.Found{want[0], want[1], {Collection: "books", ID: "patched", Versions: 1}}
	if found, more := find("Lovelace", 1000); more || !reflect.DeepEqual(found, want) {
		t.Errorf("after a compaction found %+v, %v", found, more)
	}
	for i := range 1001 {
		s.Put("books", fmt.Sprint("many", i), `{"t":"many of them"}`)
	}
	if found, more := find("many of them", 2000); !more || len(found) != 1000 {
		t.Errorf("of many there are %d, %v", len(found), more)
	}
	for _, text := range []string{"", "\xff", strings.Repeat("x", 1001)} {
		if _, _, err := s.Node.Forget.Finder.FindText(t.Context(), text, 10); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%q: %v", fanfold.Clip(text), err)
		}
	}
}
