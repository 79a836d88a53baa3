package modelguess

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
)

// TestGuess: relations, copies, counts, lists and unique members are proposed with their evidence, and what only looks like one is not.
func TestGuess(t *testing.T) {
	s := &Sample{}
	for i := range 50 {
		name := fmt.Sprintf("Author %d", i)
		if i == 7 {
			name = "Renamed"
		}
		works, list := 2, fmt.Sprintf(`"b%d","b%d"`, i-1, i)
		if i == 0 {
			works, list = 1, `"b0"`
		}
		s.Add("authors", fmt.Appendf(nil, `{"id":"a%d","name":%q,"address":{"city":"c%d"},"active":true,"works":%d,"books":[%s],"born":%d}`, i, name, i%9, works, list, 1900+i%30))
		publisher := fmt.Sprintf("%024x", i%10)
		second := fmt.Sprintf(`,{"id":"a%d","name":"Author %d"}`, i+1, i+1)
		if i == 49 {
			publisher, second = "gone", ""
		}
		s.Add("books", fmt.Appendf(nil, `{"id":"b%d","isbn":"978-%d","title":"A title %d","rating":%d,"active":true,"publisher_id":%q,"publisher name":"P%d","cityOf":{"first":"c%d"},"authors":[{"id":"a%d","name":"Author %d"}%s]}`,
			i, i, i, i%5, publisher, i%10, i%9, i, i, second))
	}
	for i := range 10 {
		s.Add("publishers", fmt.Appendf(nil, `{"id":"%024x","name":"P%d","x]":1}`, i, i))
	}
	s.Add("odd name:", []byte(`{}`))
	got := s.model(t, false)
	for _, want := range []string{
		Header, "# It is not accepted as it is: collections.",
		"  authors: # 50 documents\n",
		`      books: { ids: books.authors, limit: 1000 } # 100% of 50 lists are the documents that refer`,
		`      works: { count: books.authors } # 100% of 50 numbers are how many documents refer`,
		`    unique: [isbn] # 50 values of isbn differ`,
		`      authors: { path: "authors[].id", to: authors } # 100% of 99 values are ids of authors` + "\n",
		`      publisher: { path: publisher_id, to: publishers } # 98% of 50 values are ids of publishers; 1 without a document, such as gone`,
		`      "authors[].name": { copy: authors, value: doc.name } # 97.98% of 99 are equal to name of authors`,
		`      "publisher name": { copy: publisher, value: doc.name } # 100% of 49 are equal to name of publishers`,
		`  "odd name:": {} # 1 documents; 1 without an id of their own`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, never := range []string{"rating", "active", "born", "cityOf", "title"} {
		if strings.Contains(got, never) {
			t.Errorf("it proposes something for %s", never)
		}
	}
	if t.Failed() {
		t.Log("\n" + got)
	}
}

// TestGuessIsAccepted: what is proposed is a model, which takes over members of documents that are stored.
func TestGuessIsAccepted(t *testing.T) {
	s := &Sample{}
	for i := range 9 {
		s.Add("people", fmt.Appendf(nil, `{"id":%d,"name":"N%d","no":%d}`, i, i, i))
		s.Add("notes", fmt.Appendf(nil, `{"id":"n%d","person":%d,"in":{"name":"N%d"}}`, i, i, i))
	}
	text := s.model(t, true)
	if _, err := modelfile.Parse([]byte(text)); err != nil || strings.Contains(text, "not accepted") || strings.Contains(text, "relations") {
		t.Errorf("%v\n%s", err, text) // person is not called after people, and small numbers are ids by chance
	}
	s = &Sample{}
	for i := range 9 {
		s.Add("persons", fmt.Appendf(nil, `{"id":%d,"name":"N%d"}`, i, i))
		s.Add("notes", fmt.Appendf(nil, `{"id":"n%d","person":%d,"in":{"name":"N%d"}}`, i, i, i))
	}
	text = s.model(t, true)
	if _, err := modelfile.Parse([]byte(text)); err != nil || !strings.Contains(text, `"in.name": { copy: person, value: doc.name, takeOver: true }`) {
		t.Errorf("%v\n%s", err, text)
	}
	if text := (&Sample{}).model(t, false); !strings.Contains(text, "collections: {}") {
		t.Errorf("of nothing: %s", text)
	}
}

// TestSampleIsBounded: documents beyond the bounds are counted, and not looked at.
func TestSampleIsBounded(t *testing.T) {
	s := &Sample{}
	for i := range maxDocuments + 3 {
		s.Add("a", fmt.Appendf(nil, `{"id":%d}`, i))
	}
	for i := range maxCollections + 2 {
		s.Add(fmt.Sprint("c", i), []byte(`{"`+strings.Repeat("x", i)+`":1}`))
	}
	got := s.model(t, false)
	if !strings.Contains(got, "a: {} # 50000 documents, and 3 that were not looked at") || !strings.Contains(got, "# 3 documents of further collections are left out") {
		t.Error(got[:400])
	}
}

// FuzzGuess: whatever documents have, what is proposed is YAML that is a model, or says why it is none.
func FuzzGuess(f *testing.F) {
	f.Add([]byte(`{"id":"a","b":["c"],"n":{"x":1}}`), []byte(`{"id":"c","a":"a","n":1}`))
	f.Add([]byte("{\"id\":\"\\u2028#\",\"'\\\"\":\"\\u2028#\"}"), []byte(`{"id":1,"id s":1}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		s := &Sample{}
		for i, body := range [][]byte{a, b, a} {
			if jsondoc.Check(body, 64) != nil || jsondoc.MustParse(body).Kind(jsondoc.Root) != jsondoc.Object {
				t.Skip()
			}
			s.Add(fmt.Sprint("c", i%2), body)
		}
		text := s.model(t, false)
		if _, err := modelfile.Parse([]byte(text)); err != nil && !strings.Contains(text, "not accepted") {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
