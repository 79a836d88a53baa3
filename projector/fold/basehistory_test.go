package fold_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// historyModels are the models of random histories: with links of every kind, pages, values that are kept and frozen, guards, indexes.
var historyModels = []string{`
collections:
  as: {derive: {n: {count: bs.a}, sum: {sum: bs.a, of: x}, least: {min: bs.a, of: x}, latest: {recent: bs.a, max: 2, fields: [id, x, name]}}}
  cs: {derive: {in: {ids: bs.cs}}}
  bs:
    relations: {a: {path: a, to: as, onDelete: keep}, cs: {path: "cs[].id", to: cs}}
    pages: {by: a, size: 2}
    unique: [u]
    indexes: {byX: [x]}
    derive:
      name: {copy: a, value: doc.name}
      born: {copy: a, value: doc.name, frozen: true}
      "cs[].t": {copy: cs, value: doc.name}
      twice: {value: doc.x * 2}
`, `
collections:
  as: {derive: {m: {count: bs.a}, latest: {recent: bs.a, max: 3, fields: [id, name]}}}
  cs: {derive: {of: {count: bs.cs}}}
  bs:
    relations: {a: {path: a, to: as, onDelete: keep}, cs: {path: "cs[].id", to: cs}}
    derive: {name: {copy: a, value: "doc.name + '!'"}, many: {copy: a, value: doc.m}, "cs[].t": {copy: cs, value: doc.name}}
`, `
collections:
  as: {derive: {n: {count: bs.a}}}
  cs: {}
  bs:
    relations: {a: {path: a, to: as}, cs: {path: "cs[].id", to: cs}}
    pages: {by: a, size: 3}
    derive: {name: {copy: a, value: doc.name}, n: {copy: a, value: doc.n}}
`}

// randomHistory returns a history of n events, or one more for each that makes a transaction whole.
func randomHistory(t *testing.T, seed uint64, n int) (events []*fanfold.Event) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	exists := map[fanfold.Key]bool{}
	add := func(ev *fanfold.Event) {
		ev.Seq = uint64(len(events) + 1)
		ev.Time = time.Unix(int64(len(events)/2*10-rng.IntN(3)), 0)
		if ev.Kind != fanfold.KindModel {
			ev.Actor = []string{"", "key:k"}[rng.IntN(2)]
		}
		events = append(events, ev)
	}
	addModel := func(text string) {
		m, err := modelfile.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		add(&fanfold.Event{Kind: fanfold.KindModel, Body: m.Source})
	}
	addModel(historyModels[0])
	for len(events) < n {
		if rng.IntN(25) == 0 {
			addModel(historyModels[rng.IntN(len(historyModels))])
			continue
		}
		if rng.IntN(12) == 0 {
			add(&fanfold.Event{Kind: fanfold.KindFence})
			continue
		}
		if rng.IntN(12) == 0 {
			add(&fanfold.Event{Kind: fanfold.KindImport, Key: fanfold.Key{ID: fmt.Sprint(rng.IntN(2), "\xff")}, Body: fmt.Appendf(nil, `{"line":%d}`, len(events))})
			continue
		}
		if rng.IntN(8) == 0 {
			id := fmt.Sprint("tx", len(events))
			for i := range 2 {
				ev := randomWrite(rng, exists, len(events))
				ev.Tx = fanfold.TxPart{ID: id, Index: i, Count: 2}
				add(ev)
			}
			continue
		}
		add(randomWrite(rng, exists, len(events)))
	}
	return events
}

// randomWrite returns a write or a delete.
func randomWrite(rng *rand.Rand, exists map[fanfold.Key]bool, n int) *fanfold.Event {
	key := fanfold.Key{Collection: []string{"as", "bs", "bs", "bs", "cs"}[rng.IntN(5)], ID: fmt.Sprint(rng.IntN(4))}
	if exists[key] && rng.IntN(4) == 0 {
		exists[key] = false
		ev := &fanfold.Event{Kind: fanfold.KindDelete, Key: key}
		if rng.IntN(3) == 0 {
			ev.ByDelete = &fanfold.ByDelete{Key: fanfold.Key{Collection: "as", ID: "0"}, Relations: []string{"bs.a"}}
		}
		return ev
	}
	exists[key] = true
	body := fmt.Sprintf(`{"id":%q,"name":"name of %s in event %d, which is long enough to be copied by its parts"}`, key.ID, key, n%7)
	if key.Collection == "bs" {
		body = fmt.Sprintf(`{"id":%q,"a":"%d","x":%d,"cs":[{"id":"%d"},{"id":"%d"}],"u":%d}`, key.ID, rng.IntN(3), n%5, rng.IntN(4), rng.IntN(4), n)
	}
	ev := &fanfold.Event{Kind: fanfold.KindPut, Key: key, Body: []byte(body)}
	if rng.IntN(3) == 0 {
		ev.IdempotencyKey = fanfold.IdempotencyKey{Hash: fmt.Sprint("hash", n), Digest: "d"}
	}
	return ev
}

// TestBaseOfRandomHistories cuts random histories at every event. The rows are the same as after a fold from the first event, and so is
// all that can be read.
func TestBaseOfRandomHistories(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { requireSameFromBases(t, randomHistory(t, seed, 40), 1) })
	}
}

// TestCompactEventsOfRandomHistories folds histories with two compact events: from the first event, and from the base of each. The horizons, the
// rows after them and all that can be read are the same. So is the base of the second, whichever the fold began with.
func TestCompactEventsOfRandomHistories(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			events := randomHistory(t, seed, 80)
			var fences []int // compact events come in their place
			for i, ev := range events {
				if ev.Kind == fanfold.KindFence && i > 10 {
					fences = append(fences, i)
				}
			}
			if len(fences) < 2 {
				t.Fatal("no events that say nothing")
			}
			rng := rand.New(rand.NewPCG(seed, 2))
			first, second := fences[len(fences)/2-1], fences[len(fences)-1]
			a := wholeBefore(events, 1+rng.IntN(first))
			requireSameAroundCompactions(t, events, [2]int{a, wholeBefore(events, a+1+rng.IntN(second-a))}, [2]int{first, second})
		})
	}
}

// wholeBefore returns the largest number of events, up to n, that end with no open transaction.
func wholeBefore(events []*fanfold.Event, n int) int {
	for events[n-1].Tx.Open() {
		n--
	}
	return n
}

// requireSameAroundCompactions puts compact events in the place of others. Each has a horizon after so many events.
func requireSameAroundCompactions(t *testing.T, events []*fanfold.Event, horizons, places [2]int) {
	t.Helper()
	store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	live := 0                             // how many events the store has
	from := []*sqlite.DB{build(t, store)} // the first event, and each base
	folded := []int{0}                    // how many events each of these has
	foldTo := func(n, end int) { chained(t, from[n], events[folded[n]:end]); folded[n] = end }
	for i, horizon := range horizons {
		h, base := requireSameBases(t, from, func(n int) { foldTo(n, horizon) })
		events[places[i]].Kind, events[places[i]].Loss = fanfold.KindLoss, &fanfold.Loss{Base: &fanfold.Compaction{Horizon: h}}
		cut := build(t, store)
		if _, err := cut.LoadBase(t.Context(), bytes.NewReader(base), h); err != nil {
			t.Fatal(err)
		}
		from, folded = append(from, cut), append(folded, horizon)
		if err := store.Use(func(db *sqlite.DB) error { chained(t, db, events[live:places[i]+1]); return nil }); err != nil {
			t.Fatal(err)
		}
		live = places[i] + 1
	}
	h := events[places[1]].Loss.Base.Horizon
	for n, db := range from {
		foldTo(n, live)
		requireSameAfter(t, store, db, h)
		if err := store.Discard(db); err != nil {
			t.Fatal(err)
		}
	}
}

// requireSameBases returns the base of generations, which is the same of each.
func requireSameBases(t *testing.T, generations []*sqlite.DB, prepare func(n int)) (h fanfold.Horizon, base []byte) {
	t.Helper()
	for n, db := range generations {
		prepare(n)
		var file bytes.Buffer
		got, err := db.WriteBase(t.Context(), &file)
		if err != nil || n > 0 && (got != h || !bytes.Equal(file.Bytes(), base)) {
			t.Fatalf("base %d of %+v is another one than %+v: %v", n, got, h, err)
		}
		h, base = got, file.Bytes()
	}
	return h, base
}

// requireSameAfter checks that a store and a generation have the same horizon, and from there the same rows and the same answers.
func requireSameAfter(t *testing.T, store *sqlite.Store, db *sqlite.DB, h fanfold.Horizon) {
	t.Helper()
	for what, read := range map[string]read{"store": store.Read, "generation": db.ReadUnshared} {
		if err := read(func(s *sqlite.Snapshot) error {
			got, _, err := s.Horizon()
			if got != h {
				t.Errorf("the %s begins at %+v, want %+v", what, got, h)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	frozen, err := store.Freeze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := frozen.Compare(t.Context(), db, &h, nil)
	if err != nil || d.First != nil {
		t.Errorf("from horizon %d the rows are others: %+v, %v", h.Seq, d.First, err)
	}
	if err := frozen.Remove(); err != nil {
		t.Error(err)
	}
	requireSameReads(t, store.Read, db.ReadUnshared, h)
}

// read runs fn on a snapshot.
// read runs fn on a snapshot.
type read func(fn func(s *sqlite.Snapshot) error) error

// requireSameReads checks that everything that can be read from the horizon on is the same in a whole read model and in one that was built
// on a base.
func requireSameReads(t *testing.T, whole, cut read, h fanfold.Horizon) {
	t.Helper()
	for _, r := range historyReads(t, whole, h) {
		want, wantErr := answer(whole, r.fn)
		got, err := answer(cut, r.fn)
		if got != want || (err == nil) != (wantErr == nil) {
			t.Fatalf("from horizon %d, %s at %s is\n%v, want\n%v\n%s", h.Seq, r.what, h.At(), err, wantErr, firstDifference(got, want))
		}
		if err != nil {
			t.Fatalf("%s: %v", r.what, err)
		}
	}
}

// firstDifference returns the first lines that differ.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// historyRead is something to be read.
type historyRead struct {
	what string
	fn   func(s *sqlite.Snapshot, say func(v ...any)) error
}

// answer returns what is read as text.
func answer(from read, fn func(s *sqlite.Snapshot, say func(v ...any)) error) (string, error) {
	var out bytes.Buffer
	err := from(func(s *sqlite.Snapshot) error {
		return fn(s, func(v ...any) {
			for _, v := range v {
				fmt.Fprintf(&out, "%s ", shown(v))
			}
			out.WriteByte('\n')
		})
	})
	return out.String(), err
}

// shown returns a value as text.
func shown(v any) string {
	switch v := v.(type) {
	case *fanfold.Document:
		if v == nil {
			return "none"
		}
		return fmt.Sprintf("%s #%d rev %d at %s, %d, %d: %s", v.Key, v.Number, v.Revision, v.Position, v.Created.UnixNano(), v.Updated.UnixNano(), v.Body)
	case fanfold.ChangeRow:
		c := v.Change
		return fmt.Sprintf("%s n%d after %s %s #%d %s rev %d %d tx %q actor %q by %s rules %v %s previous %s, %s omitted %s, cause %s, doc %s, before %s, after %s, held %s, superseded %v %s",
			c.Position, c.Ordinal, c.Prior, c.Key, c.Number, c.Op, c.Revision, c.Time.Unix(), c.Tx, c.Actor, shownDelete(c.ByDelete), c.Rules, c.Delta, c.Previous, c.PreviousSource, c.Omitted,
			shownKey(v.Cause), shown(v.Doc), v.Before, v.After, v.Held, v.Superseded, v.Newest)
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// shownDelete returns a delete as text.
func shownDelete(d *fanfold.ByDelete) string {
	if d == nil {
		return "no delete"
	}
	return fmt.Sprint(*d)
}

// shownKey returns a key as text.
func shownKey(k *fanfold.Key) string {
	if k == nil {
		return "nobody"
	}
	return k.String()
}

// historyReads returns all that is compared.
func historyReads(t *testing.T, whole read, h fanfold.Horizon) (list []historyRead) {
	t.Helper()
	var moments []fanfold.Position
	var times []time.Time
	if err := whole(func(s *sqlite.Snapshot) error {
		moments = append(moments, h.At())
		for seq := h.Seq + 1; seq <= s.Checkpoint.Seq; seq += 4 {
			at, err := s.Resolve(fanfold.Moment{Position: fanfold.At(seq, 0)})
			if err != nil {
				return err
			}
			moments = append(moments, at)
		}
		for when := h.Time; !when.After(s.Checkpoint.Time); when = when.Add(time.Second) {
			times = append(times, when)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	list = append(list, historyRead{"resolving", func(s *sqlite.Snapshot, say func(v ...any)) error {
		for _, when := range times {
			at, err := s.Resolve(fanfold.Moment{Time: when})
			say(when.Unix(), max(at, h.At())) // an event without changes is known by time at the horizon alone
			if err != nil {
				return err
			}
		}
		for seq := h.Seq; seq <= s.Checkpoint.Seq; seq++ {
			at, err := s.Resolve(fanfold.Moment{Position: fanfold.At(seq, 0)})
			if say(seq, at); err != nil {
				return err
			}
		}
		return nil
	}})
	for _, at := range moments {
		list = append(list, historyRead{fmt.Sprintf("the past of %s", at), func(s *sqlite.Snapshot, say func(v ...any)) error { return readPast(s, at, say) }})
	}
	for _, q := range feedQueries(h) {
		list = append(list, historyRead{fmt.Sprintf("the feed %+v", q), func(s *sqlite.Snapshot, say func(v ...any)) error { return readFeed(s, q, say) }})
	}
	for _, view := range []fanfold.View{fanfold.Embedded, fanfold.Referenced} {
		for i := range 8 {
			q := fanfold.VersionQuery{View: view, From: h.At() + 1, To: math.MaxInt64, Ascending: i&1 > 0, Direct: i&2 > 0, Docs: i&4 > 0, Limit: 2}
			list = append(list, historyRead{fmt.Sprintf("the history %+v", q), func(s *sqlite.Snapshot, say func(v ...any)) error { return readVersions(s, q, say) }})
		}
	}
	return append(list, historyRead{"counts", func(s *sqlite.Snapshot, say func(v ...any)) error {
		for _, at := range moments {
			n, err := s.Ordinal(at)
			between, err2 := s.ChangesBetween(h.At(), at)
			derived, err3 := s.Derived(at.Seq(), 1)
			last, err4 := s.ChangedKeys(h.At(), at, false, func(key fanfold.Key) { say(key) })
			if at.Seq() == h.Seq {
				derived = 0 // of an event that is gone
			}
			if say(at, n, between, derived, last); errors.Join(err, err2, err3, err4) != nil {
				return errors.Join(err, err2, err3, err4)
			}
		}
		return nil
	}})
}

// keys are the keys of the documents of random histories.
func keys() (all []fanfold.Key) {
	for _, collection := range []string{"as", "bs", "cs"} {
		for i := range 4 {
			all = append(all, fanfold.Key{Collection: collection, ID: fmt.Sprint(i)})
		}
	}
	return all
}

// readPast reads everything as it was at a position.
func readPast(s *sqlite.Snapshot, at fanfold.Position, say func(v ...any)) error {
	say2 := func(doc *fanfold.Document) (bool, error) { say(doc); return true, nil }
	source, seq, err := s.ModelAt(at)
	if say(seq, source); err != nil {
		return err
	}
	source, reserved, retired, err := s.StoredModelAt(at)
	if say(source, reserved, retired); err != nil {
		return err
	}
	docs, last, more, err := s.CreatedAt(at, 0, 100)
	for _, doc := range docs {
		say(doc)
	}
	if say(last > 0, more); err != nil {
		return err
	}
	for _, view := range []fanfold.View{fanfold.Embedded, fanfold.Referenced} {
		for _, key := range keys() {
			doc, size, err := s.GetAt(at, key, view, 1<<20)
			if say(doc, size); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			for _, relation := range []string{"bs.a", "bs.cs"} {
				if _, _, err := s.EachReferringAt(at, relation, key.ID, 0, 100, view, say2); err != nil {
					return err
				}
			}
			for page := range int64(4) {
				if err := s.EachOnPageAt(at, model.PageQuery{Relation: "bs.a", Target: key.ID, Page: page, Size: 2, View: view}, func(page, pages int64) error { say(page, pages); return nil }, say2); err != nil {
					return err
				}
			}
		}
		for _, collection := range []string{"as", "bs", "cs"} {
			if _, _, err := s.EachListedAt(at, collection, "", 100, view, say2); err != nil {
				return err
			}
		}
	}
	return nil
}

// feedQueries are queries of the feed from a horizon on.
func feedQueries(h fanfold.Horizon) (list []fanfold.ChangeQuery) {
	for i := range 32 {
		list = append(list, fanfold.ChangeQuery{After: h.At(), Limit: 7, Docs: i&1 > 0, Before: i&10 == 2, View: []fanfold.View{fanfold.Embedded, fanfold.Referenced}[i&4>>2], Latest: i&8 > 0,
			Versions: i&16 > 0, HeldFrom: h.At(), MaxBytes: 1 << 20})
	}
	return append(list, fanfold.ChangeQuery{After: h.At(), Limit: 7, Direct: true, Docs: true}, fanfold.ChangeQuery{After: h.At(), Limit: 7, NoCascades: true, Latest: true})
}

// readFeed reads the feed in pages.
func readFeed(s *sqlite.Snapshot, q fanfold.ChangeQuery, say func(v ...any)) error {
	if err := s.EachChange(q, func(ch *fanfold.Change) bool { say(ch.Position, ch.Key, ch.Op); return true }); err != nil {
		return err
	}
	for q.After < s.Checkpoint.Position {
		page, err := s.Changes(q)
		if err != nil {
			return err
		}
		for _, row := range page.Rows {
			say(row)
		}
		say(page.Last, page.Head, page.Pending, page.Changes)
		q.After = page.Last
	}
	return nil
}

// readVersions reads the history of each document in pages.
func readVersions(s *sqlite.Snapshot, q fanfold.VersionQuery, say func(v ...any)) error {
	for _, q.Key = range keys() {
		for q.After = 0; ; {
			page, err := s.Versions(q)
			if err != nil {
				return err
			}
			say(q.Key, page.Known, page.More)
			for _, v := range page.Versions {
				say(v.ChangeRow, v.Patch)
				q.After = v.Position
			}
			if !page.More {
				break
			}
		}
	}
	return nil
}
