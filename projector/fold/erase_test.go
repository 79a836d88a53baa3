package fold_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// addErasures puts erase events, and events that bring them into force, in the place of events that say nothing. The documents are written as what
// is left of them from the beginning.
func addErasures(t *testing.T, rng *rand.Rand, events []*fanfold.Event) []*fanfold.Event {
	t.Helper()
	var last, of uint64
	for i := range events {
		ev := events[i]
		if ev.Kind != fanfold.KindFence || i < 10 {
			continue
		}
		if last == 0 || rng.IntN(2) == 0 {
			ev.Kind, ev.Loss = fanfold.KindLoss, &fanfold.Loss{List: randomErasure(rng)}
			ev.Loss.List.Of = of
			of, last = max(of, ev.Seq), ev.Seq
			events = erasedFrom(t, events, ev.Loss.List)
			continue
		}
		ev.Kind, ev.Loss = fanfold.KindLoss, &fanfold.Loss{UpTo: fanfold.AsOf(last), List: &fanfold.Erasure{}}
		for _, key := range keys()[rng.IntN(6):] {
			ev.Loss.List.Documents = append(ev.Loss.List.Documents, fanfold.ErasedDocument{Key: key})
		}
		of = 0
	}
	return events
}

// TestErasuresOfRandomHistories cuts random histories with erasures at events. The rows are the same as after a fold from the first
// event, and so is all that can be read.
func TestErasuresOfRandomHistories(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			events := addErasures(t, rand.New(rand.NewPCG(seed, 4)), randomHistory(t, seed, 60))
			if !slices.ContainsFunc(events, func(ev *fanfold.Event) bool { return ev.Loss.Erases() }) {
				t.Fatal("no erasure comes into force")
			}
			requireSameFromBases(t, events, 3)
		})
	}
}

// erasureEvents is a history in which a/1 is deleted, a/2 lives and has members erased, a/3 is deleted and there again, and b/1 shows a/2.
func erasureEvents() []*fanfold.Event {
	key := func(text string) fanfold.Key { return fanfold.Key{Collection: text[:1], ID: text[2:]} }
	put := func(k, body string) *fanfold.Event {
		return &fanfold.Event{Kind: fanfold.KindPut, Key: key(k), Body: []byte(body)}
	}
	gone := func(k string) *fanfold.Event { return &fanfold.Event{Kind: fanfold.KindDelete, Key: key(k)} }
	erased := func(k string, members ...string) fanfold.ErasedDocument {
		return fanfold.ErasedDocument{Key: key(k), Members: members}
	}
	events := []*fanfold.Event{
		{Kind: fanfold.KindModel, Body: []byte(`{"collections":{"a":{},"b":{"relations":{"a":{"path":"a","to":"a"}},"derive":{"n":{"copy":"a","value":"doc.n"}}}}}`)},
		put("a/1", `{"id":"1"}`), put("a/2", `{"id":"2","n":1}`), put("a/3", `{"id":"3"}`), put("b/1", `{"id":"1","a":"2"}`),
		gone("a/1"), gone("a/3"),
		{Kind: fanfold.KindLoss, Actor: "key:e", Loss: &fanfold.Loss{List: &fanfold.Erasure{Documents: []fanfold.ErasedDocument{erased("a/1"), erased("a/2", "/email"), erased("a/3")}}}},
		{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: &fanfold.Erasure{Of: 8, Documents: []fanfold.ErasedDocument{erased("a/1"), erased("a/4")}, Messages: make([]fanfold.Substitute, 2)}}},
		put("a/3", `{"id":"3","again":true}`),
		{Kind: fanfold.KindLoss, Tx: fanfold.TxPart{ID: "tx", Count: 2}, Actor: "key:e", Loss: &fanfold.Loss{UpTo: 9, List: &fanfold.Erasure{Documents: []fanfold.ErasedDocument{erased("b/1"), erased("b/2"), erased("a/3")}}}},
		{Kind: fanfold.KindLoss, Tx: fanfold.TxPart{ID: "tx", Index: 1, Count: 2}, Loss: &fanfold.Loss{UpTo: 9, List: &fanfold.Erasure{Documents: []fanfold.ErasedDocument{erased("a/2")}}}},
		put("a/1", `{"id":"1","back":true}`),
		put("a/2", `{"id":"2","n":2}`),
	}
	for i, ev := range events {
		ev.Seq, ev.Time = uint64(i+1), time.Unix(int64(i+1), 0)
	}
	return events
}

// TestErasuresAreTold: the feed and the history tell of each document once that it is erased, or shows what is.
func TestErasuresAreTold(t *testing.T) {
	store := openStore(t)
	events := erasureEvents()
	use := func(fn func(db *sqlite.DB)) {
		if err := store.Use(func(db *sqlite.DB) error { fn(db); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	use(func(db *sqlite.DB) { chained(t, db, events[:12]) })
	rows := func(q fanfold.ChangeQuery) (out string) {
		q.Limit = 100
		if err := store.Read(func(s *sqlite.Snapshot) error {
			page, err := s.Changes(q)
			for _, r := range page.Rows {
				out += fmt.Sprintf("%s %s %s rev %d prior %s %v doc %t delta %q previous %q cause %s tx %s %s\n", r.Position, r.Op, r.Key, r.Revision, r.Prior, r.Rules, r.Doc != nil, r.Delta, r.Previous, shownKey(r.Cause), r.Tx, r.Actor)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	told := "11-0 erase a/1 rev 6 prior 6-0 [] doc false delta \"\" previous \"\" cause nobody tx tx key:e\n" +
		"11-1 derive a/2 rev 3 prior 3-0 [erase] doc true delta \"\" previous \"\" cause nobody tx tx key:e\n" +
		"11-2 derive a/3 rev 10 prior 10-0 [erase] doc true delta \"\" previous \"\" cause nobody tx tx key:e\n" +
		"11-3 derive b/1 rev 5 prior 5-0 [erase] doc true delta \"\" previous \"\" cause nobody tx tx key:e\n" +
		"12-0 derive a/2 rev 3 prior 11-1 [erase] doc true delta \"\" previous \"\" cause nobody tx tx \n"
	for _, view := range []fanfold.View{fanfold.Embedded, fanfold.Referenced} {
		if got := rows(fanfold.ChangeQuery{After: fanfold.At(10, 5), Docs: true, View: view}); got != told {
			t.Errorf("the feed has\n%s, want\n%s", got, told)
		}
	}
	latest := rows(fanfold.ChangeQuery{Latest: true, Docs: true})
	for want, is := range map[string]bool{"6-0 delete": false, "11-0 erase a/1": true, "11-1 derive": false, "12-0 derive a/2": true, "11-3 derive b/1": true, "10-0 create": false} {
		if strings.Contains(latest, want) != is {
			t.Errorf("with the newest alone, %s is told: %t, in\n%s", want, !is, latest)
		}
	}
	if direct := rows(fanfold.ChangeQuery{Direct: true, Latest: true}); !strings.Contains(direct, "11-0 erase a/1") || strings.Contains(direct, "derive") || strings.Contains(direct, "6-0 delete") {
		t.Errorf("without derived changes\n%s", direct)
	}
	requireErasures(t, store)
	use(func(db *sqlite.DB) { chained(t, db, events[12:]) })
	if latest := rows(fanfold.ChangeQuery{Latest: true}); strings.Contains(latest, "erase a/1") || !strings.Contains(latest, "13-0 create a/1") {
		t.Errorf("when the document is there again the newest are\n%s", latest)
	}
	for _, direct := range []bool{false, true} {
		requireVersions(t, store, fanfold.VersionQuery{Key: fanfold.Key{Collection: "a", ID: "1"}, Direct: direct}, "2-0 create 6-0 delete 11-0 erase 13-0 create ")
	}
	requireVersions(t, store, fanfold.VersionQuery{Key: fanfold.Key{Collection: "a", ID: "2"}}, "3-0 create 11-1 derive 12-0 derive 14-0 replace ")
	if err := store.Read(func(s *sqlite.Snapshot) error {
		for at, there := range map[fanfold.Position]bool{fanfold.At(5, 0): true, fanfold.At(6, 0): false, fanfold.At(12, 0): false, fanfold.At(13, 0): true} {
			if doc, _, err := s.GetAt(at, fanfold.Key{Collection: "a", ID: "1"}, fanfold.Embedded, 1<<20); err != nil || (doc != nil) != there {
				t.Errorf("at %s the document is %v, %v", at, doc, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// requireErasures checks what the read model knows of the erasures of erasureEvents.
func requireErasures(t *testing.T, store *sqlite.Store) {
	t.Helper()
	if err := store.Read(func(s *sqlite.Snapshot) error {
		list, err := s.Erasures().All()
		if got, want := fmt.Sprint(list), "[{8 8 3 0 1970-01-01 00:00:08 +0000 UTC key:e 11-0} {9 8 2 2 1970-01-01 00:00:09 +0000 UTC  11-0}]"; got != want {
			t.Errorf("the erasures are %s, want %s", got, want)
		}
		one, err2 := s.Erasures().Get(9)
		none, err3 := s.Erasures().Get(7)
		if one == nil || *one != list[1] || none != nil {
			t.Errorf("erasure 9 is %v, and 7 %v", one, none)
		}
		named := ""
		err4 := s.Erasures().EachDocument(func(erasure uint64, d fanfold.ErasedDocument) error {
			named += fmt.Sprintf("%d %s/%s %v ", erasure, d.Collection, d.ID, d.Members)
			return nil
		})
		if want := "8 a/1 [] 8 a/2 [/email] 8 a/3 [] 9 a/1 [] 9 a/4 [] "; named != want {
			t.Errorf("they name %s, want %s", named, want)
		}
		is, err5 := s.Erasures().Names(fanfold.Key{Collection: "a", ID: "1"})
		isNot, err6 := s.Erasures().Names(fanfold.Key{Collection: "b", ID: "1"})
		if !is || isNot || s.Checkpoint.AsOf != 9 {
			t.Errorf("a/1 is erased: %t; b/1: %t; as of %d", is, isNot, s.Checkpoint.AsOf)
		}
		return errors.Join(err, err2, err3, err4, err5, err6)
	}); err != nil {
		t.Fatal(err)
	}
}

// requireVersions checks which versions a document has, in pages of each size, and in both orders.
func requireVersions(t *testing.T, store *sqlite.Store, q fanfold.VersionQuery, want string) {
	t.Helper()
	for i := range 8 {
		var got []string
		q.To, q.After, q.Limit, q.Ascending, q.Docs = math.MaxInt64, 0, 1+i/4*2, i&1 > 0, i&2 > 0
		for more := true; more; {
			if err := store.Read(func(s *sqlite.Snapshot) error {
				page, err := s.Versions(q)
				for _, v := range page.Versions {
					got, q.After = append(got, fmt.Sprintf("%s %s ", v.Position, v.Op)), v.Position
					if (v.Op == fanfold.OpErase || v.ByErasure()) && (v.Patch != nil || v.Cause != nil) {
						t.Errorf("%s has the patch %s and the cause %v", v.Position, v.Patch, v.Cause)
					}
				}
				more = page.More
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if !q.Ascending {
			slices.Reverse(got)
		}
		if text := strings.Join(got, ""); text != want {
			t.Errorf("%+v: %s, want %s", q, text, want)
		}
	}
}

// TestErasureThatIsNotKnown: a read model that has what is erased does not come into force with it.
func TestErasureThatIsNotKnown(t *testing.T) {
	store := openStore(t)
	events := erasureEvents()
	if err := store.Use(func(db *sqlite.DB) error {
		chained(t, db, events[:10])
		if err := db.SetAsOf(8); err != nil {
			return err
		}
		f := fold.New(planOf(t, db), fold.Options{})
		err := db.Update(func(tx *sqlite.Tx) error { return f.ApplyAll(tx, events[10:11]) })
		if fanfold.CodeOf(err) != fanfold.Internal {
			t.Errorf("the error is %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
