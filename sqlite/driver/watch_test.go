package driver

import (
	"errors"
	"testing"
)

// TestWatch: before a statement runs the connection tells which of the watched tables it reads and writes, and no others.
func TestWatch(t *testing.T) {
	f := openTestFile(t)
	const link, last = 1, 2
	var read, written Tables
	refused := errors.New("refused")
	var answer error
	f.Writer.Watch([]string{"link", "last"}, func(r, w Tables) error { read, written = r, w; return answer })
	if err := errors.Join(f.Writer.Exec("CREATE TABLE other (link TEXT)"), f.Writer.Exec("CREATE TEMP TABLE last (seq INTEGER)")); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]Tables{
		"SELECT holder FROM link":        {link, 0},
		"SELECT count(*) FROM main.last": {last, 0},
		"SELECT link FROM other":         {},
		"SELECT seq FROM temp.last":      {},
		"SELECT 1 FROM other WHERE EXISTS (SELECT 1 FROM link) UNION SELECT seq FROM main.last": {link | last, 0},
		"INSERT INTO link (target, holder) VALUES ('a', 1)":                                     {0, link},
		"INSERT INTO main.last (seq) SELECT holder FROM link":                                   {link, last},
		"UPDATE link SET holder = 2":                                                            {0, link},
		"DELETE FROM link":                                                                      {0, link},
		"DELETE FROM other":                                                                     {},
		"INSERT INTO other VALUES(1)":                                                           {},
	} {
		read, written = 0, 0
		if err := f.Writer.Exec(query); err != nil {
			t.Fatal(err)
		}
		if read != want[0] || written != want[1] {
			t.Errorf("%s: reads %b and writes %b, want %b", query, read, written, want)
		}
	}
	answer = refused
	if err := f.Writer.Exec("DELETE FROM link"); !errors.Is(err, refused) {
		t.Errorf("a statement that was refused: %v", err)
	}
	if err := f.Writer.Unwatched(func() error { return f.Writer.Exec("DELETE FROM link") }); err != nil {
		t.Error(err)
	}
}

// TestStatementsAreCompiledOnce: other arguments do not have SQLite compile a statement anew, whatever their types. It asks who watches when it compiles.
func TestStatementsAreCompiledOnce(t *testing.T) {
	f := openTestFile(t)
	c := f.Writer
	c.Watch([]string{"link"}, nil)
	for _, query := range []string{
		"SELECT holder FROM link WHERE target = ? AND holder > ? ORDER BY holder LIMIT 1",
		"SELECT holder FROM link WHERE target = ? AND holder = ? ORDER BY holder, target",
		"SELECT l.holder FROM link l WHERE l.target = ? AND l.holder >= ? ORDER BY l.holder DESC LIMIT 5",
		"UPDATE link SET holder = ? WHERE target = ?",
		"DELETE FROM link WHERE target = ? AND holder = ?",
	} {
		for i, target := range []Value{"a", "b", "1", "0", int64(1), int64(0), int64(7), []byte("a"), nil} {
			if i == 1 {
				c.watch.compiled = tables{}
			}
			if err := c.Query(query, func(Row) error { return nil }, target, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if c.watch.compiled != (tables{}) {
			t.Errorf("compiled anew: %s", query)
		}
	}
	if err := addLink(f, "a", 1); err != nil {
		t.Fatal(err)
	}
	for _, typed := range []Value{"a", "1"} {
		found := 0
		if err := c.Query("SELECT holder FROM link WHERE target = ? AND holder = ?", func(Row) error { found++; return nil }, "a", typed); err != nil {
			t.Fatal(err)
		}
		if (found == 1) != (typed == "1") { // as the column's type says of a text
			t.Errorf("holder = %v finds %d rows", typed, found)
		}
	}
}
