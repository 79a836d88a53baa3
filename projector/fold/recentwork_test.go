package fold_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// workOn returns how many documents a command's event looks at: each one of a level, and each one that a value is made from.
func workOn(t *testing.T, m *machine, cmd, key, body string) (worked int, changes string) {
	t.Helper()
	m.fold.SetEnded(func() error { worked++; return nil })
	changes = m.do(cmd, key, body)
	m.fold.SetEnded(nil)
	return worked, changes
}

// TestWorkOfRecents checks that documents which many others show are read once for each of these. A write that alters nothing of what they
// show works on none of the many.
func TestWorkOfRecents(t *testing.T) {
	const targets, holders = 300, 10
	ids := make([]string, targets)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%d"`, i)
	}
	for name, rule := range map[string]string{
		"by creation":           `latest: {recent: books.authors, max: 10, fields: [id, title, who, double]}`,
		"with a condition":      `latest: {recent: books.authors, max: 10, fields: [id, title, who, double], where: doc.n > 0}`,
		"in an order":           `latest: {recent: books.authors, max: 10, fields: [id, title, who, double], orderBy: n}`,
		"in a derived order":    `latest: {recent: books.authors, max: 10, fields: [id, title, who, double], orderBy: double}`,
		"by a derived contents": `latest: {recent: books.authors, max: 10, fields: [id, title, who, double], where: doc.double > 0}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.do("model", "", `
collections:
  authors: {derive: {`+rule+`}}
  owners: {}
  books:
    relations: {authors: {path: "authors[]", to: authors}, owner: {path: owner, to: owners}}
    derive: {who: {copy: owner, value: doc.name}, double: {value: doc.n * 2}}
`)
			book := func(i int, more string) string {
				return fmt.Sprintf(`{"id":"%d","n":%d,"title":"t%d","owner":"a","authors":[%s]%s}`, i, i+1, i, strings.Join(ids, ","), more)
			}
			m.do("put", "owners/a", `{"id":"a","name":"A"}`)
			m.do("put", "owners/b", `{"id":"b","name":"B"}`)
			for i := range targets {
				m.do("put", fmt.Sprint("authors/", i), fmt.Sprintf(`{"id":"%d"}`, i))
			}
			for i := range holders {
				m.do("put", fmt.Sprint("books/", i), book(i, ""))
			}
			for _, c := range []struct {
				what, cmd, key, body string
				changes              bool
			}{
				{"a member that is not shown", "merge", "books/3", `{"zz":1}`, false},
				{"the same again", "put", "books/3", book(3, `,"zz":2`), false},
				{"a member that is shown", "merge", "books/3", `{"title":"another"}`, true},
				{"a shown copy by another reference", "merge", "books/3", `{"owner":"b"}`, true},
				{"a shown copy", "merge", "owners/b", `{"name":"Bea"}`, true},
				{"a shown computed member", "merge", "books/3", `{"n":40}`, true},
				{"a delete", "delete", "books/3", ``, true},
				{"a return", "put", "books/3", book(3, ""), true},
			} {
				worked, got := workOn(t, m, c.cmd, c.key, c.body)
				most := 10
				if c.changes {
					most = targets + 50
				}
				if changed := strings.Count(got, "authors.latest"); worked > most || (changed == targets) != c.changes {
					t.Errorf("%s works on %d documents, and changes %d", c.what, worked, changed)
				}
			}
			if got := m.do("verify", "", ""); !strings.Contains(got, fmt.Sprint(targets+holders+2, " documents are right")) {
				t.Error(got)
			}
		})
	}
}

// TestWorkOfNewRules checks that a new rule looks at each document once, however many it is counted and shown on.
func TestWorkOfNewRules(t *testing.T) {
	const targets, holders = 300, 10
	const model = `
collections:
  authors: {derive: {%s}}
  books: {relations: {authors: {path: "authors[]", to: authors}}}
`
	ids := make([]string, targets)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%d"`, i)
	}
	for _, rule := range []string{"latest: {recent: books.authors, max: 10, fields: [id]}", "many: {count: books.authors, where: doc.n > 4}"} {
		m := newMachine(t)
		m.do("model", "", fmt.Sprintf(model, ""))
		for i := range targets {
			m.do("put", fmt.Sprint("authors/", i), fmt.Sprintf(`{"id":"%d"}`, i))
		}
		for i := range holders {
			m.do("put", fmt.Sprint("books/", i), fmt.Sprintf(`{"id":"%d","n":%d,"authors":[%s]}`, i, i, strings.Join(ids, ",")))
		}
		worked, got := workOn(t, m, "model", "", fmt.Sprintf(model, rule))
		if changed := strings.Count(got, " by authors."); worked > targets+holders+10 || changed != targets {
			t.Errorf("%s works on %d documents, and changes %d", rule, worked, changed)
		}
		if got := m.do("verify", "", ""); !strings.Contains(got, fmt.Sprint(targets+holders, " documents are right")) {
			t.Error(got)
		}
	}
}

// TestCopiedListsTakeFewBytes: a rename changes an element of each holder's list, and the change's row has little more than the new name.
func TestCopiedListsTakeFewBytes(t *testing.T) {
	m := newMachine(t)
	m.do("model", "", `
collections:
  tags: {}
  books:
    relations: {tags: {path: "tags[]", to: tags}, lines: {path: "lines[].tag", to: tags}}
    derive: {titles: {copy: tags, value: doc.title}, "lines[].title": {copy: lines, value: doc.title}}
`)
	const tags, renames = 20, 40
	title := func(i int) string { return fmt.Sprintf("the title of tag %d, which is long", i) }
	var ids []string
	for i := range tags {
		ids = append(ids, fmt.Sprintf(`"%d"`, i))
		m.do("put", fmt.Sprint("tags/", i), fmt.Sprintf(`{"id":"%d","title":%q}`, i, title(i)))
	}
	m.do("put", "books/1", `{"id":"1","tags":[`+strings.Join(ids, ",")+`],"lines":[{"tag":"3"}]}`)
	before := storedDeltas(t, m)
	for i := range renames {
		m.do("merge", fmt.Sprint("tags/", i%tags), fmt.Sprintf(`{"title":"renamed %d"}`, i))
	}
	most := renames*40 + renames/8*tags*len(title(0)) // one row of nine has the list
	if got := storedDeltas(t, m) - before; got == 0 || got > most {
		t.Errorf("%d renames take %d bytes, want %d at most", renames, got, most)
	}
}

// storedDeltas returns how many bytes the rows of derived changes hold of values.
func storedDeltas(t *testing.T, m *machine) (n int) {
	t.Helper()
	if err := m.store.Use(func(db *sqlite.DB) error {
		c, err := driver.Open(db.Path(), driver.ReadOnly)
		if err != nil {
			return err
		}
		_, err = c.QueryRow("SELECT sum(length(delta)) FROM change", func(r driver.Row) { n = int(r.Int(0)) })
		return errors.Join(err, c.Close())
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
