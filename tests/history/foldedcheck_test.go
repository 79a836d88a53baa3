package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/internal/sending"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// feedText is a row of the feed.
type feedText = json.RawMessage

// checkAll compares what there is now, and the feed.
func (f *folded) checkAll() {
	f.t.Helper()
	f.check()
	f.checkFeed()
	f.checkFollowers()
	f.checkCounts()
}

// checkLinks compares which documents refer to each one, in order of creation, their pages, and the lists of collections.
func (f *folded) checkLinks() {
	f.t.Helper()
	state := expected{after: f.views, written: f.o.written(), links: f.o.expectedLinks()}
	f.folds.mustRead(func(s *sqlite.Snapshot) error {
		for _, c := range collections {
			var got []string
			if _, err := s.EachListed(c, "", 100, fanfold.Embedded, bodiesTo(&got)); err != nil {
				return err
			}
			f.wantItems(state, c, idsIn(state, c), "embedded", c, got)
		}
		for _, l := range state.links {
			for _, id := range ids {
				var got []string
				if _, err := s.EachReferring(l.rel.full(), id, 0, 100, fanfold.Embedded, bodiesTo(&got)); err != nil {
					return err
				}
				f.wantItems(state, l.rel.collection, l.children[id], "embedded", l.rel.full()+" to "+id, got)
				if err := f.wantPages(s, l, id, "embedded", state, 0); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// wantPages compares the pages of a document, now or at a position.
func (f *folded) wantPages(s *sqlite.Snapshot, l expectedLinks, id, view string, state expected, at fanfold.Position) error {
	f.t.Helper()
	for i, want := range l.pages[id] {
		var got []string
		what := fmt.Sprintf("page %d of %s to %s at %s", i+1, l.rel.full(), id, at)
		q := model.PageQuery{Relation: l.rel.full(), Target: id, Page: int64(i + 1), Size: l.rel.pages, View: viewOf(view)}
		begin := func(page, pages int64) error {
			if page != int64(i+1) || pages != int64(len(l.pages[id])) {
				f.t.Fatalf("%s is %d of %d, want %v", what, page, pages, l.pages[id])
			}
			return nil
		}
		var err error
		if at == 0 {
			err = s.EachOnPage(q, begin, bodiesTo(&got))
		} else {
			err = s.EachOnPageAt(at, q, begin, bodiesTo(&got))
		}
		if err != nil {
			return err
		}
		f.wantItems(state, l.rel.collection, want, view, what, got)
	}
	return nil
}

// bodiesTo returns what adds the bodies of documents to a list.
func bodiesTo(list *[]string) func(doc *fanfold.Document) (bool, error) {
	return func(doc *fanfold.Document) (bool, error) {
		*list = append(*list, string(doc.Body))
		return true, nil
	}
}

// idsIn returns the ids of a collection's documents.
func idsIn(state expected, collection string) (out []string) {
	for _, id := range ids {
		if _, there := state.after[okey{collection, id}]; there {
			out = append(out, id)
		}
	}
	return out
}

// checkCounts compares how many documents there are, how many values stay on them, and which views have no room for some.
func (f *folded) checkCounts() {
	f.t.Helper()
	want := map[string]int64{}
	for key := range f.o.docs {
		want[key.collection]++
	}
	f.folds.mustRead(func(s *sqlite.Snapshot) error {
		for _, c := range collections {
			if n, err := s.CountDocuments(c); err != nil || n != want[c] {
				f.t.Fatalf("%s has %d documents, %v, want %d", c, n, err, want[c])
			}
		}
		for name := range f.o.keepers() {
			if n, err := s.CountKeptValues(name); err != nil || n != int64(f.o.countKept(name)) {
				f.t.Fatalf("%d values of %s stay, %v, want %d", n, name, err, f.o.countKept(name))
			}
		}
		all, err := s.Omissions()
		var told []string
		for _, o := range all {
			told = append(told, fmt.Sprintf(`{"rule":%q,"documents":%d,"values":%d}`, o.Rule, o.Documents, o.Values))
		}
		if got := "[" + strings.Join(told, ",") + "]"; err != nil || got != f.o.omissions() {
			f.t.Fatalf("omitted is %s, %v, want %s", got, err, f.o.omissions())
		}
		return nil
	})
}

// checkPastNow reads documents, lists, links and pages as they were at random positions, what differs between two, and the versions of each document.
func (f *folded) checkPastNow() {
	f.t.Helper()
	view := draw(f.t, "embedded", "referenced")
	rows := f.feedRows(view)
	for range 6 {
		seq := f.horizon.Seq() + uint64(upTo(f.t, int(f.folds.log.last()-f.horizon.Seq())))
		state, _ := f.stateAt(rows, seq)
		f.folds.mustRead(func(s *sqlite.Snapshot) error { return f.wantPast(s, state, seq, view) })
	}
	f.checkChangedKeys(rows)
	byKey := map[okey][]feedRow{}
	for _, row := range rows {
		key := okey{row.text("collection"), row.text("id")}
		byKey[key] = append(byKey[key], row)
	}
	for _, key := range slices.SortedFunc(maps.Keys(byKey), func(a, b okey) int { return strings.Compare(a.String(), b.String()) }) { // a seed gives one history
		f.checkVersionsOf(key, byKey[key], view)
	}
}

// wantPast compares what there was at an event.
func (f *folded) wantPast(s *sqlite.Snapshot, state expected, seq uint64, view string) error {
	at, err := s.Resolve(fanfold.Moment{Position: fanfold.At(seq, 0)})
	if err != nil {
		return err
	}
	for _, c := range collections {
		for _, id := range ids {
			key := okey{c, id}
			doc, _, err := s.GetAt(at, fanfold.Key{Collection: c, ID: id}, viewOf(view), 8<<20) // on this snapshot: a store that is being read is not read within
			if err != nil {
				return err
			}
			body, there := "", doc != nil
			if there {
				body = string(doc.Body)
			}
			if _, was := state.after[key]; was != there {
				f.t.Fatalf("%s at %d is %q, want %q", key, seq, body, state.after[key])
			} else if was {
				f.wantShown(state, key, view, fmt.Sprint(seq), body)
			}
		}
		var got []string
		if _, _, err := s.EachListedAt(at, c, "", 100, viewOf(view), bodiesTo(&got)); err != nil {
			return err
		}
		f.wantItems(state, c, idsIn(state, c), view, fmt.Sprintf("%s at %d", c, seq), got)
	}
	for _, l := range state.links {
		for _, id := range ids {
			if _, there := state.after[okey{l.rel.to, id}]; !there {
				continue
			}
			var got []string
			if _, _, err := s.EachReferringAt(at, l.rel.full(), id, 0, 100, viewOf(view), bodiesTo(&got)); err != nil {
				return err
			}
			f.wantItems(state, l.rel.collection, l.children[id], view, fmt.Sprintf("%s to %s at %d", l.rel.full(), id, seq), got)
			if err := f.wantPages(s, l, id, view, state, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkChangedKeys wants what changed between two events to be told, at least whatever differs.
func (f *folded) checkChangedKeys(rows []feedRow) {
	f.t.Helper()
	from := f.horizon.Seq() + uint64(upTo(f.t, int(f.folds.log.last()-f.horizon.Seq())))
	to := from + uint64(upTo(f.t, int(f.folds.log.last()-from)))
	before, _ := f.stateAt(rows, from)
	after, _ := f.stateAt(rows, to)
	f.folds.mustRead(func(s *sqlite.Snapshot) error {
		first, err := s.Resolve(fanfold.Moment{Position: fanfold.At(from, 0)})
		if err != nil {
			return err
		}
		last, err := s.Resolve(fanfold.Moment{Position: fanfold.At(to, 0)})
		if err != nil {
			return err
		}
		told := map[okey]bool{}
		for at := first; at < last; {
			next, err := s.ChangedKeys(at, last, false, func(key fanfold.Key) { told[okey{key.Collection, key.ID}] = true })
			if err != nil {
				return err
			}
			if next <= at {
				break
			}
			at = next
		}
		for _, c := range collections {
			for _, id := range ids {
				key := okey{c, id}
				if before.after[key] != after.after[key] && !told[key] {
					f.t.Fatalf("%s is not among what changed from %d to %d: %v", key, from, to, told)
				}
			}
		}
		return nil
	})
}

// checkVersionsOf wants the versions of a document to be its rows of the feed, with patches that lead from each to the next.
func (f *folded) checkVersionsOf(key okey, rows []feedRow, view string) {
	f.t.Helper()
	before := f.bodiesBefore(rows, key, view)
	kept := f.keptRows(rows)
	ascending := chance(f.t, 50)
	var items []feedRow
	q := fanfold.VersionQuery{Key: keyOf(key), View: viewOf(view), Ascending: ascending, To: fanfold.At(f.folds.log.last(), fanfold.MaxChanges), Limit: 1 + upTo(f.t, 12), Docs: true}
	for more := true; more; {
		f.folds.mustRead(func(s *sqlite.Snapshot) error {
			page, err := s.Versions(q)
			if more = page.More && len(page.Versions) > 0; err != nil {
				return err
			}
			for _, v := range page.Versions {
				var out sending.Buffer
				changefeed.AddVersion(&out, v, fanfold.Issuer{Store: "aaaaaaaa"}, false)
				var item feedRow
				if err := json.Unmarshal(out.Bytes(), &item); err != nil {
					return err
				}
				items, q.After = append(items, item), v.Position
			}
			return nil
		})
	}
	if !ascending {
		slices.Reverse(items)
	}
	f.wantVersions(fmt.Sprintf("the versions of %s", key), items, kept, before, true)
}

// compacted is a JSON text without spaces between its tokens.
func compacted(text []byte) string { return jsonvalue.Parse(string(text)).String() }
