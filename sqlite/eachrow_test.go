package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// TestEachRow checks that documents of some collections come in order of creation, also across collections. Documents of small collections
// are found by the index, whatever else the table holds.
func TestEachRow(t *testing.T) {
	store, err := OpenStore(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := store.Use(func(db *DB) error {
		return db.Update(func(tx *Tx) error {
			for n := int64(1); n <= 2000; n++ {
				name := "many"
				if n%100 == 0 {
					name = "few" + fmt.Sprint(n%3)
				}
				if err := tx.Documents.Insert(&Row{Number: n, Key: fanfold.Key{Collection: name, ID: fmt.Sprint(5000 - n)}, Revision: fanfold.Revision(n), Position: fanfold.At(uint64(n), 0), Body: []byte(`{}`)}); err != nil {
					return err
				}
			}
			tx.SetCheckpoint(2000, time.Unix(0, 0), "")
			if numbers, err := tx.Documents.Numbers("few0", 300, 2); err != nil || !slices.Equal(numbers, []int64{600, 900}) {
				t.Errorf("Numbers: %v, %v", numbers, err)
			}
			return wantPlan(t, tx.c, numbersSQL, "USING COVERING INDEX document_key (collection=?", int64(0), "few0", int64(1))
		})
	}); err != nil {
		t.Fatal(err)
	}
	sc, err := store.Scan()
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close() //nolint:errcheck // nothing was written
	for _, c := range []struct {
		names   []string
		numbers int
	}{{nil, 2000}, {[]string{}, 0}, {[]string{"few0", "few1"}, 13}, {[]string{"many", "few2"}, 1987}, {[]string{"none"}, 0}} {
		last, count := int64(0), 0
		if err := sc.EachRow(c.names, func(row *Row) error {
			if row.Number <= last || c.names != nil && !slices.Contains(c.names, row.Key.Collection) {
				t.Errorf("%v: number %d of %s", c.names, row.Number, row.Key)
			}
			last = row.Number
			if count++; count == 2 { // one within another
				inner := 0
				if err := sc.EachRow([]string{"few0"}, func(*Row) error { inner++; return nil }); err != nil || inner != 6 {
					t.Errorf("%d within another, %v", inner, err)
				}
			}
			return nil
		}); err != nil || count != c.numbers {
			t.Errorf("%v: %d documents, %v; want %d", c.names, count, err, c.numbers)
		}
		if n, err := sc.Count(c.names); err != nil || int(n) != c.numbers {
			t.Errorf("%v: counted %d, %v", c.names, n, err)
		}
	}
	if err := wantPlan(t, sc.c, listNumbersSQL, "USING COVERING INDEX document_key (collection=?", int64(1), `["few0"]`); err != nil {
		t.Fatal(err)
	}
	if err := wantPlan(t, sc.c, rowSQL+listedRowsSQL, "SEARCH d USING INTEGER PRIMARY KEY", int64(1), int64(0), int64(512)); err != nil {
		t.Fatal(err)
	}
}

// wantPlan fails the test unless SQLite's plan of a query says what it should.
func wantPlan(t *testing.T, c *driver.Conn, query, want string, args ...driver.Value) error {
	t.Helper()
	var plan []string
	err := c.Query("EXPLAIN QUERY PLAN "+query, func(r driver.Row) error {
		plan = append(plan, r.Text(3))
		return nil
	}, args...)
	if text := strings.Join(plan, "\n"); err == nil && !strings.Contains(text, want) || strings.Contains(text, "SCAN document") || strings.Contains(text, "SCAN d\n") {
		t.Errorf("%s\nis planned as\n%s", query, text)
	}
	return err
}
