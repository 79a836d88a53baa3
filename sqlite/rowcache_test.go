package sqlite

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestFullRowCache: a document that is asked for again and again stays in the cache, which holds no more than its bound. Changes from
// before the cache was full are not lost.
func TestFullRowCache(t *testing.T) {
	store, often, last := openInternal(t), fanfold.Key{Collection: "c", ID: "1"}, int64(maxCachedRows*3)
	body := func(i int64) string { return `{"v":` + strconv.FormatInt(i, 10) + `}` }
	inTransaction := func(fn func(tx *Tx) error) {
		t.Helper()
		if err := store.Use(func(db *DB) error { return db.Update(fn) }); err != nil {
			t.Fatal(err)
		}
	}
	inTransaction(func(tx *Tx) error {
		for i := int64(1); i <= last; i++ {
			key := fanfold.Key{Collection: "c", ID: strconv.FormatInt(i, 10)}
			if err := tx.Documents.Insert(&Row{Number: i, Key: key, Position: fanfold.At(uint64(i), 0), Body: []byte(body(i))}); err != nil {
				return err
			}
			rows := tx.c.Rows
			if was, err := tx.Documents.Body(often); err != nil || i > 1 && string(was) != body(-i+1) || tx.c.Rows > rows {
				return fmt.Errorf("after %d documents the view is %s, for which %d rows were read, %w", i, was, tx.c.Rows-rows, err)
			}
			if err := tx.Documents.SetView(1, View{Position: fanfold.At(uint64(i), 0), Body: []byte(body(-i))}); err != nil {
				return err
			}
			if len(tx.Documents.cache.rows) > maxCachedRows+1 {
				return fmt.Errorf("the cache has %d documents", len(tx.Documents.cache.rows))
			}
		}
		return nil
	})
	inTransaction(func(tx *Tx) error {
		if err := tx.Documents.empty(); err != nil {
			return err
		}
		for i := int64(1); i <= last; i += 100 {
			want := body(i)
			if i == 1 {
				want = body(-last)
			}
			if got, err := tx.Documents.BodyOf(i); err != nil || string(got) != want {
				return fmt.Errorf("document %d is %s, %w", i, got, err)
			}
		}
		return nil
	})
}
