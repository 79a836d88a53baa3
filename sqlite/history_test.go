package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// derivedView returns the view of a document with its own members and derived ones.
func derivedView(own string, derived map[string]string) string {
	text := strings.TrimSuffix(own, "}")
	for _, name := range slices.Sorted(maps.Keys(derived)) {
		text += fmt.Sprintf(`,%q:%s`, name, derived[name])
	}
	return text + "}"
}

// patchBetween returns the patch that leads from derived members to others.
func patchBetween(from, to map[string]string) string {
	var ops []string
	for _, name := range []string{"list", "m", "n", "s"} { // all that there are
		switch old, value := from[name], to[name]; {
		case old == value:
		case old == "":
			ops = append(ops, fmt.Sprintf(`{"op":"add","path":"/%s","value":%s}`, name, value))
		case value == "":
			ops = append(ops, fmt.Sprintf(`{"op":"remove","path":"/%s","old":%s}`, name, old))
		default:
			ops = append(ops, fmt.Sprintf(`{"op":"replace","path":"/%s","value":%s,"old":%s}`, name, value, old))
		}
	}
	return "[" + strings.Join(ops, ",") + "]"
}

// historyStore returns a store with a document that has changed so often, and its views from the first on. They begin with its
// own members, which are all or some of the source's.
func historyStore(t *testing.T, source, own string, changes int, change func(n int, derived map[string]string)) (store *Store, views []string) {
	t.Helper()
	store = openInternal(t)
	key, derived := fanfold.Key{Collection: "a", ID: "1"}, map[string]string{"n": "0", "s": "0"}
	views = []string{derivedView(own, derived)}
	if err := store.current.Update(func(tx *Tx) error {
		last := fanfold.At(1, 0)
		if err := tx.AddChange(&fanfold.Change{Position: last, Key: key, Number: 1, Op: fanfold.OpCreate, Revision: 1, Time: time.Unix(0, 0)}); err != nil {
			return err
		}
		for n := 1; n <= changes; n++ {
			before := maps.Clone(derived)
			change(n, derived)
			at := fanfold.At(uint64(n+1), 0)
			if err := errors.Join(tx.AddChange(&fanfold.Change{Position: at, Key: fanfold.Key{Collection: "b", ID: fmt.Sprint(n)}, Op: fanfold.OpCreate, Revision: 1, Time: time.Unix(0, 0)}),
				tx.AddGathered(&fanfold.Change{Position: at + 1, Prior: last, Key: key, Number: 1, Op: fanfold.OpDerive, Revision: 1, Rules: []string{"a.n"},
					Delta: []byte(patchBetween(before, derived))})); err != nil {
				return err
			}
			views, last = append(views, derivedView(own, derived)), at+1
		}
		body := []byte(views[changes])
		tx.SetCheckpoint(uint64(changes+1), time.Unix(0, 0), "")
		return tx.Documents.Insert(&Row{Number: 1, Key: key, Revision: 1, Position: last, Created: time.Unix(0, 0), Updated: time.Unix(0, 0), Body: body, Referenced: NewReferencedView(body, []byte(source), source != own)})
	}); err != nil {
		t.Fatal(err)
	}
	return store, views
}

// undoneIn reads a document's history in pages of so many bytes, holds it to its views, and returns how many bytes were read
// to undo changes.
func undoneIn(t *testing.T, store *Store, views []string, maxBytes int) (undone int) {
	t.Helper()
	q := fanfold.ChangeQuery{Limit: 256, MaxBytes: maxBytes, Collections: []string{"a"}, Docs: true, Before: true}
	for row := 0; row < len(views); {
		if err := store.Read(func(s *Snapshot) error {
			page, err := s.Changes(q)
			if err != nil {
				return err
			}
			q.MaxBytes = max(maxBytes, page.Need)
			for _, got := range page.Rows {
				if string(got.Doc.Body) != views[row] {
					return fmt.Errorf("after change %d there is %s, want %s", row, got.Doc.Body, views[row])
				}
				if row > 0 && string(got.Before) != views[row-1] {
					return fmt.Errorf("before change %d there is %s, want %s", row, got.Before, views[row-1])
				}
				row++
			}
			q.After, undone = page.Last, undone+s.undone
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return undone
}

// TestHistoryIsLinear: to read each version of a document takes some times the bytes of these versions, however large the
// document is, however its changes come, and wherever the pages end.
func TestHistoryIsLinear(t *testing.T) {
	const changes = 150
	list := func(n int) string {
		var list []string
		for i := n; i > n-100; i-- {
			list = append(list, fmt.Sprintf(`{"id":"%d","title":"the title of document %d, which is long"}`, i, i))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	large := `{"own":[` + strings.Repeat("0,", 4_000) + `0]}`
	for name, c := range map[string]struct {
		own    string
		change func(n int, derived map[string]string)
	}{
		"a count and a sum": {large, func(n int, d map[string]string) { d["n"], d["s"] = fmt.Sprint(n), fmt.Sprint(7*n) }},
		"by turns":          {large, func(n int, d map[string]string) { d[[]string{"n", "s"}[n%2]] = fmt.Sprint(n) }},
		"comes and goes": {large, func(n int, d map[string]string) {
			if d["n"] = fmt.Sprint(n); n%2 == 0 {
				delete(d, "m")
			} else {
				d["m"] = fmt.Sprint(n)
			}
		}},
		"a list and a count by turns": {`{"own":0}`, func(n int, d map[string]string) {
			if d["n"] = fmt.Sprint(n); n%2 == 0 {
				d["list"] = list(n)
			}
		}},
		"large at the end": {`{"own":0}`, func(n int, d map[string]string) {
			if d["n"] = fmt.Sprint(n); n == changes {
				d["list"] = list(n)
			}
		}},
		"small": {`{"own":0}`, func(n int, d map[string]string) { d["n"] = fmt.Sprint(n) }},
	} {
		t.Run(name, func(t *testing.T) {
			store, views := historyStore(t, c.own, c.own, changes, c.change)
			longest, total := 0, 0
			for _, view := range views {
				longest, total = max(longest, len(view)), total+len(view)
			}
			for _, pages := range []int{1, 3, 10} {
				if undone, most := undoneIn(t, store, views, pages*(2*longest+2048)), 12*total+64*longest; undone > most {
					t.Errorf("%d views of %d bytes in pages of %d took %d bytes, %.1f times as many, want %d at most", len(views), total, pages, undone, float64(undone)/float64(total), most)
				}
			}
		})
	}
}

// TestHistoryUndoneOneByOne: a member that comes and goes, and hides one of the document's own, has its place in each version.
func TestHistoryUndoneOneByOne(t *testing.T) {
	store, views := historyStore(t, `{"m":5,"own":0}`, `{"own":0}`, 20, func(n int, d map[string]string) {
		if d["n"] = fmt.Sprint(n); n%2 == 0 {
			delete(d, "m")
		} else {
			d["m"] = fmt.Sprint(n)
		}
	})
	for _, maxBytes := range []int{1200, 5000, pageBytes} {
		undoneIn(t, store, views, maxBytes)
	}
}

// TestPostponedIsBounded: a walk holds few bytes of changes, however many and long they are.
func TestPostponedIsBounded(t *testing.T) {
	const changes, length = 100, 40 << 10
	view := func(n int) string { return fmt.Sprintf(`"%d%s"`, n, strings.Repeat("x", length)) }
	w := &walk{h: &history{s: &Snapshot{}}, body: fmt.Appendf(nil, `{"v":%s}`, view(changes)), at: fanfold.At(changes, 1)}
	for n := changes; n > 0; n-- {
		patch := fmt.Sprintf(`[{"op":"replace","path":"/v","value":%s,"old":%s}]`, view(n), view(n-1))
		delta := new(editor).append([]byte{0}, []byte(patch), nil)
		if err := w.step([]driver.Value{int64(fanfold.At(uint64(n), 1)), int64(fanfold.At(uint64(n-1), 1)), nil, wholePatch, delta}); err != nil {
			t.Fatal(err)
		}
		if w.postponedBytes > maxPostponedBytes {
			t.Fatalf("%d bytes are put off, want %d at most", w.postponedBytes, maxPostponedBytes)
		}
	}
	if err := w.undoPostponed(); err != nil || string(w.body) != fmt.Sprintf(`{"v":%s}`, view(0)) {
		t.Errorf("the changes lead back to %.20s, %v", w.body, err)
	}
}

// TestUnreadCollections: of a collection that a query does not read, a page has no row. It needs no room for what the row would
// have, and ends where it would end otherwise.
func TestUnreadCollections(t *testing.T) {
	store, _ := historyStore(t, `{"own":0}`, `{"own":0}`, 20, func(n int, d map[string]string) { d["n"] = fmt.Sprint(n) })
	for _, unread := range []string{"a", "b"} {
		if err := store.Read(func(s *Snapshot) error {
			q := fanfold.ChangeQuery{Limit: 256, Docs: unread == "b", Reads: func(collection string) bool { return collection != unread }}
			page, err := s.Changes(q)
			if err != nil || len(page.Rows) == 0 || page.Last != page.Head || page.Pending != 0 {
				return fmt.Errorf("the page has %d rows up to %s of %s, and %d after it, %w", len(page.Rows), page.Last, page.Head, page.Pending, err)
			}
			for _, row := range page.Rows {
				if row.Key.Collection == unread {
					return fmt.Errorf("the page has %s", row.Key)
				}
			}
			q.MaxBytes, q.Reads = 1, func(string) bool { return false }
			if page, err = s.Changes(q); err != nil || len(page.Rows) > 0 || page.Need != 0 || page.Last <= q.After {
				return fmt.Errorf("a page of nothing is %+v, %w", page, err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}
