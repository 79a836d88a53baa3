package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/query"
)

// ranQuery tells a store of shapes of a query that looked at so many documents and gave one.
func ranQuery(qs *queries, collection string, sort []string, documents int64, index *string) {
	r := &queryRun{asked: asked{request: query.Request{Collection: collection, Sort: sort}}, query: &query.Query{}, given: 1}
	qs.ran(r, nil, &query.Result{Plan: &query.Plan{Index: index, Documents: documents, Matched: 1, Complete: true}}, time.Millisecond, nil)
}

// TestShapesAreBounded: of many shapes those are kept and shown that looked at the most for what they gave.
func TestShapesAreBounded(t *testing.T) {
	told := 0
	qs := newQueries(&Options{Queried: func(Queried) { told++ }})
	for i := range 3 * maxShapes {
		ranQuery(qs, fmt.Sprintf("c%04d", i), nil, int64(i), nil)
	}
	shown := qs.shown()
	if len(qs.shapes) != maxShapes || len(shown) != maxShownShapes || told != 3*maxShapes {
		t.Fatalf("%d shapes are kept and %d shown, of %d queries", len(qs.shapes), len(shown), told)
	}
	for i, s := range shown {
		if want := fmt.Sprintf("c%04d", 3*maxShapes-1-i); s.Collection != want || s.Queries != 1 || s.Wasted() != s.Documents-1 {
			t.Fatalf("shape %d is %+v, want that of %s", i, s, want)
		}
	}
	ranQuery(qs, "c2999", []string{`-doc.title + "secret" + string(4711)`, strings.Repeat("long", maxShapeBytes)}, 9000, nil)
	first := qs.shown()[0]
	if !strings.HasPrefix(first.Sort, "-doc.title + ? + string(?),long") || len(first.Sort) > maxShapeBytes+len("…") {
		t.Errorf("the sort of a shape is %.100s, of %d bytes", first.Sort, len(first.Sort))
	}
}

// TestIndexUse: a query counts for the declared index that served it, a refused one for its reason alone.
func TestIndexUse(t *testing.T) {
	var told []Queried
	qs := newQueries(&Options{Queried: func(q Queried) { told = append(told, q) }})
	for _, name := range []string{"byName", "byName", "unique:isbn", "relation:author"} {
		ranQuery(qs, "books", nil, 5, &name)
	}
	if qs.served("books", "byName") != 2 || qs.served("books", "unique:isbn") != 0 || qs.served("others", "byName") != 0 {
		t.Errorf("the indexes have served %v", qs.indexes)
	}
	told = nil
	for _, err := range []error{fanfold.Errorf(fanfold.Invalid, "x"), fanfold.Errorf(fanfold.Busy, "x"), fmt.Errorf("a defect")} {
		if !errors.Is(qs.refused(query.Request{Grouped: true}, err), err) {
			t.Errorf("%v is another error", err)
		}
	}
	if len(told) != 2 || told[0].Refused != "invalid" || told[1].Refused != "busy" || !told[0].Group {
		t.Errorf("%+v is told", told)
	}
}

// TestConstantsAreTakenOut: a term keeps its names, and loses its texts and numbers.
func TestConstantsAreTakenOut(t *testing.T) {
	for term, want := range map[string]string{
		"a.b": "a.b", "tags[]": "tags[]", "-_meta.createdAt": "-_meta.createdAt", "line2.x9": "line2.x9",
		`lower(doc.a + "x,y")`: `lower(doc.a + ?)`, "doc.n * 1.5e10 > 0x1F": "doc.n * ? > ?", `doc["secret"]`: `doc[?]`, "doc.a == r'\\'": "doc.a == r?",
		"sum(price)": "sum(price)", "max(doc.n + 17)": "max(doc.n + ?)", "doc.é1 + 1": "doc.é1 + ?",
	} {
		if got := withoutConstants(term); got != want {
			t.Errorf("%s becomes %s, want %s", term, got, want)
		}
	}
}
