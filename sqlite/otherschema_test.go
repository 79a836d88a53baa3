package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestOtherSchema: a file with the tables of another version is replaced by an empty one.
func TestOtherSchema(t *testing.T) {
	for _, change := range []string{"PRAGMA user_version = 15", "PRAGMA user_version = 0", "PRAGMA user_version = 1000"} {
		dir, key := t.TempDir(), fanfold.Key{Collection: "c", ID: "1"}
		store := openUnclosed(t, dir)
		if err := errors.Join(insert(store, 1, key, `{"v":1}`), store.Close()); err != nil {
			t.Fatal(err)
		}
		store = openUnclosed(t, dir)
		requireBody(t, store, key, `{"v":1}`)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.db"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v %v", files, err)
		}
		sums, err := filepath.Glob(filepath.Join(dir, "sum-*"))
		if err != nil {
			t.Fatal(err)
		}
		file, err := sql.Open("sqlite3", files[0])
		if err == nil {
			_, err = file.Exec(change)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range sums { // the file is as it was left
			if err := os.Remove(sum); err != nil {
				t.Fatal(err)
			}
		}
		store = openUnclosed(t, dir)
		doc, cp, err := store.Get(key, fanfold.Embedded)
		if err != nil || doc != nil || cp.Seq() != 0 {
			t.Errorf("%s: %v, %v, %v; want nothing", change, doc, cp, err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
