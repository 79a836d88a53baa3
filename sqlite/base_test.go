package sqlite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/basefile"
	"github.com/fanfold/fanfold/sqlite/driver"
)

var update = flag.Bool("update", false, "write the golden file of the base that this version writes")

// goldenRows are rows of every table of a base, with every kind of value.
var goldenRows = []string{
	"INSERT INTO model (seq, source, fold, reserved, retired, time) VALUES (1, '{}', 1, '{}', '[]', 1), (2, '{\"collections\":{}}', 1, '{\"a\":[\"x\"]}', '[]', 20)",
	"INSERT INTO proposal (id, seq, source, fold, actor) VALUES (1, 3, NULL, 0, 'key:k')",
	"INSERT INTO declared_index (id, collection, name, components, entries) VALUES (1, 'a', 'byX', '[\"x\"]', 1)",
	"INSERT INTO document (number, collection, id, revision, position, created, updated, body, source, omitted, created_by, updated_by) VALUES" +
		" (4, 'a', '1', 6, 6 << 20 | 1, 40, 60, '{\"id\":\"1\",\"n\":1}', x'00030b06', NULL, 'key:a', NULL), (5, 'a', 'ö', 5, 5 << 20, 50, 50, '{}', '{ }', '{\"a.n\":1}', 'key:b', 'key:k')",
	"INSERT INTO tombstone (collection, id, revision, position) VALUES ('a', 'gone', 3, 3 << 20), ('a', 'never', 2, 0)",
	"INSERT INTO collection (name, documents) VALUES ('a', 2), ('b', 0)",
	"INSERT INTO link (relation, target, holder, ordinal, since) VALUES (1, 't', 4, 1, NULL), (1, 't', 5, NULL, 6)",
	"INSERT INTO paged (relation, target, count) VALUES (1, 't', 3)",
	"INSERT INTO relinked (relation, seq) VALUES ('a.r', 2)",
	"INSERT INTO entry (rule, target, sort, holder) VALUES (2, 't', x'00ff', 4), (2, 't', x'', 5)",
	"INSERT INTO total (rule, target, count, sum) VALUES (3, 't', 2, '0.30')",
	"INSERT INTO claim (collection, path, value, holder, seq) VALUES ('a', 'u', '1', NULL, 0), ('a', 'u', '2', '1', 6)",
	"INSERT INTO kept (rule, target, holder, value) VALUES (4, 't', 4, '\"Ann\"')",
	"INSERT INTO omission (rule, documents, fields) VALUES ('a.n', 1, 1)",
	"INSERT INTO once (key, digest, seq, time) VALUES ('k', 'd', 6, 60)",
	"INSERT INTO index_entry (idx, key, tie) VALUES (1, x'01', 4)",
	"INSERT INTO import_progress (id, seq, body) VALUES (x'6aff', 4, x'7b7d'), (x'6b', 7, x'7b207d')",
	"INSERT INTO erasure (seq, of, documents, events, time, actor, position) VALUES (5, 5, 2, 3, 50, 'key:k', 6 << 20), (6, 5, 1, 0, 60, NULL, NULL)",
	"INSERT INTO erased_document (erasure, collection, id, members, position) VALUES (5, 'a', '1', '[\"/n\"]', NULL), (5, 'a', 'gone', NULL, 6 << 20), (6, 'a', 'gone', NULL, NULL)",
	"INSERT INTO sequence (collection, path, key, last, seq, per) VALUES ('a', 'n', 'k', 1000, 7, NULL), ('a', 'n', 'l', 1, 7, 'x')",
	"INSERT INTO name (id, text) VALUES (1, 'a.r'), (2, 'a.min'), (3, 'a.sum'), (4, 'a.name')",
	"INSERT INTO change (position, ordinal, number, collection, id, op, time) VALUES (4 << 20, 1, NULL, 'a', '1', 1, 40)", // is not in a base
	"INSERT INTO past_document (collection, id, number, deleted) VALUES ('a', 'gone', 2, 3 << 20)",                        // neither
}

// goldenHorizon is the horizon of goldenRows.
var goldenHorizon = fanfold.Horizon{Seq: 7, Event: fanfold.Digest{1}, Digest: fanfold.Digest{2}, Position: fanfold.At(6, 1), Changes: 9, Time: time.Unix(0, 70).UTC()}

// goldenBase returns the base of a generation with goldenRows.
func goldenBase(t *testing.T, store *Store) []byte {
	t.Helper()
	db := buildFor(t, store)
	if err := db.Update(func(tx *Tx) error {
		h := goldenHorizon
		tx.checkpoint = Checkpoint{Seq: h.Seq, Position: h.Position, Time: h.Time, Changes: h.Changes, Fold: "another program", Event: h.Event, Digest: h.Digest, AsOf: 5}
		for _, q := range goldenRows {
			if err := tx.c.Exec(q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	h, err := db.WriteBase(t.Context(), &out)
	if err != nil || h != goldenHorizon {
		t.Fatalf("the base is of %+v, %v", h, err)
	}
	return out.Bytes()
}

// buildFor returns an empty generation that is discarded when the test ends.
func buildFor(t *testing.T, store *Store) *DB {
	t.Helper()
	db, err := store.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Discard(db); err != nil {
			t.Error(err)
		}
	})
	return db
}

// baseText returns the rows of a base as text.
func baseText(t *testing.T, file []byte) string {
	t.Helper()
	r, err := basefile.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := fmt.Sprintf("%+v\n", r.Header.Horizon)
	for {
		table, values, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%s %#v\n", r.Header.Tables[table].Name, values)
	}
}

// TestBasesOfAllVersions: the base of each version that there was is read, and has the rows that this version writes.
func TestBasesOfAllVersions(t *testing.T) {
	store := openInternal(t)
	written := goldenBase(t, store)
	if *update {
		if err := os.WriteFile(fmt.Sprintf("testdata/base-v%d.zst", basefile.Version), written, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := filepath.Glob("testdata/base-v*.zst")
	if err != nil || len(paths) != basefile.Version {
		t.Fatalf("%d golden files for %d versions, %v", len(paths), basefile.Version, err)
	}
	for i, path := range paths {
		want, erasure := baseText(t, written), fanfold.AsOf(5)
		if i == 0 { // there were no erasures
			want, erasure = regexp.MustCompile("(?m)^eras.*\n").ReplaceAllString(want, ""), 0
		}
		if i < 2 { // nor sequences
			want = regexp.MustCompile("(?m)^sequence .*\n").ReplaceAllString(want, "")
		}
		if i < 3 { // nor was known who wrote documents
			want = regexp.MustCompile(`(?m)^(document .*, )("key:.*"|interface \{\}\(nil\)), ("key:.*"|interface \{\}\(nil\))}$`).ReplaceAllString(want, "${1}interface {}(nil), interface {}(nil)}")
		}
		if i < 4 { // nor did rows say how documents are spaced
			want = strings.Replace(want, "[]uint8{0x0, 0x3, 0xb, 0x6}", "[]uint8{0xa, 0x6}", 1)
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		db := buildFor(t, store)
		if h, err := db.LoadBase(t.Context(), bytes.NewReader(file), fanfold.Horizon{Seq: 7, Digest: goldenHorizon.Digest}); err != nil || h != goldenHorizon {
			t.Fatalf("%s: %+v, %v", path, h, err)
		}
		requireGoldenHorizon(t, db, erasure)
		var again bytes.Buffer
		if _, err := db.WriteBase(t.Context(), &again); err != nil {
			t.Fatal(err)
		}
		if got := baseText(t, again.Bytes()); got != want {
			t.Errorf("%s has\n%s\nwant\n%s", path, got, want)
		}
	}
}

// requireGoldenHorizon checks what follows from goldenRows besides their own tables.
func requireGoldenHorizon(t *testing.T, db *DB, asOf fanfold.AsOf) {
	t.Helper()
	if err := db.ReadUnshared(func(s *Snapshot) error {
		h, base, err := s.Horizon()
		if h != goldenHorizon || base != 7 {
			t.Errorf("the horizon is %+v, base %d", h, base)
		}
		if cp := s.Checkpoint; cp.Seq != 7 || cp.Position != fanfold.At(6, 1) || cp.Changes != 9 || cp.Time.UnixNano() != 70 || cp.Fold != "" || cp.Event != goldenHorizon.Event || cp.Digest != goldenHorizon.Digest || cp.AsOf != asOf {
			t.Errorf("the checkpoint is %+v", cp)
		}
		counts := ""
		for _, table := range []string{"horizon_version", "horizon_paged", "change", "past_document", "form", "log_digest", "model"} {
			if _, err := s.c.QueryRow("SELECT count(*) FROM "+table, func(r driver.Row) { counts += fmt.Sprint(table, " ", r.Int(0), " ") }); err != nil {
				return err
			}
		}
		if want := "horizon_version 2 horizon_paged 1 change 0 past_document 0 form 0 log_digest 0 model 1 "; counts != want {
			t.Errorf("the rows are %s, want %s", counts, want)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestBasesThatAreRefused: a base of another horizon, with other tables, or with a row that cannot be, is Invalid; and one is loaded into an
// empty read model alone.
func TestBasesThatAreRefused(t *testing.T) {
	store := openInternal(t)
	file := goldenBase(t, store)
	load := func(file []byte, want fanfold.Horizon) error {
		_, err := buildFor(t, store).LoadBase(t.Context(), bytes.NewReader(file), want)
		return err
	}
	other := goldenHorizon
	other.Digest[1] = 1
	tables := func(change func(name string, columns []string) (string, []string), row ...any) []byte {
		var out bytes.Buffer
		var list []basefile.Table
		for _, table := range baseTables {
			name, columns := change(table.Name, table.Columns)
			list = append(list, basefile.Table{Name: name, Columns: columns})
		}
		w, err := basefile.NewWriter(&out, goldenHorizon, 0, list)
		for i := range list {
			if err == nil && i == 1 && len(row) > 0 {
				err = errors.Join(w.Row(row), w.Row(row))
			}
			err = errors.Join(err, w.EndTable())
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	same := func(name string, columns []string) (string, []string) { return name, columns }
	for what, err := range map[string]error{
		"another event":    load(file, fanfold.Horizon{Seq: 6, Digest: goldenHorizon.Digest}),
		"another digest":   load(file, other),
		"a file that ends": load(file[:len(file)/2], goldenHorizon),
		"another table": load(tables(func(name string, columns []string) (string, []string) {
			return strings.Replace(name, "kept", "change", 1), columns
		}), goldenHorizon),
		"another column": load(tables(func(name string, columns []string) (string, []string) {
			return name, strings.Split(strings.Replace(strings.Join(columns, " "), "holder", "number", 1), " ")
		}), goldenHorizon),
		"a row twice":          load(tables(same, int64(1), int64(3), nil, int64(0), nil), goldenHorizon),
		"a value of no use":    load(tables(same, int64(1), "text", nil, int64(0), nil), goldenHorizon),
		"a value that must be": load(tables(same, int64(1), nil, nil, int64(0), nil), goldenHorizon),
	} {
		if fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	db := buildFor(t, store)
	if _, err := db.LoadBase(t.Context(), bytes.NewReader(file), goldenHorizon); err != nil {
		t.Fatal(err)
	}
	if _, err := db.LoadBase(t.Context(), bytes.NewReader(file), goldenHorizon); fanfold.CodeOf(err) != fanfold.Internal {
		t.Errorf("into one that is not empty: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := buildFor(t, store).LoadBase(ended, bytes.NewReader(file), goldenHorizon); !errors.Is(err, context.Canceled) {
		t.Errorf("loading ends with %v", err)
	}
	if _, err := db.WriteBase(ended, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("writing ends with %v", err)
	}
	broken := errors.New("the disk is full")
	if _, err := db.WriteBase(t.Context(), failingWriter{broken}); !errors.Is(err, broken) {
		t.Errorf("writing into what fails: %v", err)
	}
}

// failingWriter fails.
type failingWriter struct{ err error }

// Write fails.
func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

// TestHorizonMoves: the horizon moves on, and never back, and a file keeps the base on which it was built.
func TestHorizonMoves(t *testing.T) {
	store := openInternal(t)
	first, second := goldenHorizon, goldenHorizon
	first.Seq, second.Seq, second.Position, second.Changes = 5, 9, fanfold.At(8, 2), 12
	set := func(h fanfold.Horizon) {
		t.Helper()
		if err := store.current.Update(func(tx *Tx) error { return tx.SetHorizon(h) }); err != nil {
			t.Fatal(err)
		}
	}
	want := func(h fanfold.Horizon) {
		t.Helper()
		if err := store.Read(func(s *Snapshot) error {
			got, base, err := s.Horizon()
			oldest, err2 := s.Oldest()
			if got != h || base != 0 || oldest != h.At() {
				t.Errorf("the horizon is %+v, base %d, oldest %s; want %+v", got, base, oldest, h)
			}
			return errors.Join(err, err2)
		}); err != nil {
			t.Fatal(err)
		}
	}
	want(fanfold.Horizon{})
	for _, h := range []fanfold.Horizon{first, second} {
		set(h)
		want(h)
	}
	set(first)
	want(second)
}

// TestBeforeTheHorizon: what is before the horizon is told to be gone, on a file that has the old rows, too.
func TestBeforeTheHorizon(t *testing.T) {
	store, _ := historyStore(t, `{"own":0}`, `{"own":0}`, 40, func(n int, d map[string]string) { d["n"] = fmt.Sprint(n) })
	key := fanfold.Key{Collection: "a", ID: "1"}
	h := fanfold.Horizon{Seq: 20, Position: fanfold.At(20, 1), Changes: 39, Time: time.Unix(100, 0).UTC(), Digest: fanfold.Digest{3}}
	if err := store.current.Update(func(tx *Tx) error {
		tx.SetCheckpoint(41, time.Unix(200, 0), "")
		return tx.SetHorizon(h)
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.Read(func(s *Snapshot) error {
		for _, after := range []fanfold.Position{0, fanfold.At(20, 0)} {
			var gone *fanfold.Error
			if _, err := s.Changes(fanfold.ChangeQuery{After: after, Limit: 10}); !errors.As(err, &gone) || gone.Code != fanfold.PositionGone || gone.Oldest == nil || gone.Oldest.Position != h.At() {
				t.Errorf("changes after %s: %v", after, err)
			}
			if err := s.EachChange(fanfold.ChangeQuery{After: after}, func(*fanfold.Change) bool { return true }); fanfold.CodeOf(err) != fanfold.PositionGone {
				t.Errorf("each change after %s: %v", after, err)
			}
		}
		if page, err := s.Changes(fanfold.ChangeQuery{After: h.At(), Limit: 1}); err != nil || len(page.Rows) != 1 || page.Rows[0].Position != fanfold.At(21, 0) {
			t.Errorf("changes after the horizon: %+v, %v", page, err)
		}
		for m, want := range map[fanfold.Moment]fanfold.Position{
			{Position: fanfold.At(7, 0)}: fanfold.At(7, 0), {Position: fanfold.At(20, 0)}: h.At(), {Position: fanfold.At(21, 0)}: fanfold.At(21, 1),
			{Time: time.Unix(100, -1)}: 0, {Time: time.Unix(3, 0)}: 0,
		} {
			if at, err := s.Resolve(m); err != nil || at != want {
				t.Errorf("%+v is resolved to %s, %v; want %s", m, at, err, want)
			}
		}
		for _, ascending := range []bool{true, false} {
			page, err := s.Versions(fanfold.VersionQuery{Key: key, To: fanfold.At(22, 1), Ascending: ascending, Limit: 10})
			if err != nil || !page.Known || page.More || len(page.Versions) != 2 {
				t.Errorf("the history has %+v, %v", page, err)
			}
		}
		if page, err := s.Versions(fanfold.VersionQuery{Key: key, To: h.At(), Limit: 10}); err != nil || !page.Known || len(page.Versions) != 0 {
			t.Errorf("the history before the horizon has %+v, %v", page, err)
		}
		if d, err := s.LastLogDigest(30); err != nil || d != (LogDigest{20, h.Digest}) {
			t.Errorf("the last digest is %+v, %v", d, err)
		}
		d, err := s.LastLogDigest(19)
		if d != (LogDigest{}) {
			t.Errorf("the digest before the horizon is %+v", d)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestCompareFindsDifferencesAfterAHorizon: a row that differs after the horizon is found in every table, and one up to it is not.
func TestCompareFindsDifferencesAfterAHorizon(t *testing.T) {
	store, _ := historyStore(t, `{"own":0}`, `{"own":0}`, 40, func(n int, d map[string]string) { d["n"] = fmt.Sprint(n) })
	h := fanfold.Horizon{Seq: 20, Position: fanfold.At(20, 1)}
	frozen, err := store.Freeze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := frozen.Remove(); err != nil {
			t.Error(err)
		}
	}()
	for statement, want := range map[string]string{
		"DELETE FROM change WHERE position <= 20 << 20 | 1":                                                                "",
		"INSERT INTO past_link VALUES (1, 't', 20, 1, NULL, 3)":                                                            "",
		"INSERT INTO past_link VALUES (1, 't', 21, 1, NULL, 3)":                                                            "past_link 1 t 21 1 missing",
		"INSERT INTO past_document VALUES ('c', 'i', 3, 20 << 20)":                                                         "",
		"INSERT INTO past_document VALUES ('c', 'i', 3, 21 << 20)":                                                         "past_document c i 3 missing",
		"INSERT INTO log_digest VALUES (20, x'00')":                                                                        "",
		"INSERT INTO log_digest VALUES (21, x'00')":                                                                        "log_digest 21 missing",
		"INSERT INTO horizon_version VALUES (1, 1, 1, 1, 1)":                                                               "",
		"UPDATE document SET body = '{}'":                                                                                  "document 1 changed",
		"UPDATE change SET prior = 1 WHERE position = 30 << 20 | 1":                                                        "change 31457281 changed",
		"UPDATE change SET delta = (SELECT delta FROM change WHERE position = 31 << 20 | 1) WHERE position = 30 << 20 | 1": "change 31457281 changed",
		"UPDATE change SET delta = x'0000' WHERE position = 30 << 20 | 1":                                                  "change 31457281 changed",
		"UPDATE form SET rules = 'other'":                                                                                  "change 22020097 changed",
		"DELETE FROM change WHERE position = 30 << 20 | 1":                                                                 "change 31457281 surplus",
	} {
		db, err := store.Copy(t.Context(), func(int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(tx *Tx) error { return tx.c.Exec(statement) }); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		d, err := frozen.Compare(t.Context(), db, &h, nil)
		got := ""
		if err == nil && d.First != nil {
			got = d.First.Table + " " + d.First.Key + " " + d.First.Kind
		}
		if err != nil || got != want {
			t.Errorf("%s: the first difference is %q, %v; want %q", statement, got, err, want)
		}
		if err := store.Discard(db); err != nil {
			t.Fatal(err)
		}
	}
}
