package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// TestPastPagesAreBounded: a page of the past that would look at too many rows ends early, and the next one goes on.
func TestPastPagesAreBounded(t *testing.T) {
	store := openInternal(t)
	key := func(n int64) fanfold.Key { return fanfold.Key{Collection: "a", ID: fmt.Sprintf("%07d", n)} }
	const documents = maxPastRows + 10
	if err := store.current.Update(func(tx *Tx) error {
		// all but the last are created and deleted after the position that is asked about
		if err := tx.c.Exec("WITH RECURSIVE series (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM series WHERE value < ?) INSERT INTO past_document (collection, id, number, deleted) SELECT 'a', printf('%07d', value), value + 10, (value + 20) << 20 FROM series", int64(documents)); err != nil {
			return err
		}
		body := []byte(`{}`)
		tx.SetCheckpoint(1, time.Unix(0, 0), "")
		return errors.Join(
			tx.AddChange(&fanfold.Change{Position: fanfold.At(1, 0), Key: key(documents + 1), Number: 1, Op: fanfold.OpCreate, Revision: 1, Time: time.Unix(0, 0)}),
			tx.Documents.Insert(&Row{Number: 1, Key: key(documents + 1), Revision: 1, Position: fanfold.At(1, 0), Body: body, Referenced: NewReferencedView(body, nil, false)}))
	}); err != nil {
		t.Fatal(err)
	}
	var found []string
	pages, last, more := 0, "", true
	for ; more; pages++ {
		if err := store.Read(func(s *Snapshot) (err error) {
			last, more, err = s.EachListedAt(fanfold.At(1, 0), "a", last, 10, fanfold.Embedded, func(doc *fanfold.Document) (bool, error) {
				found = append(found, doc.Key.ID)
				return true, nil
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if pages < 2 || len(found) != 1 || found[0] != key(documents+1).ID {
		t.Fatalf("%d pages have %v, want the last document on another than the first", pages, found)
	}
}

// TestPastPagesHaveWholeIDs: a page of the past does not end between two documents that had one id, as the next one begins after it.
func TestPastPagesHaveWholeIDs(t *testing.T) {
	store := openInternal(t)
	const lifetimes = maxPastRows + 10
	last := int64(2*lifetimes + 10)
	key, at, body := fanfold.Key{Collection: "a", ID: "again"}, fanfold.At(uint64(last), 0), []byte(`{}`)
	if err := store.current.Update(func(tx *Tx) error {
		// the document was created and deleted many times before; another id comes first
		if err := tx.c.Exec("WITH RECURSIVE series (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM series WHERE value < ?) INSERT INTO past_document (collection, id, number, deleted) SELECT 'a', CASE value WHEN 1 THEN 'a' ELSE 'again' END, 2 * value, (2 * value + 1) << 20 FROM series", int64(lifetimes)); err != nil {
			return err
		}
		tx.SetCheckpoint(uint64(last), time.Unix(0, 0), "")
		return errors.Join(tx.AddChange(&fanfold.Change{Position: at, Key: key, Number: last, Op: fanfold.OpCreate, Revision: fanfold.Revision(last), Time: time.Unix(0, 0)}),
			tx.Documents.Insert(&Row{Number: last, Key: key, Revision: fanfold.Revision(last), Position: at, Body: body, Referenced: NewReferencedView(body, nil, false)}))
	}); err != nil {
		t.Fatal(err)
	}
	found, after, more := 0, "", true
	for more {
		if err := store.Read(func(s *Snapshot) (err error) {
			after, more, err = s.EachListedAt(at, "a", after, 10, fanfold.Embedded, func(*fanfold.Document) (bool, error) {
				found++
				return true, nil
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if found != 1 {
		t.Errorf("the pages have %d documents, want the one that is there", found)
	}
}

// TestPastOfDamage: what a damaged read model lacks is an error, not a document that was not there.
func TestPastOfDamage(t *testing.T) {
	store, _ := historyStore(t, `{"own":0}`, `{"own":0}`, 40, func(n int, d map[string]string) { d["n"] = fmt.Sprint(n) })
	key := fanfold.Key{Collection: "a", ID: "1"}
	read := func(at fanfold.Position) (err error) {
		return store.Read(func(s *Snapshot) error {
			_, _, err := s.GetAt(at, key, fanfold.Embedded, 1<<20)
			return err
		})
	}
	if err := read(fanfold.At(20, fanfold.MaxChanges)); err != nil {
		t.Fatal(err)
	}
	if err := store.current.Update(func(tx *Tx) error {
		return tx.c.Exec("DELETE FROM change WHERE number = 1 AND position > ? AND position < ?", int64(fanfold.At(20, 0)), int64(fanfold.At(41, 0)))
	}); err != nil {
		t.Fatal(err)
	}
	if err := read(fanfold.At(15, fanfold.MaxChanges)); fanfold.CodeOf(err) != fanfold.Internal {
		t.Fatalf("the error is %v, want that of a damaged read model", err)
	}
}

// TestResolveTimes: a time stands for the last event whose time is not later, of those that changed something or applied a model.
func TestResolveTimes(t *testing.T) {
	store := openInternal(t)
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	if err := store.current.Update(func(tx *Tx) error {
		for n, seconds := range []int64{10, 20, 20, 30} {
			seq := uint64(2*n + 1)
			if err := tx.AddChange(&fanfold.Change{Position: fanfold.At(seq, 0), Key: fanfold.Key{Collection: "a", ID: fmt.Sprint(n)}, Number: int64(seq), Op: fanfold.OpCreate, Revision: fanfold.Revision(seq), Time: at(seconds)}); err != nil {
				return err
			}
		}
		tx.SetCheckpoint(9, at(35), "")
		return tx.c.Exec("INSERT INTO model (seq, source, fold, reserved, retired, time) VALUES (6, '{}', 1, '{}', '[]', ?)", at(25).UnixNano())
	}); err != nil {
		t.Fatal(err)
	}
	for seconds, want := range map[int64]uint64{9: 0, 10: 1, 19: 1, 20: 5, 24: 5, 25: 6, 29: 6, 30: 7, 34: 7, 35: 9, 99: 9} {
		var got fanfold.Position
		if err := store.Read(func(s *Snapshot) (err error) {
			got, err = s.Resolve(fanfold.Moment{Time: at(seconds)})
			return err
		}); err != nil || got.Seq() != want {
			t.Errorf("%d seconds are %s, %v, want event %d", seconds, got, err, want)
		}
	}
	long := time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC) // nanoseconds since 1970 do not reach back to it
	if err := store.Read(func(s *Snapshot) error {
		got, err := s.Resolve(fanfold.Moment{Time: long})
		if got != 0 {
			t.Errorf("%s is %s, want the empty store", long, got)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestPastChildrenAreBounded: a page of documents that referred to one ends early where it would look at too many links, and the next one goes on.
// Links that ended before the position are passed over where few ended since.
func TestPastChildrenAreBounded(t *testing.T) {
	store := openInternal(t)
	const links = maxPastRows + 10
	key := fanfold.Key{Collection: "a", ID: "last"}
	if err := store.current.Update(func(tx *Tx) error {
		if err := tx.pending.giveNumber("a.r"); err != nil {
			return err
		}
		for target, until := range map[string]int64{"since": 9_000_000, "before": 3} {
			if err := tx.c.Exec("WITH RECURSIVE series (value) AS (SELECT 10 UNION ALL SELECT value + 1 FROM series WHERE value < ?1 + 9) INSERT INTO past_link (relation, target, until, holder, since) SELECT (SELECT id FROM name WHERE text = 'a.r'), ?2, ?3, value, CASE WHEN ?3 > 3 THEN 8000000 ELSE 1 END FROM series",
				int64(links), target, until); err != nil {
				return err
			}
		}
		number, body := int64(links+20), []byte(`{}`)
		tx.Links.SetEvent(uint64(number))
		tx.SetCheckpoint(7_000_000, time.Unix(0, 0), "")
		return errors.Join(tx.Links.Add("a.r", "since", number, false), tx.Links.Add("a.r", "before", number, false),
			tx.AddChange(&fanfold.Change{Position: fanfold.At(uint64(number), 0), Key: key, Number: number, Op: fanfold.OpCreate, Revision: fanfold.Revision(number), Time: time.Unix(0, 0)}),
			tx.Documents.Insert(&Row{Number: number, Key: key, Revision: fanfold.Revision(number), Position: fanfold.At(uint64(number), 0), Body: body, Referenced: NewReferencedView(body, nil, false)}))
	}); err != nil {
		t.Fatal(err)
	}
	for target, fewest := range map[string]int{"since": 2, "before": 1} {
		found, pages, last, more := 0, 0, int64(0), true
		for ; more; pages++ {
			if err := store.Read(func(s *Snapshot) (err error) {
				last, more, err = s.EachReferringAt(fanfold.At(7_000_000, 0), "a.r", target, last, 10, fanfold.Embedded, func(*fanfold.Document) (bool, error) {
					found++
					return true, nil
				})
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if found != 1 || pages < fewest || fewest == 1 && pages > 1 {
			t.Errorf("%d pages of %s have %d documents, want one on at least %d", pages, target, found, fewest)
		}
	}
}

// TestPastExportIsBounded: a page of an export of the past ends after many rows, and after many bytes.
func TestPastExportIsBounded(t *testing.T) {
	store := openInternal(t)
	const documents, bytes = maxPastRows + 10, 300 << 10
	if err := store.current.Update(func(tx *Tx) error {
		if err := tx.c.Exec("WITH RECURSIVE series (value) AS (SELECT 10 UNION ALL SELECT value + 1 FROM series WHERE value < ? + 9) INSERT INTO past_document (collection, id, number, deleted) SELECT 'a', printf('%07d', value), value, (value + 1) << 20 FROM series", int64(documents)); err != nil {
			return err
		}
		body := []byte(`{"x":"` + strings.Repeat("x", bytes) + `"}`)
		for number := int64(documents + 20); number < documents+26; number++ {
			at, key := fanfold.At(uint64(number), 0), fanfold.Key{Collection: "a", ID: fmt.Sprint(number)}
			if err := errors.Join(tx.AddChange(&fanfold.Change{Position: at, Key: key, Number: number, Op: fanfold.OpCreate, Revision: fanfold.Revision(number), Time: time.Unix(0, 0)}),
				tx.Documents.Insert(&Row{Number: number, Key: key, Revision: fanfold.Revision(number), Position: at, Body: body, Referenced: NewReferencedView(body, body, true)})); err != nil {
				return err
			}
		}
		tx.SetCheckpoint(7_000_000, time.Unix(0, 0), "")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var pages []int
	last, more := int64(0), true
	for more {
		if err := store.Read(func(s *Snapshot) (err error) {
			var docs []*fanfold.Document
			docs, last, more, err = s.CreatedAt(fanfold.At(7_000_000, 0), last, 512)
			pages = append(pages, len(docs))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for _, n := range pages {
		if total += n; n*bytes > exportBytes+bytes {
			t.Errorf("a page has %d documents of %d bytes", n, bytes)
		}
	}
	if total != 6 || pages[0] != 0 || len(pages) < 3 {
		t.Errorf("the pages have %v documents, want 6 on at least three, and none on the first", pages)
	}
}

// TestStateIsBounded: a state that has read for as long as it may reads nothing more.
func TestStateIsBounded(t *testing.T) {
	store := openInternal(t)
	key := fanfold.Key{Collection: "a", ID: "x"}
	if err := store.Read(func(s *Snapshot) error {
		st := NewState(s, fanfold.At(1, 0))
		if row, err := st.Row(key); row != nil || err != nil {
			t.Errorf("a document that was not there: %v, %v", row, err)
		}
		st.bound.most = -1
		if _, err := st.Row(key); fanfold.CodeOf(err) != fanfold.TakesLong {
			t.Errorf("%v, want takes-long", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
