package history_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// setOrientedModel has copies that set-oriented SQL folds, and some that it must leave.
const setOrientedModel = `
collections:
  publishers: {derive: {books: {count: books.publisher}, size: {copy: group, value: doc.size}}, relations: {group: {path: group, to: groups}}}
  groups: {}
  books:
    relations:
      publisher: {path: pub-id, to: publishers}
      editor: {path: editor, to: publishers, onDelete: keep}
    derive:
      publisherName: {copy: publisher, value: doc.name}
      "odd \"name": {copy: editor, value: doc.name}
      "a.place": {copy: publisher, value: doc.place}
    indexes:
      byName: [publisherName, before]
      byNameDown: ["-publisherName", "-after.x[]"]
      byPlace: [before, "a.place", publisherName]
      byBoth: ['string(doc["a.place"]) + "x"', publisherName]
      byLower: ["lower(doc.publisherName)", "-_meta.createdAt"]
      byUpdate: [publisherName, "-_meta.updatedAt"]
  shelves:
    relations: {publisher: {path: pub, to: publishers}}
    derive: {"the name's": {copy: publisher, value: doc.name}}
    indexes: {byName: ["the name's"], byX: [x, "-the name's"]}
  labels:
    relations: {publisher: {path: pub, to: publishers}}
    derive: {n: {copy: publisher, value: doc.books}, texts: {max: spines.label, of: n}}
  spines:
    relations: {label: {path: label, to: labels}, up: {path: up, to: spines}}
    derive: {n: {copy: label, value: doc.n}, above: {copy: up, value: doc.text}}
  covers: {}
  notes: {relations: {cover: {path: cover, to: covers}}, derive: {colour: {copy: cover, value: doc.colour}, shown: {value: doc.colour}}}
`

// texts are JSON whose tokens must stay as they are.
var texts = []string{`2.50`, `-0`, `-0.0`, `1E+2`, `1e400`, `0.1e-7`, `12345678901234567890123`, `true`, `null`, `""`, `"\u0041\u00e9\ud83d\ude00\/\b\u001f"`,
	`"é😀\u2028"`, `[ ]`, `{ }`, `[[1.0,{"a":[1e2]}],"x"]`, `{"":"","a b":1,"\"":2,"a.b":{"$":3},"\u0061c":4}`, `"` + strings.Repeat("long ", 500) + `"`}

// TestSetOrientedFold folds the same log by set-oriented SQL and document by document, with every
// kind of token beside the copies and in them: the rows are the same.
func TestSetOrientedFold(t *testing.T) {
	s := harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir(), SetOrientedFrom: 1})
	defer func() { s.Close() }()
	s.Model(setOrientedModel)
	s.Put("groups", "g", `{"size":1}`)
	for i, text := range texts {
		s.Put("publishers", fmt.Sprint(i%3), fmt.Sprintf(`{"name":"P","place":1,"group":"g","other":%s}`, text))
		s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"before":%s,"pub-id":%d,"editor":"%d","after":{"x":[%s]}}`, text, i%3, (i+1)%3, text))
		s.Put("shelves", fmt.Sprint(i), fmt.Sprintf(`{"pub":"%d","x":%s,"the name's":"own"}`, i%2, text))
		s.Put("labels", fmt.Sprint(i), fmt.Sprintf(`{"pub":%d,"x":%s}`, i%2, text))
		s.Put("spines", fmt.Sprint(i), fmt.Sprintf(`{"label":%d,"up":"%d","text":%s}`, i%4, i%3, text))
	}
	s.Put("covers", "1", `{"colour":"red"}`)
	s.Put("notes", "1", `{"cover":1}`)
	s.Put("notes", "2", `{"cover":1}`)
	s.Merge("covers", "1", `{"colour":"blue"}`) // which computed members read
	s.WantDoc("notes", "2", `{"id":"2","cover":1,"colour":"blue","shown":"blue"}`)
	for _, text := range texts {
		s.Merge("publishers", "0", `{"name":`+text+`,"place":`+text+`}`)
		s.Merge("publishers", "1", `{"name":[`+text+`]}`)
		s.Merge("groups", "g", `{"size":`+text+`}`)
		s.Merge("spines", "0", `{"text":`+text+`}`)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"patch","collection":"publishers","id":"0","patch":{"name":"One"}},{"op":"put","collection":"books","id":"new","body":{"pub-id":0}},{"op":"patch","collection":"publishers","id":"2","patch":{"name":"Two"}}]}`)
	s.Delete("publishers", "0")
	s.Put("publishers", "0", `{"name":"Back"}`)
	s.Merge("publishers", "0", `{"name":"Again"}`)
	s.Verify()
	before := s.Digest()
	s = s.Otherwise()
	s.Replay()
	if s.Digest() != before {
		t.Error("document by document the rows differ")
	}
}

// compositeModel has indexes in which copies come after other components, of few values and of many.
const compositeModel = `
collections:
  authors: {}
  books:
    relations: {author: {path: author, to: authors}}
    derive: {name: {copy: author, value: doc.name}, place: {copy: author, value: doc.place}}
    indexes:
      onShelf: [shelf, name]
      down: ["-shelf", "-name", "-n"]
      byTag: ["tags[]", shelf, name]
      byBoth: [shelf, name, place]
      byLower: ["lower(doc.shelf)", "lower(doc.name)"]
      byNumber: [n, name]
`

// TestRenamesInComposites renames authors whose names stand after other components of indexes. Two authors have one name for a while.
func TestRenamesInComposites(t *testing.T) {
	s := harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir(), SetOrientedFrom: 1})
	defer func() { s.Close() }()
	s.Model(compositeModel)
	for author := range 3 {
		s.Put("authors", fmt.Sprint(author), fmt.Sprintf(`{"name":"name %d","place":%d}`, author, author))
	}
	shelves := []string{`"A"`, `"a"`, `null`, `7`, `[1]`}
	for i := range 60 {
		s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"author":"%d","n":%d,"shelf":%s,"tags":["x",%d,"y"]}`, i%3, i, shelves[i%len(shelves)], i%2))
	}
	for i := range 20 {
		s.Put("books", fmt.Sprint("no shelf ", i), fmt.Sprintf(`{"author":"%d","n":%d}`, i%3, i))
	}
	for i, change := range []string{`{"name":"name 1"}`, `{"name":"name 2"}`, `{"name":"another"}`, `{"place":"elsewhere"}`, `{"name":"ANOTHER","place":null}`, `{"name":1.50}`, `{"name":` + texts[len(texts)-1] + `}`} {
		for _, author := range []string{"0", fmt.Sprint(i % 3)} {
			s.Merge("authors", author, change)
			s.Verify()
		}
	}
	before := s.Digest()
	s = s.Otherwise()
	s.Replay()
	if s.Digest() != before {
		t.Error("document by document the rows differ")
	}
}

// TestRandomFanouts: random histories in which most fan-outs are ones that set-oriented SQL folds.
func TestRandomFanouts(t *testing.T) {
	checks := suite.Amount(12, 84) / lanes
	if testing.Short() {
		checks = 1
	}
	checkInLanes(t, checks, suite.ShareFanouts, "random histories of fan-outs", func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "fanouts")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}()
		s := harness.Open(t, harness.Options{KeepFold: true, Dir: dir, SetOrientedFrom: draw(t, -1, 1)})
		defer func() { s.Close() }()
		names, derive := []string{"a", "b", "zz", "more name"}, ""
		for i := range 1 + upTo(t, 2) {
			derive += fmt.Sprintf("%q: {copy: %s, value: %q}, ", names[upTo(t, 3)]+fmt.Sprint(i), draw(t, "r", "r", "q"), draw(t, "doc.x", "doc.y", "[doc.x, doc.y]", "doc"))
		}
		if chance(t, 40) { // of a copy, or of something else
			derive += fmt.Sprintf("computed: {value: %q}, ", draw(t, "doc.own", `doc['a0']`, `[doc['b0'], doc.own]`))
		}
		s.Model("collections:\n  ts: {}\n  hs: {relations: {r: {path: r, to: ts, onDelete: " + draw(t, "clear", "keep") + "}, q: {path: deep.q, to: ts}}, derive: {" + derive + "}, indexes: {" + fanoutIndexes(t, names) + "}}\n")
		value := func() string { return draw(t, append(texts, "1", "1", `"one"`)...) }
		for range 8 + upTo(t, 20) {
			target, holder := draw(t, "1", "2"), draw(t, "1", "2", "3", "4", "h")
			switch n := upTo(t, 9); {
			case n < 3:
				s.Put("hs", holder, fmt.Sprintf(`{"r":%s,"own":%s,"deep":{"q":%q,"v":%s}}`, target, value(), draw(t, "1", "2"), value()))
			case n < 5:
				s.Put("ts", target, fmt.Sprintf(`{"x":%s,"y":%s}`, value(), value()))
			case n < 6:
				_, _ = s.Do(http.MethodDelete, harness.Path("ts", target), nil) // it may not be there
			default:
				_, _ = s.Do(http.MethodPatch, harness.Path("ts", target), []byte(`{"x":`+value()+`}`), "Content-Type", harness.MergeType)
			}
		}
		s.Verify()
		before := s.Digest()
		s = s.Otherwise()
		s.Replay()
		if s.Digest() != before {
			t.Fatal("folded the other way the rows differ")
		}
	})
}

// fanoutIndexes draws indexes of what copies with some names give, and of what stands beside them.
func fanoutIndexes(t *rapid.T, names []string) string {
	var all []string
	for i := range upTo(t, 3) {
		var parts []string
		for _, c := range []string{names[upTo(t, 3)] + "0", draw(t, "own", "deep.v", "a1", "b1[]", `string(doc["a0"])`, "_meta.updatedAt"), draw(t, "b0", "zz1", "deep.q")} {
			if !strings.Contains(strings.Join(parts, "|"), c) {
				parts = append(parts, fmt.Sprintf("%q", draw(t, "", "-")+c))
			}
		}
		all = append(all, fmt.Sprintf("i%d: [%s]", i, strings.Join(parts[:1+upTo(t, len(parts)-1)], ", ")))
	}
	return strings.Join(all, ", ")
}

// TestDeepDocuments: derived values may nest deeper than SQLite's JSON functions take.
func TestDeepDocuments(t *testing.T) {
	const chain, nested = 50, 22 // more than 1,000 in all, by expressions with brackets as deep as they may be
	model := "collections:\n  c0: {}\n"
	for i := 1; i <= chain; i++ {
		model += fmt.Sprintf("  c%d: {relations: {r: {path: r, to: c%d}}, derive: {d: {copy: r, value: %q}}}\n", i, i-1, strings.Repeat("[", nested)+"doc.d"+strings.Repeat("]", nested))
	}
	s := harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir(), SetOrientedFrom: 1})
	defer s.Close()
	s.Model(model)
	s.Put("c0", "x", `{"d":1}`)
	for i := 1; i <= chain; i++ {
		s.Put(fmt.Sprint("c", i), "x", `{"r":"x"}`)
	}
	s.Merge("c0", "x", `{"d":2}`)
	s.WantDoc(fmt.Sprint("c", chain), "x", `{"id":"x","r":"x","d":`+strings.Repeat("[", nested*chain)+"2"+strings.Repeat("]", nested*chain)+`}`)
}
