package model_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// misspeltModel has rules that find a value in some documents, in all, and in none.
const misspeltModel = `
collections:
  authors:
    derive:
      n: {count: books.authors}
      old: {count: books.authors, where: "doc.yeer < 1900"}
      pages: {sum: books.authors, of: pgs}
      few: {max: books.authors, of: pages, where: "doc.year > 1950"}
      best: {recent: books.authors, max: 2, fields: [id], orderBy: stars}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive:
      "authors[].name": {copy: authors, value: doc.nme}
      born: {copy: authors, value: "doc.born.year"}
      works: {copy: authors, value: "doc.n"}
      bad: {copy: authors, value: "doc.name + 1", frozen: true}
`

// putMisspelt writes documents that misspeltModel looks at.
func putMisspelt(s *harness.Store) {
	s.Put("authors", "a", `{"name":"Ann","born":{"year":1950}}`)
	s.Put("authors", "b", `{"name":"Bob","born":{"yer":1950}}`)
	s.Put("authors", "c", `{"name":"Cleo"}`)                                                             // nobody refers to it
	s.Put("books", "1", `{"authors":[{"id":"a"},{"id":"b"}],"year":1900,"pages":100}`)                   // few leaves it out
	s.Put("books", "2", `{"authors":[{"id":"a"},{"id":"none"}],"year":1999,"pages":"many","stars":"x"}`) // of finds no number
	s.Put("books", "3", `{"authors":[{"id":"b"},{"id":"b"}],"year":2001,"pages":300,"stars":null}`)
	s.Put("books", "4", `{"authors":[{"id":"a"}],"pages":1,"stars":4}`) // the condition finds no year
	s.Put("books", "5", `{"pages":1}`)                                  // refers to nobody
}

// misspelt is what the rules of misspeltModel find in those documents. It has the rule, its part, how many documents they look at, and in
// how many of them they find nothing, in which first, and why.
var misspelt = []struct {
	rule, part         string
	evaluated, noValue int64
	document, reason   string
}{
	{"authors.old", "where", 4, 4, "books/1", `there is no member "yeer"; did you mean "year"?`},
	{"authors.pages", "of", 4, 4, "books/1", `there is no member "pgs"`},
	{"authors.few", "where", 4, 1, "books/4", `there is no member "year"`},
	{"authors.few", "of", 2, 1, "books/2", `member pages is no number`},
	{"authors.best", "orderBy", 4, 2, "books/1", `there is no member "stars"`},
	{"books.authors[].name", "value", 2, 2, "authors/a", `there is no member "nme"; did you mean "name"?`},
	{"books.born", "value", 2, 1, "authors/b", `there is no member "year" in /born; did you mean "yer"?`},
	{"books.works", "value", 2, 0, "", ""},
	{"books.bad", "value", 2, 2, "authors/a", "no such overload"},
}

// previewed decodes a preview.
func previewed(t *testing.T, body []byte) (p model.Preview) {
	t.Helper()
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// wantMisspelt fails the test unless the preview says what misspelt has.
func wantMisspelt(t *testing.T, p model.Preview) {
	t.Helper()
	found := map[string]model.Evaluation{}
	for _, r := range p.Rules {
		for _, e := range r.Evaluations {
			found[r.Rule+" "+e.Part] = e
		}
	}
	warnings := 0
	for _, m := range misspelt {
		want := model.Evaluation{Part: m.part, Evaluated: m.evaluated, NoValue: m.noValue, Document: m.document, Reason: m.reason}
		if got := found[m.rule+" "+m.part]; !strings.HasPrefix(got.Reason, want.Reason) {
			t.Errorf("%s: %+v", m.rule, got)
		} else if got.Reason = want.Reason; got != want {
			t.Errorf("%s: %+v, not %+v", m.rule, got, want)
		}
		if m.evaluated == m.noValue {
			warnings++
		}
	}
	if len(found) != len(misspelt) || len(p.Warnings) != warnings {
		t.Errorf("%d parts, and warnings %v", len(found), p.Warnings)
	}
}

// TestPreviewSaysWhatFindsNoValue: the preview of a model and the answer of its PUT list each part of each rule. They say in how many
// documents it looks for a value and finds none, in which first, and why. They warn of a part that finds none at all.
func TestPreviewSaysWhatFindsNoValue(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	putMisspelt(s)
	dry := previewed(t, s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", misspeltModel, "Content-Type", harness.YAMLType).Body)
	wantMisspelt(t, dry)
	const warning = `collections.authors.derive["old"].where: found no value in any of 4 documents, such as books/1: there is no member "yeer"; did you mean "year"?`
	if w := dry.Warnings[0]; w.Path+": "+w.Detail != warning {
		t.Errorf("the first warning is %+v", w)
	}
	wantMisspelt(t, previewed(t, s.Want(http.StatusOK, "PUT", "/v1/_model?background=false", misspeltModel, "Content-Type", harness.YAMLType, "Prefer", "return=representation").Body))

	// Of the rules that stay those are looked at whose values may change: one may copy what another one gave that goes.
	without := strings.Replace(misspeltModel, "      n: {count: books.authors}\n", "", 1)
	p := previewed(t, s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", without, "Content-Type", harness.YAMLType).Body)
	for _, r := range p.Rules {
		switch r.Rule {
		case "books.works":
			if r.Change != "same" || r.Evaluations[0].NoValue != 2 {
				t.Errorf("works: %+v", r)
			}
		case "books.bad":
			if r.Evaluations != nil {
				t.Errorf("bad: %+v", r)
			}
		}
	}
}
