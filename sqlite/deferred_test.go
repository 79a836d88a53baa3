package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// manyRows is more than the lists of deferred statements hold together.
const manyRows = 1000

// numbered returns the row of a document with a number, whose view is body.
func numbered(number int, body []byte) *sqlite.Row {
	return &sqlite.Row{Number: int64(number), Key: fanfold.Key{Collection: "c", ID: strconv.Itoa(number)},
		Revision: fanfold.Revision(number), Position: fanfold.At(uint64(number), 0), Body: body}
}

// insertMany inserts documents from first on, whose views stand one after the other in the same memory.
func insertMany(tx *sqlite.Tx, first int) error {
	var body []byte
	for i := first; i < first+manyRows; i++ {
		body = fmt.Appendf(body[:0], `{"v":%d,"text":"%s"}`, i, strings.Repeat("x", i%7))
		if err := tx.Documents.Insert(numbered(i, body)); err != nil {
			return err
		}
	}
	return nil
}

// requireMany checks that the documents are there that insertMany inserts.
func requireMany(tx *sqlite.Tx, first int) error {
	for i := first; i < first+manyRows; i++ {
		row, err := tx.Documents.ByNumber(int64(i))
		want := fmt.Sprintf(`{"v":%d,"text":"%s"}`, i, strings.Repeat("x", i%7))
		if err != nil || row == nil || string(row.Body) != want {
			return fmt.Errorf("document %d is %v, want %s; %w", i, row, want, err)
		}
	}
	return nil
}

// TestDeferredStatementsAreRead: whatever a transaction has written is there when it reads, and after it.
func TestDeferredStatementsAreRead(t *testing.T) {
	store := openStore(t, t.TempDir())
	update(t, store, func(tx *sqlite.Tx) error {
		if err := errors.Join(insertMany(tx, 1), requireMany(tx, 1), insertMany(tx, 1+manyRows)); err != nil {
			return err
		}
		row, err := tx.Documents.ByNumber(2 * manyRows)
		if err != nil || row == nil {
			return fmt.Errorf("the last document is %v, %w", row, err)
		}
		// Each change comes after the last one of the same row.
		for i := range manyRows {
			row.Body = fmt.Appendf(nil, `{"v":%d}`, i)
			if err := tx.Documents.Replace(row); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, store, func(tx *sqlite.Tx) error { return requireMany(tx, 1) })
	requireBody(t, store, fanfold.Key{Collection: "c", ID: strconv.Itoa(2 * manyRows)}, `{"v":999}`)
}

// TestDeferredStatementsWhileRowsAreRead: what is written while the rows of a query are read is written at once, and can be
// read while they are.
func TestDeferredStatementsWhileRowsAreRead(t *testing.T) {
	store := openStore(t, t.TempDir())
	update(t, store, func(tx *sqlite.Tx) error { return insertMany(tx, 1) })
	update(t, store, func(tx *sqlite.Tx) error {
		number := manyRows
		_, err := tx.Snapshot().EachListed("c", "", manyRows, fanfold.Embedded, func(*fanfold.Document) (bool, error) {
			number++
			if err := tx.Documents.Insert(numbered(number, []byte(`{}`))); err != nil {
				return false, err
			}
			row, err := tx.Documents.ByNumber(int64(number))
			if err == nil && row == nil {
				err = fmt.Errorf("document %d is not there", number)
			}
			return number < 2*manyRows, err
		})
		if err == nil && number != 2*manyRows {
			err = fmt.Errorf("%d documents were written", number-manyRows)
		}
		return err
	})
}

// TestDeferredValues: texts and blobs come back as they were given, also empty ones, those that are NULL, and those that
// are too large to be deferred.
func TestDeferredValues(t *testing.T) {
	store := openStore(t, t.TempDir())
	large := []byte(`"` + strings.Repeat("y", 1<<20) + `"`)
	entries := [][]byte{nil, {}, {0}, []byte("b"), bytes.Repeat([]byte{7}, 300<<10)}
	update(t, store, func(tx *sqlite.Tx) error {
		for i, body := range [][]byte{[]byte(`{}`), large, []byte(`[]`)} {
			if err := tx.Documents.Insert(numbered(i+1, body)); err != nil {
				return err
			}
		}
		for i, sort := range entries[1:] {
			if err := tx.Aggregates.AddEntry("r", strconv.Itoa(i), sort, 1); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, store, func(tx *sqlite.Tx) error {
		for i, body := range [][]byte{[]byte(`{}`), large, []byte(`[]`)} {
			row, err := tx.Documents.ByNumber(int64(i + 1))
			if err != nil || row == nil || !bytes.Equal(row.Body, body) || row.Omitted != nil {
				return fmt.Errorf("document %d came back otherwise: %w", i+1, err)
			}
		}
		for i, want := range entries[1:] {
			if sort, err := tx.Aggregates.FirstEntry("r", strconv.Itoa(i)); err != nil || !bytes.Equal(sort, want) {
				return fmt.Errorf("entry %d came back as %d bytes, want %d; %w", i, len(sort), len(want), err)
			}
		}
		return nil
	})
}

// TestDeferredStatementThatFails: the transaction fails and leaves nothing, wherever among the others the statement is, and
// the next one is as any other.
func TestDeferredStatementThatFails(t *testing.T) {
	store := openStore(t, t.TempDir())
	taken := fanfold.Key{Collection: "c", ID: "taken"}
	if err := insert(store, manyRows+1, taken, `{}`); err != nil {
		t.Fatal(err)
	}
	again := numbered(manyRows+2, []byte(`{}`))
	again.Key = taken
	for name, fill := range map[string]func(tx *sqlite.Tx) error{
		"first": func(tx *sqlite.Tx) error { return errors.Join(tx.Documents.Insert(again), insertMany(tx, 1)) },
		"last":  func(tx *sqlite.Tx) error { return errors.Join(insertMany(tx, 1), tx.Documents.Insert(again)) },
		"read": func(tx *sqlite.Tx) error {
			if err := tx.Documents.Insert(again); err != nil {
				return err
			}
			_, err := tx.Documents.Numbers("c", 0, -1)
			_, after := tx.Documents.Numbers("c", 0, -1)
			if err == nil || after == nil {
				t.Errorf("behind a statement that failed reads give %v, %v", err, after)
			}
			return nil
		},
	} {
		err := store.Use(func(db *sqlite.DB) error { return db.Update(fill) })
		if err == nil || !strings.Contains(err.Error(), "UNIQUE") {
			t.Errorf("%s: the transaction ends with %v", name, err)
		}
	}
	update(t, store, func(tx *sqlite.Tx) error {
		if row, err := tx.Documents.ByNumber(1); err != nil || row != nil {
			t.Errorf("there is %v, %v", row, err)
		}
		return insertMany(tx, 1)
	})
	update(t, store, func(tx *sqlite.Tx) error { return requireMany(tx, 1) })
}

// TestInterruptReachesDeferredStatements: what a transaction has deferred is not run any more once the node stops.
func TestInterruptReachesDeferredStatements(t *testing.T) {
	store := openStore(t, t.TempDir())
	for _, rows := range []int{1, manyRows} {
		err := store.Use(func(db *sqlite.DB) error {
			return db.Update(func(tx *sqlite.Tx) error {
				for i := range rows {
					if err := tx.Documents.Insert(numbered(i+1, []byte(`{}`))); err != nil {
						return err
					}
				}
				store.Interrupt()
				return nil
			})
		})
		if fanfold.CodeOf(err) != fanfold.Unavailable {
			t.Errorf("a transaction of %d rows ends with %v", rows, err)
		}
	}
}

// TestTransactionThatPanics: a transaction that panics while statements are being run leaves nothing.
func TestTransactionThatPanics(t *testing.T) {
	store := openStore(t, t.TempDir())
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		update(t, store, func(tx *sqlite.Tx) error {
			if err := insertMany(tx, 1); err != nil {
				return err
			}
			panic("on purpose")
		})
	}()
	update(t, store, func(tx *sqlite.Tx) error { return insertMany(tx, 1) })
	update(t, store, func(tx *sqlite.Tx) error { return requireMany(tx, 1) })
}

// TestFindMissing: what is known not to be there is found once it is.
func TestFindMissing(t *testing.T) {
	store := openStore(t, t.TempDir())
	var keys []fanfold.Key
	for i := range 100 {
		keys = append(keys, numbered(i+1, nil).Key, fanfold.Key{Collection: "d", ID: strconv.Itoa(i + 1)})
	}
	require := func(tx *sqlite.Tx, key fanfold.Key, there bool) {
		t.Helper()
		if row, err := tx.Documents.Get(key); err != nil || (row != nil) != there {
			t.Errorf("%s is %v, %v", key, row, err)
		}
	}
	update(t, store, func(tx *sqlite.Tx) error { return tx.Documents.Insert(numbered(7, []byte(`{}`))) })
	update(t, store, func(tx *sqlite.Tx) error {
		if err := tx.Documents.FindMissing(slices.Concat(keys, keys)); err != nil {
			return err
		}
		require(tx, keys[0], false)
		require(tx, numbered(7, nil).Key, true)
		require(tx, fanfold.Key{Collection: "d", ID: "7"}, false)
		if err := tx.Documents.Insert(numbered(1, []byte(`{}`))); err != nil {
			return err
		}
		require(tx, numbered(1, nil).Key, true)
		return nil
	})
	update(t, store, func(tx *sqlite.Tx) error {
		require(tx, numbered(1, nil).Key, true)
		return nil
	})
}
