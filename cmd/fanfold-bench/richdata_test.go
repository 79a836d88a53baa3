package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// parsedLine is a line of an import of rich data.
type parsedLine struct {
	Collection string
	Doc        struct {
		ID, Publisher, Series, Section, Book, Reader, Catalog string
		Books, Uses                                           []string
		Authors, Topics                                       []struct{ ID string }
	}
}

// references returns what a document refers to: by strict relations, and by others.
func (l parsedLine) references() (strict, loose []string) {
	add := func(refs []string, to, id string) []string {
		if id == "" {
			return refs
		}
		return append(refs, to+"/"+id)
	}
	strict = add(add(add(nil, "sections", l.Doc.Section), "readers", l.Doc.Reader), "catalogs", l.Doc.Catalog)
	loose = add(nil, "series", l.Doc.Series)
	if l.Collection == "sections" {
		loose = add(loose, "publishers", l.Doc.Publisher)
	} else {
		strict = add(strict, "publishers", l.Doc.Publisher)
	}
	if l.Collection == "reviews" {
		strict = add(strict, "books", l.Doc.Book)
	} else {
		loose = add(loose, "books", l.Doc.Book)
	}
	for _, a := range l.Doc.Authors {
		strict = add(strict, "authors", a.ID)
	}
	for _, topic := range l.Doc.Topics {
		loose = add(loose, "topics", topic.ID)
	}
	for _, id := range l.Doc.Uses {
		loose = add(loose, "sources", id)
	}
	for _, id := range l.Doc.Books {
		loose = add(loose, "books", id)
	}
	return strict, loose
}

// parsedLines returns the lines of rich data and of its updates.
func parsedLines(t *testing.T, d richData) (lines, updates []parsedLine) {
	t.Helper()
	read := func(text *bytes.Buffer) (all []parsedLine) {
		for line := range strings.Lines(text.String()) {
			var l parsedLine
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			all = append(all, l)
		}
		return all
	}
	var text, again bytes.Buffer
	if _, err := d.write(&text); err != nil {
		t.Fatal(err)
	}
	if _, err := d.writeUpdates(&again); err != nil {
		t.Fatal(err)
	}
	return read(&text), read(&again)
}

// TestRichData checks that whatever a rich document refers to strictly comes before it, and of the other references some half come
// after it and some never. Publisher 0 has as many books as reached says, and updates are of documents that are there.
func TestRichData(t *testing.T) {
	const documents = 5000
	d := richData{documents: documents}
	lines, updates := parsedLines(t, d)
	at, books := map[string]int{}, 0
	for i, l := range lines {
		key := l.Collection + "/" + l.Doc.ID
		if _, twice := at[key]; twice {
			t.Fatalf("%s comes twice", key)
		}
		at[key] = i
		if l.Collection == "books" && l.Doc.Publisher == "0" {
			books++
		}
	}
	if len(lines) != documents || books != d.reached() || books < documents/5 {
		t.Errorf("%d documents, %d books of publisher 0 (reached says %d)", len(lines), books, d.reached())
	}
	var early, late, absent int
	for i, l := range lines {
		strict, loose := l.references()
		for _, to := range strict {
			if j, ok := at[to]; !ok || j >= i {
				t.Fatalf("%s/%s refers to %s, which is not there yet", l.Collection, l.Doc.ID, to)
			}
		}
		for _, to := range loose {
			switch j, ok := at[to]; {
			case !ok:
				absent++
			case j < i:
				early++
			default:
				late++
			}
		}
	}
	if late < early*2/3 || late > early*3/2 || absent < (early+late)/20 {
		t.Errorf("%d targets come before what refers to them, %d after it, %d never", early, late, absent)
	}
	kinds := map[string]bool{}
	for _, l := range updates {
		if _, ok := at[l.Collection+"/"+l.Doc.ID]; !ok {
			t.Errorf("%s/%s is updated, and is not there", l.Collection, l.Doc.ID)
		}
		kinds[l.Collection] = true
	}
	if len(updates) != d.updates() || len(updates) < documents/25 || len(kinds) < 4 {
		t.Errorf("%d updates (updates says %d) of %v", len(updates), d.updates(), kinds)
	}
}

// TestRichModel checks that the model without guards has no strict relation, no unique member and no limit.
func TestRichModel(t *testing.T) {
	if plain := richModel(false); strings.Contains(plain, "strict") || strings.Contains(plain, "unique") || strings.Contains(plain, "limit: 5000") || !strings.Contains(plain, "pages:") {
		t.Errorf("the model without guards is %s", plain)
	}
}
