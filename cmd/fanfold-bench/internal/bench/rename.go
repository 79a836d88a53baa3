package bench

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/fanfold/fanfold/sqlite"
)

// CurrentFile returns the path of the read model that is served.
func CurrentFile(store *sqlite.Store) (path string, err error) {
	err = store.Use(func(db *sqlite.DB) error { path = db.Path(); return nil })
	return path, err
}

// OpenPlain opens an SQLite file with settings like our own; the caller closes it.
func OpenPlain(path string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+url.PathEscape(path)+"?_journal_mode=WAL&_synchronous=NORMAL&_cache_size=-32768")
}

// Rename is a rename that reaches a copy of the name in every book.
type Rename struct {
	Name   string // the result's
	Path   string // of the copy in a book, as SQLite's JSON functions take it
	Where  string // which books these are, as SQL; "" for all
	Copies int
	Write  func(name string) error // renames, and returns once all copies are right
}

// Run compares the rename, feed rows included, with one UPDATE by json_set. The UPDATE sets the same member of the
// same rows on a copy of the store's file, which it makes in dir.
func (b Rename) Run(ctx context.Context, store *sqlite.Store, dir string) (r Result, err error) {
	plain := filepath.Join(dir, "limit.db")
	if err := copyFile(ctx, store, plain); err != nil {
		return r, err
	}
	return Pair{Name: b.Name, Unit: "copies/s", Limit: "one UPDATE ... json_set over the same rows, without feed rows", Rounds: 4,
		Ours: func(round int) (float64, error) {
			began := time.Now()
			err := b.Write(fmt.Sprintf("Bob%d", round))
			return float64(b.Copies) / time.Since(began).Seconds(), err
		}, Plain: func(round int) (float64, error) {
			took, err := b.update(plain, fmt.Sprintf("Bob%d Author", round))
			return float64(b.Copies) / took.Seconds(), err
		}}.Run()
}

// copyFile copies the store's read model to a new file.
func copyFile(ctx context.Context, store *sqlite.Store, to string) (err error) {
	from, err := CurrentFile(store)
	if err != nil {
		return err
	}
	db, err := OpenPlain(from)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return errors.Join(err, db.Close())
}

// update sets the name in every book of a file, and returns how long that took.
func (b Rename) update(file, name string) (took time.Duration, err error) {
	db, err := OpenPlain(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	began := time.Now()
	res, err := db.Exec("UPDATE document SET body = json_set(body, ?, ?) WHERE collection = 'books' AND "+cmp.Or(b.Where, "true"), b.Path, name)
	if err != nil {
		return 0, err
	}
	took = time.Since(began)
	if n, err := res.RowsAffected(); err != nil || n != int64(b.Copies) {
		return 0, errors.Join(err, fmt.Errorf("%d rows updated", n))
	}
	return took, nil
}
