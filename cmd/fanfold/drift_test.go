package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// driftModel is a model of books and authors whose copies another store had by hand.
const driftModel = `
collections:
  authors:
    derive:
      countOfBooks: { count: books.authors }
      books:        { ids: books.authors, limit: 1000 }
      pages:        { sum: books.authors, of: pages }
      isNew:        { value: doc.countOfBooks < 2 }
  books:
    relations:
      authors:   { path: "authors[].id", to: authors }
      publisher: { path: publisher, to: publishers }
    derive:
      "authors[].name": { copy: authors, value: doc.name }
      publisherName:    { copy: publisher, value: doc.name }
      soldAs:           { copy: publisher, value: doc.name, frozen: true }
  publishers: {}
`

type libraryAuthor struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	CountOfBooks json.RawMessage `json:"countOfBooks,omitempty"`
	Books        []string        `json:"books,omitempty"`
	Pages        json.RawMessage `json:"pages,omitempty"`
}

type libraryCopy struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

type libraryBook struct {
	ID            string        `json:"id"`
	Pages         int           `json:"pages"`
	Publisher     int           `json:"publisher"`
	PublisherName string        `json:"publisherName,omitempty"`
	SoldAs        string        `json:"soldAs"`
	Authors       []libraryCopy `json:"authors"`
}

// bookstore is what another store has, with its copies right.
type bookstore struct {
	authors []*libraryAuthor
	books   []*libraryBook
}

// newLibrary makes books with up to three authors each, and computes the copies by itself.
func newLibrary(r *rand.Rand, books int) *bookstore {
	l := &bookstore{}
	totals := map[string]int{}
	byID := map[string]*libraryAuthor{}
	for i := range books / 2 {
		a := &libraryAuthor{ID: fmt.Sprint("a", i), Name: fmt.Sprintf("Author \"%d\" é", i)}
		l.authors, byID[a.ID] = append(l.authors, a), a
	}
	for i := range books {
		b := &libraryBook{ID: fmt.Sprint("b", i), Pages: 1 + r.IntN(900), Publisher: r.IntN(20), SoldAs: "an old name"}
		b.PublisherName = fmt.Sprint("Publisher ", b.Publisher)
		for _, at := range r.Perm(len(l.authors))[:1+r.IntN(3)] {
			a := l.authors[at]
			b.Authors = append(b.Authors, libraryCopy{a.ID, a.Name})
			a.Books = append(a.Books, b.ID)
			totals[a.ID] += b.Pages
		}
		l.books = append(l.books, b)
	}
	for _, a := range l.authors {
		a.CountOfBooks, a.Pages = json.RawMessage(fmt.Sprint(len(a.Books))), json.RawMessage(fmt.Sprint(totals[a.ID]))
	}
	return l
}

// damage changes one copy in a hundred, and returns what is wrong then: the kind, by where it is.
func (l *bookstore) damage(r *rand.Rand) map[string]string {
	wrong := map[string]string{}
	hit := func() bool { return r.IntN(100) == 0 }
	for _, a := range l.authors {
		r.Shuffle(len(a.Books), func(i, j int) { a.Books[i], a.Books[j] = a.Books[j], a.Books[i] }) // which is no damage
		if hit() {
			a.CountOfBooks = json.RawMessage(fmt.Sprint(len(a.Books) + 1 + r.IntN(3)))
			wrong["authors/"+a.ID+"/countOfBooks"] = "wrong"
		}
		if hit() && len(a.Books) > 0 {
			a.Books = append(slices.Clone(a.Books[1:]), "b-none")
			wrong["authors/"+a.ID+"/books"] = "wrong"
		}
		if hit() && len(a.Books) > 0 { // no value says the same as 0
			a.Pages = nil
			wrong["authors/"+a.ID+"/pages"] = "missing"
		}
	}
	for _, b := range l.books {
		for i := range b.Authors {
			place := fmt.Sprintf("books/%s/authors/%d/name", b.ID, i)
			if hit() {
				b.Authors[i].Name = strings.ToUpper(b.Authors[i].Name)
				wrong[place] = "wrong"
			} else if hit() {
				b.Authors[i].Name = ""
				wrong[place] = "missing"
			}
		}
		if hit() {
			b.Publisher = 99
			wrong["books/"+b.ID+"/publisherName"] = "orphaned"
		}
	}
	return wrong
}

// write writes the store as a directory with a file a collection, holders first.
func (l *bookstore) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	add := func(name string, documents []any) {
		text, err := json.Marshal(documents)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var authors, books, publishers []any
	for _, a := range l.authors {
		authors = append(authors, a)
	}
	for _, b := range l.books {
		books = append(books, b)
	}
	for i := range 20 {
		publishers = append(publishers, map[string]any{"id": i, "name": fmt.Sprint("Publisher ", i)})
	}
	add("authors.json", authors)
	add("books.json", books)
	add("publishers.json", publishers)
	return dir
}

// told returns what a file of differences says: the kind, by where it is.
func told(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		var d struct{ Kind, Collection, ID, Path string }
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if place := d.Collection + "/" + d.ID + d.Path; !strings.HasSuffix(place, "/isNew") { // which no document brought
			all[place] = d.Kind
		}
	}
	return all
}

// TestDriftFindsDamage: of a store with 1% of its copies, counts and lists changed each is found, and none is invented. It is so in a store that is thrown
// away, for documents that are stored, and while they are imported.
func TestDriftFindsDamage(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	l := newLibrary(r, 3000)
	whole := l.write(t)
	wrong := l.damage(r)
	damaged := l.write(t)
	model, out := writeTemp(t, "model.yaml", driftModel), filepath.Join(t.TempDir(), "out")
	check := func(how string, got ran) {
		t.Helper()
		got.want(t, exitWrong, "orphaned", "isNew", "new: no document brought a value", "frozen: not compared")
		if found := told(t, out); !maps.Equal(found, wrong) || len(wrong) < 50 {
			t.Errorf("%s, seed %d: %d differences are found, want %d", how, seed, len(found), len(wrong))
			for place, kind := range wrong {
				if found[place] != kind {
					t.Logf("%s is %s, and found as %q", place, kind, found[place])
				}
			}
			for place, kind := range found {
				if wrong[place] == "" {
					t.Logf("%s is invented as %s", place, kind)
				}
			}
		}
	}
	s := harness.OpenTemp(t, "")
	at := func(args ...string) ran { return runCommand(t, "", append(args, "--server", s.URL)...) }
	check("in a dry run", at("import", damaged, "--model", model, "--drift", "--dry-run", "--out", out))
	if seq, err := s.Node.Log.LastSeq(t.Context()); err != nil || seq != 0 {
		t.Errorf("a dry run has stored %d events, %v", seq, err)
	}
	at("import", damaged).want(t, exitDone, "documents written")
	check("of documents that are stored", at("drift", "--model", model, "--out", out))
	at("drift").want(t, exitUsage, "no model applies")

	s = harness.OpenTemp(t, "")
	check("while it is imported", at("import", damaged, "--model", model, "--drift", "--out", out))
	at("verify").want(t, exitDone)
	at("drift").want(t, exitDone, "0 ")
	got := at("import", damaged, "--drift", "--json")
	got.want(t, exitWrong, `"rule": "books.authors[].name"`, `"examples"`)
	at("import", whole, "--drift").want(t, exitDone, "4500 documents compared")
	at("import", whole, "--out", out).want(t, exitUsage, "--out goes with --drift")
}

// TestModelSuggest: of documents with 1% of their copies wrong, in a directory or stored, a model is proposed with the rules by which they were made.
func TestModelSuggest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	l := newLibrary(r, 600)
	l.damage(r)
	dir, out := l.write(t), filepath.Join(t.TempDir(), "model.yaml")
	s := harness.OpenTemp(t, "")
	at := func(args ...string) ran { return runCommand(t, "", append(args, "--server", s.URL)...) }
	want := []string{`authors: { path: "authors[].id", to: authors }`, `publisher: { path: publisher, to: publishers } #`, " without a document, such as 99", "countOfBooks: { count: books.authors", "books: { ids: books.authors, limit: 1000",
		`"authors[].name": { copy: authors, value: doc.name`, "publisherName: { copy: publisher, value: doc.name"}
	at("model", "suggest", dir).want(t, exitDone, want...)
	at("model", "suggest", "--out", out, dir).want(t, exitDone)
	runCommand(t, "", "model", "check", out).want(t, exitDone)
	at("import", dir).want(t, exitDone)
	got := at("model", "suggest")
	got.want(t, exitDone, append(want, "takeOver: true }")...)
	at("model", "suggest", "--out", out).want(t, exitDone)
	at("model", "apply", out).want(t, exitDone, "authors.countOfBooks")
	at("drift").want(t, exitWrong, "books.authors[].name")
	at("model", "suggest", "--out", writeTemp(t, "other", "x")).want(t, exitUsage, "has something else")
	at("model", "suggest", writeTemp(t, "b.json", `[{"id":"1"}]`)).want(t, exitUsage, "give --collection")
	runCommand(t, `[{"id":"1"},7]`, "model", "suggest", "--collection", "c", "-").want(t, exitDone, "c: {} # 1 documents", "line 1: it is a number")
}
