package sqlite

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// TestErasureOfFile: which erasure a file knows is kept before and after the first event, in copies, and over a start.
func TestErasureOfFile(t *testing.T) {
	dir := t.TempDir()
	store, err := OpenStore(dir, Options{Fingerprint: "f"})
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, cp Checkpoint, seq uint64, asOf fanfold.AsOf) {
		t.Helper()
		if cp.Seq != seq || cp.AsOf != asOf || seq == 0 && !cp.Time.IsZero() {
			t.Errorf("%s: the checkpoint is %+v", what, cp)
		}
	}
	db, err := store.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := db.SetAsOf(7); err != nil {
		t.Fatal(err)
	}
	if err := store.Swap(db); err != nil {
		t.Fatal(err)
	}
	cp, err := store.Checkpoint()
	if want("before the first event", cp, 0, 7); err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *Tx) error { tx.SetCheckpoint(1, time.Unix(1, 0), "f"); return nil }); err != nil {
		t.Fatal(err)
	}
	frozen, err := store.Freeze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want("frozen", frozen.Checkpoint, 1, 7)
	saved, err := os.ReadFile(frozen.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, erasure := range []fanfold.AsOf{6, 7} {
		err := store.Restore(Checkpoint{Seq: 1, Fold: "f", AsOf: erasure}, fillWith(saved))
		if (err == nil) != (erasure == 7) {
			t.Errorf("restoring a copy as of %d: %v", erasure, err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if store, err = OpenStore(dir, Options{Fingerprint: "f"}); err != nil {
		t.Fatal(err)
	}
	if cp, err = store.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	want("after a start", cp, 1, 7)
	requireEmptied(t, store, dir)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// requireEmptied empties a store, and checks that nothing of it is left.
func requireEmptied(t *testing.T, store *Store, dir string) {
	t.Helper()
	store.Applied.Set(1)
	if err := os.WriteFile(filepath.Join(dir, comparedFile), []byte("erased"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Empty(); err != nil {
		t.Fatal(err)
	}
	cp, err := store.Checkpoint()
	if err != nil || cp != (Checkpoint{}) || store.Applied.Seq() != 0 {
		t.Errorf("the checkpoint is %+v, %v, and %d is folded", cp, err, store.Applied.Seq())
	}
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if n := fmt.Sprintf("%06d", store.number); !strings.Contains(f.Name(), n) {
			t.Errorf("%s is left beside generation %s", f.Name(), n)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDifferentDocuments: those with another view, and those that one has alone, are named.
func TestDifferentDocuments(t *testing.T) {
	store := openInternal(t)
	if err := store.current.Update(func(tx *Tx) error {
		tx.SetCheckpoint(5, time.Unix(1, 0), "")
		for n := range int64(5) {
			body := fmt.Appendf(nil, `{"n":%d}`, n)
			if err := tx.Documents.Insert(&Row{Number: n + 1, Key: fanfold.Key{Collection: "a", ID: fmt.Sprint(n + 1)}, Revision: 1, Created: time.Unix(1, 0), Updated: time.Unix(1, 0), Body: body, Referenced: NewReferencedView(body, body, true)}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	frozen, err := store.Freeze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string]string{
		"UPDATE document SET position = 9, revision = 9":             "",
		"UPDATE document SET body = '{}' WHERE number IN (2, 4)":     "a/2 a/4",
		"UPDATE document SET source = '{ }' WHERE number = 3":        "a/3",
		"UPDATE document SET omitted = '{\"r\":1}' WHERE number = 3": "a/3",
		"DELETE FROM document WHERE number = 1":                      "a/1",
		"INSERT INTO document SELECT 9, 'b', id, 1, 1, 1, 1, body, source, omitted, created_by, updated_by FROM document WHERE number = 1": "b/1",
	} {
		db, err := store.Copy(t.Context(), func(int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(tx *Tx) error { return tx.c.Exec(statement) }); err != nil {
			t.Fatal(err)
		}
		var got []string
		err = frozen.DifferentDocuments(t.Context(), db, func(key fanfold.Key) error { got = append(got, key.String()); return nil })
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", statement, got, err, want)
		}
		if err := store.Discard(db); err != nil {
			t.Fatal(err)
		}
	}
	if err := frozen.Remove(); err != nil {
		t.Error(err)
	}
}

// TestAmendRefuses: only the state of a base is amended, before anything is folded on it.
func TestAmendRefuses(t *testing.T) {
	store := openInternal(t)
	never := func(*Tx) error { t.Error("the state is amended"); return nil }
	if _, err := buildFor(t, store).Amend(Amendment{}, never); fanfold.CodeOf(err) != fanfold.Internal {
		t.Errorf("an empty generation: %v", err)
	}
	db := buildFor(t, store)
	if _, err := db.LoadBase(t.Context(), strings.NewReader(string(goldenBase(t, store))), goldenHorizon); err != nil {
		t.Fatal(err)
	}
	h, err := db.Amend(Amendment{AsOf: 9, Digest: fanfold.Digest{1}}, func(*Tx) error { return nil })
	if err != nil || h.Event != goldenHorizon.Event || h.Digest != (fanfold.Digest{}).Followed(fanfold.Digest{1}) {
		t.Errorf("the horizon is %+v, %v", h, err)
	}
	free := int64(-1)
	if _, err := db.file.Writer.QueryRow("SELECT count(*) FROM claim WHERE holder IS NULL", func(r driver.Row) { free = r.Int(0) }); err != nil || free != 0 {
		t.Errorf("%d values are left that nobody claims, %v", free, err)
	}
	if err := db.Update(func(tx *Tx) error { tx.SetCheckpoint(8, time.Unix(9, 0), ""); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Amend(Amendment{}, never); fanfold.CodeOf(err) != fanfold.Internal {
		t.Errorf("where something is folded: %v", err)
	}
}

// fillWith returns what fills a file with bytes.
func fillWith(b []byte) func(w io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}
