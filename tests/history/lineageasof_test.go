package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// toldLineage is what the store told of a document's values when it was the present.
type toldLineage struct {
	key    okey
	half   bool // to the principal who reads half of the collections
	models int  // how many models had applied
	answer *wire.Lineage
}

// absentThen stands for a document that was not there.
var absentThen = &wire.Lineage{}

// lineageOf asks for a lineage, also one of then.
func (h *history) lineageOf(key okey, half bool, at string) *wire.Lineage {
	h.t.Helper()
	from := h.s.Client
	if half {
		from = h.s.With(h.half)
	}
	path := harness.Path(key.collection, key.id) + "/_lineage" + at
	r, err := from.Do(http.MethodGet, path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if r.Status == http.StatusNotFound {
		return absentThen
	}
	l := new(wire.Lineage)
	if err := json.Unmarshal(r.Body, l); err != nil || r.Status != http.StatusOK {
		h.t.Fatalf("%s is %d %s, %v", path, r.Status, r.Body, err)
	}
	return l
}

// noteLineages keeps what the store tells of the values of some documents.
func (h *history) noteLineages() {
	h.t.Helper()
	for _, c := range collections {
		for _, id := range ids {
			if !chance(h.t, 15) {
				continue
			}
			told := toldLineage{key: okey{c, id}, models: h.models}
			if h.half != "" && chance(h.t, 50) {
				if reads, _ := h.halfMay(c); reads {
					told.half = true
				}
			}
			if told.answer = h.lineageOf(told.key, told.half, ""); told.answer != absentThen {
				h.lineages = append(h.lineages, told)
			}
		}
	}
}

// checkLineages wants the store to tell of then what it told when that was the present.
func (h *history) checkLineages() {
	h.t.Helper()
	for _, told := range h.lineages {
		at := told.answer.Position
		path := harness.Path(told.key.collection, told.key.id) + "/_lineage?at=" + at.String()
		if at.Position < h.horizon {
			h.s.Want(http.StatusGone, http.MethodGet, path, "")
			continue
		}
		if told.half && told.models != h.models {
			continue // a rule that is no more is not told to all
		}
		got := h.lineageOf(told.key, told.half, "?at="+at.String())
		want := h.withoutGone(told.answer)
		if got.OmittedBy != nil {
			h.checkRoom(told.key, told.half, got)
			got, want = withoutRoom(got), withoutRoom(want)
		}
		if a, b := lineageText(h.t, got), lineageText(h.t, want); a != b && !strings.Contains(a+b, "takes too long") && !strings.Contains(a+b, "take too long") {
			h.t.Fatalf("%s is\n  %s\nand was\n  %s", path, a, b)
		}
	}
}

// withoutGone returns a lineage in which changes that are no longer kept are not named.
func (h *history) withoutGone(l *wire.Lineage) *wire.Lineage {
	out := *l
	out.Derived = slices.Clone(l.Derived)
	for i, v := range out.Derived {
		if v.Event != nil && v.Event.Seq.Position != 0 && v.Event.Seq.Position <= h.horizon {
			out.Derived[i].Event = &wire.Origin{Reason: "before the history that is kept"}
		}
	}
	return &out
}

// checkRoom wants a lineage that tells of room by an earlier change to tell what the lineage told at that change.
func (h *history) checkRoom(key okey, half bool, got *wire.Lineage) {
	h.t.Helper()
	by := got.OmittedBy
	if by.Seq.Position == 0 {
		if by.Reason == "" || got.Omitted != nil {
			h.t.Fatalf("%v by no change: %s", key, lineageText(h.t, got))
		}
		return
	}
	then := h.lineageOf(key, half, "?at="+by.Seq.String())
	if by.Seq.Position >= got.Position.Position || string(then.Omitted) != string(got.Omitted) {
		h.t.Fatalf("%v tells by a change what\n  %s\nthat told as\n  %s", key, lineageText(h.t, got), lineageText(h.t, then))
	}
}

// withoutRoom returns a lineage without what follows from values that the document has no room for.
func withoutRoom(l *wire.Lineage) *wire.Lineage {
	out := *l
	out.Derived, out.Omitted, out.OmittedBy = slices.Clone(l.Derived), nil, nil
	for i := range out.Derived {
		out.Derived[i].Reason = ""
	}
	return &out
}

// lineageText returns a lineage as text.
func lineageText(t *rapid.T, l *wire.Lineage) string {
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRoomAsOf: what a document had no room for is told of then as it was told when that was the present. It may have changed without a
// change of the document. If it does not follow from other documents, the lineage names the change by which it is told.
func TestRoomAsOf(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, `
embedded: {limit: 150}
collections:
  authors: {}
  books:
    relations: {author: {path: author, to: authors}, others: {path: "others[].id", to: authors, onDelete: keep}}
    derive:
      by: {copy: author, value: doc.name}
      "info.born": {copy: author, value: "doc.born"}
      "others[].name": {copy: others, value: doc.name}
      title: {value: "doc.by + doc.text"}
      loans: {ids: loans.book}
      days: {sum: loans.book, of: days}
      longest: {max: loans.book, of: days}
  loans:
    relations: {book: {path: book, to: books}}
`)
	rng := rand.New(rand.NewPCG(57, 2))
	long := func(most int) string { return strings.Repeat("x", rng.IntN(most)) }
	write := func() {
		id := strconv.Itoa(rng.IntN(3))
		switch n := rng.IntN(10); {
		case n < 3:
			s.Put("authors", id, fmt.Sprintf(`{"name":%q,"born":%d}`, long(120), rng.IntN(10)))
		case n == 3:
			s.Put("authors", id, `{"born":"?"}`)
		case n == 4:
			if _, err := s.Do(http.MethodDelete, "/v1/authors/"+id, nil); err != nil { // 404 is no error
				t.Fatal(err)
			}
		case n < 8:
			s.Put("books", id, fmt.Sprintf(`{"author":"%d","others":[{"id":"%d"}],"text":%q}`, rng.IntN(3), rng.IntN(3), long(60)))
		default:
			s.Put("loans", strconv.Itoa(rng.IntN(9)), fmt.Sprintf(`{"book":"%s","days":%d}`, id, rng.IntN(100)))
		}
	}
	var kept []*wire.Lineage
	keys := map[*wire.Lineage]string{}
	for range suite.Amount(150, 1500) {
		write()
		for _, id := range []string{"0", "1", "2"} {
			if r, err := s.Do(http.MethodGet, "/v1/books/"+id+"/_lineage", nil); err == nil && r.Status == http.StatusOK {
				l := new(wire.Lineage)
				if err := json.Unmarshal(r.Body, l); err != nil || l.OmittedBy != nil {
					t.Fatalf("%v: %s", err, r.Body)
				}
				kept, keys[l] = append(kept, l), id
			}
		}
	}
	exact, by := 0, 0
	for _, want := range kept {
		path := "/v1/books/" + keys[want] + "/_lineage?at="
		got := new(wire.Lineage)
		if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, path+want.Position.String(), "").Body, got); err != nil {
			t.Fatal(err)
		}
		if got.OmittedBy == nil {
			exact++
			a, _ := json.Marshal(got)
			if b, _ := json.Marshal(want); string(a) != string(b) {
				t.Fatalf("%s%s is\n  %s\nand was\n  %s", path, want.Position, a, b)
			}
			continue
		}
		by++
		told := new(wire.Lineage)
		if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, path+got.OmittedBy.Seq.String(), "").Body, told); err != nil {
			t.Fatal(err)
		}
		if told.OmittedBy != nil || string(told.Omitted) != string(got.Omitted) {
			t.Fatalf("%s%s is told by %s: %s, which told %s", path, want.Position, got.OmittedBy.Seq, got.Omitted, told.Omitted)
		}
	}
	if exact < 3*by || by == 0 {
		t.Errorf("%d are exact, and %d by a change", exact, by)
	}
}

// TestManyLineagesAtOnce: 50 readers ask for lineages under 12 models of before, more than stay compiled, and each is told what one reader alone is told. Of a
// collection that was not there, nobody is told anything.
func TestManyLineagesAtOnce(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, `collections: {authors: {}}`)
	s.Put("authors", "a", `{"m0":"Ann"}`)
	var paths []string
	for i := range 12 {
		s.Model(fmt.Sprintf("collections: {authors: {}, books: {relations: {r%d: {path: author, to: authors}}, derive: {n%d: {copy: r%d, value: doc.m0}}}}", i, i, i))
		s.Put("books", "b", fmt.Sprintf(`{"author":"a","n":%d}`, i))
		s.Merge("authors", "a", fmt.Sprintf(`{"m0":"Ann %d"}`, i))
		paths = append(paths, fmt.Sprintf("/v1/books/b/_lineage?at=%d", s.Node.Store.Applied.Seq()))
	}
	told := make([]string, len(paths))
	for i, path := range paths {
		if told[i] = string(s.Want(http.StatusOK, http.MethodGet, path, "").Body); !strings.Contains(told[i], fmt.Sprintf(`"rule":"books.n%d"`, i)) || strings.Count(told[i], `"rule"`) != 1 {
			t.Errorf("%s is %s", path, told[i])
		}
	}
	var all sync.WaitGroup
	for reader := range 50 {
		all.Go(func() {
			for i := range paths {
				i = (i + reader) % len(paths)
				if r, err := s.Do(http.MethodGet, paths[i], nil); err != nil || string(r.Body) != told[i] {
					t.Errorf("%s is %+v, %v, and was %s", paths[i], r, err, told[i])
				}
			}
		})
	}
	all.Wait()
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/books/b/_lineage?at=2", "")
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/nowhere/b/_lineage?at=2", "")
}
