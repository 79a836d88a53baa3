package sqlite_test

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// insert writes a document as the event at seq, with its change row and the checkpoint.
func insert(store *sqlite.Store, seq uint64, key fanfold.Key, body string) error {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := fanfold.At(seq, 0)
	err := store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error {
			row := &sqlite.Row{Number: int64(seq), Key: key, Revision: fanfold.Revision(seq), Position: at, Created: now, Updated: now, Body: []byte(body)}
			if err := tx.Documents.Insert(row); err != nil {
				return err
			}
			if err := tx.AddChange(&fanfold.Change{Position: at, Key: key, Op: fanfold.OpCreate, Revision: row.Revision, Time: now}); err != nil {
				return err
			}
			tx.SetCheckpoint(seq, now, "example")
			return nil
		})
	})
	if err == nil {
		store.Applied.Set(seq) // after the commit: now readers may see it
	}
	return err
}

// Example writes a document into a read model and reads it back.
func Example() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"id":"b1","title":"Emma"} at 1-0
	// 1-0 create books b1
}

func run() (err error) {
	dir, err := os.MkdirTemp("", "fanfold-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlite.OpenStore(dir, sqlite.Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	key := fanfold.Key{Collection: "books", ID: "b1"}
	if err := insert(store, 1, key, `{"id":"b1","title":"Emma"}`); err != nil {
		return err
	}

	doc, at, err := store.Get(key, fanfold.Embedded)
	if err != nil {
		return err
	}
	fmt.Println(string(doc.Body), "at", at)

	err = store.Read(func(s *sqlite.Snapshot) error {
		page, err := s.Changes(fanfold.ChangeQuery{Limit: 10})
		for _, row := range page.Rows {
			fmt.Println(row.Position, row.Op, row.Key.Collection, row.Key.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	return nil
}
