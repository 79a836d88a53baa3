package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// listAfter is a list of the newest after n changes. Sometimes all of it is new.
func listAfter(n int) string {
	var list []string
	for i := n; i > n-3; i-- {
		list = append(list, fmt.Sprintf(`{"id":"%d","title":"the title of %d, %d"}`, i, i, n/25))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// gathered is change n of a document, of the event n+1.
func gathered(n int) *fanfold.Change {
	return &fanfold.Change{Position: fanfold.At(uint64(n+1), 1), Prior: fanfold.At(uint64(n), 1), Key: fanfold.Key{Collection: "a", ID: "1"}, Number: 1,
		Op: fanfold.OpDerive, Revision: 1, Time: time.Unix(0, 0), Rules: []string{"a.n", "a.newest"},
		Delta: fmt.Appendf(nil, `[{"op":"replace","path":"/n","value":%d,"old":%d},{"op":"replace","path":"/newest","value":%s,"old":%s}]`, n, n-1, listAfter(n), listAfter(n-1))}
}

// chainStore returns a store with changes of a document, so many in a transaction. If forgetful is true, nothing is known of the rows
// after each.
func chainStore(t *testing.T, changes, each int, forgetful bool) *Store {
	t.Helper()
	return chainStoreOf(t, gathered, changes, each, forgetful)
}

// chainStoreOf is chainStore with changes of its own.
func chainStoreOf(t *testing.T, gathered func(n int) *fanfold.Change, changes, each int, forgetful bool) *Store {
	t.Helper()
	store, err := OpenStore(t.TempDir(), Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	for n := 1; n <= changes; n += each {
		if err := store.current.Update(func(tx *Tx) error {
			for i := n; i < min(n+each, changes+1); i++ {
				first := &fanfold.Change{Position: fanfold.At(uint64(i+1), 0), Key: fanfold.Key{Collection: "b", ID: fmt.Sprint(i)}, Op: fanfold.OpCreate}
				if err := errors.Join(tx.AddChange(first), tx.AddGathered(gathered(i))); err != nil {
					return err
				}
				if forgetful {
					tx.changes.chains, tx.changes.olderChains = nil, nil
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		store.current.tx.loaded = !forgetful
	}
	return store
}

// depthOf returns how many rows a delta is read with.
func depthOf(delta string) int { return (&storedDelta{delta: []byte(delta)}).depth() }

// deltas returns the stored deltas of a store.
func deltas(t *testing.T, store *Store) (list []string) {
	t.Helper()
	if err := store.Read(func(s *Snapshot) error {
		return s.c.Query("SELECT delta FROM change WHERE op IS NULL ORDER BY position", func(r driver.Row) error {
			list = append(list, string(r.Blob(0)))
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestChains: the rows of a list's changes hold what came, and the changes are read as they were written, alone and in pages. No row needs
// more than chainDepth others. It makes no difference what a transaction knew of the rows before.
func TestChains(t *testing.T) {
	const changes = 100
	store := chainStore(t, changes, changes, false)
	list := deltas(t, store)
	size := 0
	for i, delta := range list {
		size += len(delta)
		if want := i % (chainDepth + 1); depthOf(delta) != want {
			t.Errorf("change %d has the depth %d, want %d", i+1, depthOf(delta), want)
		}
	}
	if most := changes * 100; len(list) != changes || size > most {
		t.Errorf("%d changes take %d bytes, want %d at most", len(list), size, most)
	}
	for _, other := range []*Store{chainStore(t, changes, 1, true), chainStore(t, changes, 7, true), chainStore(t, changes, 7, false)} {
		if got := deltas(t, other); strings.Join(got, "\n") != strings.Join(list, "\n") {
			t.Error("other transactions gave other rows")
		}
	}
	for n := changes; n > 0; n-- {
		if err := store.Read(func(s *Snapshot) error {
			for _, m := range []int{n, n, max(1, n-1), max(1, n-5)} { // on one snapshot, which keeps what it read
				ch, err := s.Change(fanfold.At(uint64(m+1), 1))
				if err != nil || string(ch.Delta) != string(gathered(m).Delta) {
					return fmt.Errorf("change %d was read as %+v, %w", m, ch, err)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Read(func(s *Snapshot) error {
		found, _, err := s.changes().after(fanfold.ChangeQuery{Limit: 1000, MaxBytes: pageBytes})
		for i := range changes {
			if err != nil || string(found[2*i+1].Delta) != string(gathered(i+1).Delta) {
				return fmt.Errorf("change %d of a page was read as %s, %w", i+1, found[2*i+1].Delta, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// byTurns returns changes of a document whose members come, go and change by turns, an object and a member of it among them. Each
// has another form than the one before, and lists are mostly what they were.
func byTurns(changes int) func(n int) *fanfold.Change {
	random := rand.New(rand.NewPCG(1, 2))
	values, deltas := map[string]string{}, make([][]byte, changes+1)
	for n := 1; n <= changes; n++ {
		var ops []string
		set := func(path, value string) {
			switch old := values[path]; {
			case old == "":
				ops = append(ops, fmt.Sprintf(`{"op":"add","path":%q,"value":%s}`, path, value))
			case value == "":
				ops = append(ops, fmt.Sprintf(`{"op":"remove","path":%q,"old":%s}`, path, old))
			default:
				ops = append(ops, fmt.Sprintf(`{"op":"replace","path":%q,"value":%s,"old":%s}`, path, value, old))
			}
			values[path] = value
		}
		set("/n", strconv.Itoa(n))
		if random.IntN(4) == 0 {
			set("/lines/1/title", strconv.Itoa(n))
		}
		for _, path := range []string{"/newest", "/largest", "/o/list"} {
			if random.IntN(3) > 0 {
				set(path, listAfter(n+len(path)))
			}
		}
		switch inner := values["/o/list"]; {
		case random.IntN(10) > 0:
		case inner == "": // the object comes whole, and its member changes then
			set("/o/list", listAfter(n))
		default: // the object goes whole
			ops = slices.DeleteFunc(ops, func(op string) bool { return strings.Contains(op, `"/o/list"`) })
			if deltas[n-1] == nil || !strings.Contains(string(deltas[n-1]), `"/o`) {
				ops = append(ops, `{"op":"remove","path":"/o","old":{"list":`+inner+`}}`)
			}
			values["/o/list"] = ""
		}
		deltas[n] = []byte("[" + strings.Join(ops, ",") + "]")
	}
	return func(n int) *fanfold.Change {
		ch := gathered(n)
		ch.Delta = deltas[n]
		return ch
	}
}

// TestChainsGoOnThroughForms: members that change by turns are stored as edits, too, whatever was known of the rows before, and
// the changes are read as they were written, in any order.
func TestChainsGoOnThroughForms(t *testing.T) {
	const changes = 300
	change := byTurns(changes)
	store := chainStoreOf(t, change, changes, changes, false)
	list := deltas(t, store)
	stored, whole, chained := 0, 0, 0
	for i, delta := range list {
		stored, whole = stored+len(delta), whole+len(change(i+1).Delta)
		if depthOf(delta) > 0 {
			chained++
		}
	}
	if 5*stored > 2*whole || chained*5 < changes*4 {
		t.Errorf("%d of %d changes are after others, and take %d of %d bytes", chained, changes, stored, whole)
	}
	for _, other := range []*Store{chainStoreOf(t, change, changes, 1, true), chainStoreOf(t, change, changes, 7, false)} {
		if got := deltas(t, other); strings.Join(got, "\n") != strings.Join(list, "\n") {
			t.Error("other transactions gave other rows")
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	if err := store.Read(func(s *Snapshot) error {
		for range 2000 {
			n := 1 + random.IntN(changes)
			ch, err := s.Change(fanfold.At(uint64(n+1), 1))
			if err != nil || string(ch.Delta) != string(change(n).Delta) {
				return fmt.Errorf("change %d was read as %s, %w, want %s", n, ch.Delta, err, change(n).Delta)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestChainsEndAtElements: no row is after one that tells a list, where it changes an element of that list.
func TestChainsEndAtElements(t *testing.T) {
	const changes = 8
	change := func(n int) *fanfold.Change {
		ch := gathered(n)
		if n%3 == 0 {
			ch.Delta = fmt.Appendf(nil, `[{"op":"replace","path":"/newest/0/title","value":"%d","old":"the title of %d, 0"}]`, n, n-1)
		}
		return ch
	}
	store := chainStoreOf(t, change, changes, changes, false)
	for i, delta := range deltas(t, store) {
		if n := i + 1; n%3 == 0 && depthOf(delta) != 0 {
			t.Errorf("change %d has the depth %d", n, depthOf(delta))
		}
	}
	for n := 1; n <= changes; n++ {
		if err := store.Read(func(s *Snapshot) error {
			ch, err := s.Change(fanfold.At(uint64(n+1), 1))
			if err == nil && string(ch.Delta) != string(change(n).Delta) {
				err = fmt.Errorf("read as %s", ch.Delta)
			}
			return err
		}); err != nil {
			t.Errorf("change %d: %v", n, err)
		}
	}
}

// TestStoredOrdinals: the ordinal of a derived change that is not its event's first is not stored, nor a revision that the document began with. Both
// are told.
func TestStoredOrdinals(t *testing.T) {
	const changes = 5
	store := chainStoreOf(t, func(n int) *fanfold.Change {
		ch := gathered(n)
		ch.Revision = fanfold.Revision(1 + n/4)
		return ch
	}, changes, 2, false)
	if err := store.Read(func(s *Snapshot) error {
		stored := ""
		if err := s.c.Query("SELECT ordinal, revision FROM change ORDER BY position", func(r driver.Row) error { stored += fmt.Sprintf("%v %v, ", r[0], r[1]); return nil }); err != nil {
			return err
		}
		if want := "1 <nil>, <nil> <nil>, 3 <nil>, <nil> <nil>, 5 <nil>, <nil> <nil>, 7 <nil>, <nil> 2, 9 <nil>, <nil> 2, "; stored != want {
			t.Errorf("the rows have %s, want %s", stored, want)
		}
		for n := 1; n <= changes; n++ {
			at := fanfold.At(uint64(n+1), 1)
			ch, err := s.Change(at)
			if err != nil || ch.Ordinal != int64(2*n) || ch.Revision != fanfold.Revision(1+n/4) {
				t.Errorf("change %d has the ordinal %d and the revision %d, %v", n, ch.Ordinal, ch.Revision, err)
			}
			if up, err := s.Ordinal(at); err != nil || up != int64(2*n) {
				t.Errorf("%d changes are up to %s, %v, want %d", up, at, err, 2*n)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedChain: a row after one that is not what it was is an error that says what to do.
func TestDamagedChain(t *testing.T) {
	for _, damage := range []string{"delta = NULL", "delta = x'00'", "form = 99", "prior = 0", "op = 1", "position = 5", "delta = CAST(x'07' || substr(delta, 2) AS BLOB)",
		"delta = substr(delta, 1, 2)", "delta = substr(delta, 1, 6)"} {
		store := chainStore(t, 6, 6, false)
		if err := store.current.Update(func(tx *Tx) error {
			return tx.c.Exec("UPDATE change SET "+damage+" WHERE position = ?", int64(fanfold.At(4, 1)))
		}); err != nil {
			t.Fatal(err)
		}
		err := store.Read(func(s *Snapshot) error { _, err := s.Change(fanfold.At(7, 1)); return err })
		if fanfold.CodeOf(err) != fanfold.Internal || !strings.Contains(err.Error(), "change 7-1 cannot be read: the read model is damaged; fanfold replay builds it anew") {
			t.Errorf("after %s: %v", damage, err)
		}
	}
}

// TestFirstChangeEndsNoChain: no chain goes on after an event's first change, whether its end is in memory or was forgotten. Such a change is
// a derived one for a model's event, and a node that prepared the model has not split it.
func TestFirstChangeEndsNoChain(t *testing.T) {
	var w changeWriter
	at := fanfold.At(5, 0)
	w.noteChain(at, chainEnd{known: 1, left: 3})
	if end, err := w.endAt(at); err != nil || end != (chainEnd{}) {
		t.Errorf("the chain ends with %+v, %v", end, err)
	}
}
