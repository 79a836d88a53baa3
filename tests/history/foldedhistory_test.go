package history_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/jsonvalue"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestFoldedHistories folds the events of random histories over a read model, without a log's server, a node and HTTP. It
// compares every view, link, list, index and row of the feed with what the oracle makes of them, past states included.
func TestFoldedHistories(t *testing.T) {
	suite.Parallel(t)
	checkInLanes(t, suite.Amount(foldedHistories, longFolded)/lanes, suite.ShareFolded, "folded histories", foldedHistory)
}

// foldedHistory is one random history.
func foldedHistory(t *rapid.T) {
	dir, err := os.MkdirTemp("", "folded")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}()
	f := &folded{history{t: t, o: newOracle(), views: map[okey]string{}}}
	f.o.times = map[int]time.Time{}
	f.folds = openFolded(t, dir, draw(t, -1, 1))
	defer func() { f.folds.close() }()
	f.runAll(9 + upTo(t, 16))
	f.checkAll()
	f.checkPastNow()
	f.folds.verify()
	if chance(t, 50) { // set-oriented SQL gives what goes document by document
		f.folds.otherwise()
	}
	f.folds.replay()
	f.check()
	f.checkFollowers()
}

// folded is a history that is folded alone.
type folded struct{ history }

// runAll applies a model and does as many random operations as said.
func (f *folded) runAll(length int) {
	f.run(rapid.Custom(func(t *rapid.T) operation {
		return operation{kind: "model", model: f.nextModel(t)}
	}).Draw(f.t, "0"))
	if f.mayUpgrade() && chance(f.t, 40) {
		f.run(operation{kind: "upgrade"})
	}
	for i := range length {
		f.run(rapid.Custom(f.operation).Draw(f.t, fmt.Sprint(i+1)))
		f.check()
		f.checkIndexes()
		f.checkLinks()
	}
}

// operation is one that a store without a node can do, and more often one that is about the log.
func (f *folded) operation(t *rapid.T) operation {
	switch n := upTo(t, 99); {
	case f.o.events < 7:
	case n < 3:
		return operation{kind: "compact", share: upTo(t, 100)}
	case n < 6:
		op := operation{kind: "erase", key: f.known(t)}
		if chance(t, 40) {
			op.members = []string{draw(t, plainMembers...)}
		}
		return op
	}
	op := f.history.operation(t)
	op.below = "" // the writer judges it
	for i := range op.parts {
		op.parts[i].below = ""
	}
	switch op.kind { // a preparation is the node's and the writer's
	case "update-delete":
		op.kind = "delete"
	case "prepare":
		op.kind = "model"
	case "prepare-upgrade":
		op.kind = "upgrade"
	}
	return op
}

// run does an operation, as the writer would: one that it would refuse does nothing.
func (f *folded) run(op operation) {
	f.o.actor = draw(f.t, "", "key:a", "key:b")
	switch op.kind {
	case "put":
		f.put(op)
	case "merge-patch", "json-patch":
		f.patch(op)
	case "increment": // as it is stored
		if patch, ok := incremented(f.o.docs[op.key], op.body); ok {
			f.patch(operation{kind: "json-patch", key: op.key, body: patch})
		}
	case "update", "update-increment":
		kind := map[string]string{"update": "merge-patch", "update-increment": "increment"}[op.kind]
		for _, key := range f.matching(op) {
			f.run(operation{kind: kind, key: key, body: op.body, refresh: op.refresh})
		}
	case "delete":
		f.delete(op.key)
	case "transaction":
		f.transaction(op.parts)
	case "model":
		f.model(op.model)
	case "upgrade":
		have, _, _ := f.folds.p.Model()
		f.o.newest = true
		f.o.apply(f.o.model)
		f.stored(f.folds.append(&fanfold.Event{Kind: fanfold.KindModel, Body: have.Source, Fold: fold.LatestVersion}), "", okey{})
	case "compact":
		f.compact(op.share)
	case "erase":
		f.erase(op)
	case "replay":
		f.folds.replay()
	case "restart":
		f.folds.otherwise()
	default:
		f.t.Fatalf("operation %s is not known", op.kind)
	}
}

// model applies a model, unless it is the one that applies.
func (f *folded) model(m *omodel) {
	parsed, err := modelfile.Parse([]byte(m.String()))
	if err != nil {
		f.t.Fatalf("%v", err)
	}
	if have, seq, _ := f.folds.p.Model(); seq > 0 && string(have.Source) == string(parsed.Source) {
		return
	}
	seq := f.folds.append(&fanfold.Event{Kind: fanfold.KindModel, Body: parsed.Source})
	f.o.apply(m)
	f.stored(seq, "", okey{})
}

// keyOf returns the key of a document.
func keyOf(key okey) fanfold.Key { return fanfold.Key{Collection: key.collection, ID: key.id} }

// revision returns a document's revision, 0 where there is none.
func (f *folded) revision(key okey) fanfold.Revision {
	f.t.Helper()
	doc, _, err := f.folds.store.Get(keyOf(key), fanfold.Referenced)
	if err != nil {
		f.t.Fatalf("%v", err)
	}
	if doc == nil {
		return 0
	}
	return doc.Revision
}

// text returns a document of the oracle as the writer would store it.
func (f *folded) text(key okey) string {
	if d := f.o.docs[key]; d.written != "" {
		return d.written
	}
	return f.o.docs[key].body.String()
}

// putName is what the feed calls a put of a document.
func (f *folded) putName(key okey) string {
	if f.o.docs[key] != nil {
		return "replace"
	}
	return "create"
}

func (f *folded) put(op operation) {
	if f.o.tooLong(op.key, op.body) {
		return
	}
	name := f.putName(op.key)
	f.o.put(op.key, op.body, op.refresh...)
	seq := f.folds.append(&fanfold.Event{Kind: fanfold.KindPut, Key: keyOf(op.key), Body: []byte(f.text(op.key)), Refresh: op.refresh, Actor: f.o.actor})
	f.refreshed = op.refresh
	f.stored(seq, name, op.key)
	f.refreshed = nil
}

func (f *folded) patch(op operation) {
	d := f.o.docs[op.key]
	if d == nil {
		return
	}
	kind, body := fanfold.MergePatch, d.body.Clone()
	if op.kind == "merge-patch" {
		jsonvalue.MergePatch(body, jsonvalue.Parse(op.body))
	} else if kind = fanfold.JSONPatch; !jsonvalue.ApplyPatch(body, op.body) {
		return
	}
	if f.o.longBody(body) {
		return
	}
	seq := f.folds.append(&fanfold.Event{Kind: fanfold.KindPatch, Key: keyOf(op.key), Patch: kind, Base: f.revision(op.key), Body: []byte(op.body), Refresh: op.refresh, Actor: f.o.actor})
	f.o.write(op.key, body, "", op.refresh...)
	f.folds.log.note(seq, f.text(op.key))
	f.refreshed = op.refresh
	f.stored(seq, "patch", op.key)
	f.refreshed = nil
}

// delete deletes a document, with what that brings with it, unless it is not there or a relation restricts it. It tells whether it is gone.
func (f *folded) delete(key okey) bool {
	if f.o.docs[key] == nil {
		return true
	}
	gone, edits, held, _ := f.o.removal([]okey{key}, nil)
	if !held {
		f.together([]operation{{kind: "delete", key: key}}, nil, gone, edits)
	}
	return !held
}

func (f *folded) transaction(parts []operation) {
	others, bodies := map[okey]bool{}, make([]*jsonvalue.Value, len(parts))
	var roots []okey
	for i, p := range parts {
		d := f.o.docs[p.key]
		if p.kind != "put" && d == nil || p.kind == "put" && f.o.tooLong(p.key, p.body) {
			return
		}
		switch p.kind {
		case "put":
			bodies[i] = jsonvalue.Parse(p.body)
		case "merge-patch":
			bodies[i] = d.body.Clone()
			jsonvalue.MergePatch(bodies[i], jsonvalue.Parse(p.body))
		default:
			roots = append(roots, p.key)
		}
		others[p.key] = true
	}
	gone, edits, held, clash := f.o.removal(roots, others)
	if status, _ := f.allowed(parts, bodies, gone, held); !clash && status == 200 {
		f.together(parts, bodies, gone, edits)
	}
}

// together stores operations as one transaction with what their deletes bring with them.
func (f *folded) together(parts []operation, bodies []*jsonvalue.Value, gone map[okey]bool, edits map[okey]*jsonvalue.Value) {
	f.t.Helper()
	var events []*fanfold.Event
	var roots []okey
	at := map[okey]int{}
	revisions := map[okey]fanfold.Revision{}
	for i, p := range parts {
		ev := &fanfold.Event{Kind: fanfold.KindDelete, Key: keyOf(p.key)}
		switch p.kind {
		case "put": // its body is known once the oracle has taken it
			ev.Kind = fanfold.KindPut
		case "merge-patch":
			ev.Kind, ev.Patch, ev.Base, ev.Body = fanfold.KindPatch, fanfold.MergePatch, f.revision(p.key), []byte(p.body)
		default:
			roots, at[p.key] = append(roots, p.key), i
			delete(gone, p.key)
		}
		events = append(events, ev)
	}
	order := func(a, b okey) int { return strings.Compare(a.String(), b.String()) }
	goes, edited := slices.SortedFunc(maps.Keys(gone), order), slices.SortedFunc(maps.Keys(edits), order)
	for _, key := range slices.Concat(goes, edited) {
		revisions[key] = f.revision(key)
	}
	cause := func(key okey, policy string) *fanfold.ByDelete {
		by := &fanfold.ByDelete{Key: keyOf(roots[0]), Back: len(events) - at[roots[0]]}
		for _, rel := range f.o.model.rels {
			if rel.collection == key.collection && rel.onDelete == policy {
				by.Relations = append(by.Relations, rel.full())
			}
		}
		return by
	}
	for _, key := range goes {
		events = append(events, &fanfold.Event{Kind: fanfold.KindDelete, Key: keyOf(key), ByDelete: cause(key, "cascade")})
	}
	for _, key := range edited {
		events = append(events, &fanfold.Event{Kind: fanfold.KindPatch, Key: keyOf(key), Patch: fanfold.JSONPatch, Base: revisions[key],
			Body: edit(f.o.docs[key].body, edits[key]), ByDelete: cause(key, "unlink")})
	}
	call, function := f.mayCall(events)
	first := f.folds.log.last() + 1 + uint64(len(call))
	for i, ev := range events {
		key, name := okey{ev.Key.Collection, ev.Key.ID}, string(ev.Kind)
		switch {
		case ev.Kind == fanfold.KindDelete:
			f.o.remove(key)
		case ev.Kind == fanfold.KindPut:
			name = f.putName(key)
			f.o.put(key, parts[i].body)
			ev.Body = []byte(f.text(key))
		case i < len(parts):
			f.o.write(key, bodies[i], "")
		default:
			f.o.write(key, edits[key], "")
		}
		if ev.Actor = f.o.actor; ev.Kind == fanfold.KindPatch {
			f.folds.log.note(first+uint64(i), f.text(key))
		}
		f.stored(first+uint64(i), name, key)
		f.expect[len(f.expect)-1].call = function
		if i >= len(parts) {
			f.expect[len(f.expect)-1].roots = roots
		}
	}
	f.folds.append(slices.Concat(call, events)...)
}

// mayCall returns what stands before the writes of a transaction where a function has made them, and its name; nothing where a client has.
func (f *folded) mayCall(writes []*fanfold.Event) (before []*fanfold.Event, function string) {
	if !chance(f.t, 30) {
		return nil, ""
	}
	function = draw(f.t, "f", "g h")
	gate := &fanfold.Event{Kind: fanfold.KindCheck, Key: fanfold.Key{Collection: writes[0].Key.Collection}}
	return []*fanfold.Event{gate, {Kind: fanfold.KindCall, Call: &fanfold.Call{Function: function, Model: 1, Writes: len(writes)}, Actor: f.o.actor}}, function
}

// edit is a JSON Patch that makes one document another, by its members.
func edit(before, after *jsonvalue.Value) []byte {
	var ops []string
	for _, m := range before.Items {
		path := jsonvalue.Quote("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m.Key))
		switch is := after.Get(m.Key); {
		case is == nil:
			ops = append(ops, `{"op":"remove","path":`+path+`}`)
		case is.String() != m.Val.String():
			ops = append(ops, `{"op":"replace","path":`+path+`,"value":`+is.String()+`}`)
		}
	}
	return []byte("[" + strings.Join(ops, ",") + "]")
}

// compact lets the history begin later.
func (f *folded) compact(share int) {
	first := f.horizon.Seq()
	before := first + (f.folds.log.last()-first)*uint64(share)/100
	gone := map[string][]feedText{}
	for _, view := range []string{"embedded", "referenced"} {
		gone[view] = f.feedTexts(view)
	}
	f.horizon = f.folds.compact(before)
	f.gone = map[string][]feedText{}
	for view, all := range gone {
		for _, text := range all {
			if positionOf(f.t, text) <= f.horizon {
				f.gone[view] = append(f.gone[view], text)
			}
		}
	}
}

// erase erases a document, or members of it, unless nothing would come of it.
func (f *folded) erase(op operation) {
	f.t.Helper()
	relations := slices.Sorted(maps.Keys(f.relations[op.key.collection]))
	if slices.ContainsFunc(op.members, func(m string) bool {
		return slices.ContainsFunc(relations, func(path string) bool { return steps(path)[0] == m })
	}) || !f.erasable(op, relations) {
		return
	}
	start := maps.Clone(f.views)
	last, held := f.lastRow(), map[string]map[okey]string{"embedded": f.heldNow("embedded"), "referenced": f.heldNow("referenced")}
	if d := f.o.docs[op.key]; d != nil && op.members == nil {
		if !f.delete(op.key) {
			return
		}
	} else if d != nil {
		if left := stripped(d.body, op.members, nil); left.String() != d.body.String() {
			f.o.write(op.key, left, "")
			f.stored(f.folds.append(&fanfold.Event{Kind: fanfold.KindPut, Key: keyOf(op.key), Body: []byte(left.String()), Actor: f.o.actor}), "replace", op.key)
		}
	}
	before := maps.Clone(f.views)
	f.rewrite(op, relations)
	e := &fanfold.Erasure{Documents: []fanfold.ErasedDocument{{Key: keyOf(op.key), Members: pointers(op.members)}}, Keep: map[string][]string{op.key.collection: relations}}
	in := &fanfold.Loss{UpTo: fanfold.AsOf(f.folds.log.last() + 1), List: &fanfold.Erasure{}}
	for key, view := range f.views { // what a consumer may have read before the delete or the put is another history's
		if before[key] != view || start[key] != view {
			in.List.Documents = append(in.List.Documents, fanfold.ErasedDocument{Key: keyOf(key)})
		}
	}
	seq := f.folds.append(&fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: e}}, &fanfold.Event{Kind: fanfold.KindLoss, Loss: in}) + 1
	f.expect = append(f.expect, expected{seq: seq, before: before, after: f.views, written: f.o.written(), links: f.o.expectedLinks(), oracle: f.o.clone(),
		erased: &erasedNow{op.key, op.members != nil, before, maps.Clone(f.views)}})
	f.erased = true
	f.check()
	f.wantConverged(last, held)
}
