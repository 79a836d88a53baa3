package tests

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/harness"
)

const histories = 1000

// TestRandomHistories folds random histories and compares every view and every row of the feed
// with what the oracle makes of the same history.
func TestRandomHistories(t *testing.T) {
	checks := histories / 2
	if testing.Short() {
		checks = 25
	}
	setFlag(t, "rapid.checks", strconv.Itoa(checks))
	setFlag(t, "rapid.nofailfile", "true")
	for _, name := range []string{"a", "b"} { // two at a time
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, randomHistory)
		})
	}
}

// TestPatchBesideTakenOver patches a document that has a member which a rule took over later.
func TestPatchBesideTakenOver(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("authors", "1", `{"id":"1","name":"Ann","count":"own"}`)
	s.Model(`
collections:
  authors: {derive: {count: {count: books.author, takeOver: true}}}
  books: {relations: {author: {path: author, to: authors}}}
`)
	s.Merge("authors", "1", `{"name":"Bea"}`)
	s.WantDoc("authors", "1", `{"id":"1","name":"Bea","count":0}`)
}

// TestReleaseAtOnce removes a rule and releases its path in one model: the feed tells that the
// field went, also where another rule changes the same document.
func TestReleaseAtOnce(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {derive: {count: {count: books.author}}}
  books: {relations: {author: {path: author, to: authors}}}
`)
	s.Put("authors", "1", `{"id":"1"}`)
	_, before := s.Changes("mode=all")
	s.Model(`
collections:
  authors: {derive: {books: {ids: books.author}}, release: [count]}
  books: {relations: {author: {path: author, to: authors}}}
`)
	s.WantDoc("authors", "1", `{"id":"1","books":[]}`)
	rows, _ := s.Changes("mode=all&since=" + before)
	doc := parseJSON(`{"id":"1","count":0}`)
	if len(rows) != 1 || !applyPatch(doc, string(rows[0].Patch)) || doc.String() != `{"id":"1","books":[]}` {
		t.Fatalf("the changes %+v make %s", rows, doc)
	}
}

// setFlag sets a flag of rapid's, unless the command line did, for the length of the test.
func setFlag(t *testing.T, name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	old := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, old) })
}

var (
	collections = []string{"as", "bs", "cs"}
	ids         = []string{"1", "2", "x"}
)

// relationPaths and the fields that may be copied along each.
var relationPaths = []struct {
	path   string
	fields []string
}{
	{"pub-id", []string{"pubName", "stats.pub", "stats.deep.pub"}},
	{"tags[]", []string{"tagNames", "stats.tags"}},
	{"authors[].id", []string{"authors[].name", "authors[].more.name", "authorNames"}},
	{"sections[].items[].ref", []string{"sections[].items[].title", "sections[].titles", "sections[].sum.titles", "refTitles"}},
	{"up.id", []string{"up.label", "Upper"}},
	{"grid[][]", []string{"gridNames"}},
}

// holderFields are where counts and id lists may stand.
var holderFields = []string{"count", "z-list", "stats.count", "stats.list", "up.count", "A"}

// plainMembers are members of documents that expressions may read.
var plainMembers = []string{"name", "n", "a", "b", "flag"}

// upTo draws 0 to n, all alike: rapid's own ranges prefer small numbers, and histories in which
// nothing meets anything.
func upTo(t *rapid.T, n int) int {
	v := 0
	for range 8 {
		v <<= 1
		if rapid.Bool().Draw(t, "bit") {
			v++
		}
	}
	return v * (n + 1) >> 8
}

func draw[T any](t *rapid.T, from ...T) T { return from[upTo(t, len(from)-1)] }

// chance is true in the given percentage of cases.
func chance(t *rapid.T, percent int) bool { return upTo(t, 99) >= 100-percent }

// history is one run: the store, the oracle, and the changes the feed should tell.
type history struct {
	t      *rapid.T
	s      *harness.Store
	o      *oracle
	views  map[okey]string // before the next event
	expect []expected
}

// expected is what one event should have changed.
type expected struct {
	seq           uint64
	op            string // of the direct change; "" for a model
	key           okey
	before, after map[okey]string
}

func randomHistory(t *rapid.T) {
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}()
	h := &history{t: t, o: newOracle(), views: map[okey]string{}}
	h.s = harness.Open(t, harness.Options{Dir: dir})
	defer func() { h.s.Close() }()
	h.run(rapid.Custom(func(t *rapid.T) operation {
		return operation{kind: "model", model: h.nextModel(t)}
	}).Draw(t, "0"))
	length := rapid.Custom(func(t *rapid.T) int { return 9 + upTo(t, 16) }).Draw(t, "length")
	for i := range length {
		h.run(rapid.Custom(h.operation).Draw(t, strconv.Itoa(i+1)))
	}
	h.check()
	h.checkFeed()
	h.s.Verify()
	before := h.s.Digest()
	h.s.Replay()
	if h.s.Digest() != before {
		t.Fatal("the replay's rows differ")
	}
	h.check()
	if chance(t, 25) {
		h.exportAndImport()
	}
}

// operation is one step of a history.
type operation struct {
	kind  string // put, delete, merge-patch, json-patch, transaction, model, replay or restart
	key   okey
	body  string
	model *omodel
	parts []operation // of a transaction: put, delete and merge-patch
}

// GoString is how rapid prints the operation.
func (op operation) GoString() string {
	switch op.kind {
	case "model":
		return "model " + op.model.String()
	case "replay", "restart":
		return op.kind
	case "transaction":
		return fmt.Sprintf("transaction %#v", op.parts)
	}
	return op.kind + " " + op.key.String() + " " + strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(op.body)
}

func (h *history) operation(t *rapid.T) operation {
	op := operation{key: h.key(t)}
	n := upTo(t, 99)
	if h.o.events < 7 {
		n = 0 // nothing happens to an empty store
	}
	switch {
	case n < 47:
		op.kind, op.body = "put", document(t, op.key, h.o.model)
	case n < 55:
		op.kind, op.parts = "transaction", h.parts(t)
	case n < 64:
		op.kind, op.body = "merge-patch", memberPatch(t)
		op.key = h.there(t, op.key)
	case n < 73:
		op.kind, op.body = "json-patch", patchText(t)
		op.key = h.there(t, op.key)
	case n < 86:
		op.kind, op.key = "delete", h.there(t, op.key)
	case n < 96:
		op.kind, op.model = "model", h.nextModel(t)
	case n < 98:
		op.kind = "replay"
	default:
		op.kind = "restart"
	}
	return op
}

// nextModel is a new model; some release what earlier rules reserved. TestReleaseAtOnce is about
// those that release what they remove.
func (h *history) nextModel(t *rapid.T) *omodel {
	m := randomModel(t, h.o.model)
	if !chance(t, 20) {
		return m
	}
	m.release = map[string][]string{}
	for c, paths := range h.o.owned {
		reserved := maps.Clone(paths)
		for _, r := range h.o.model.rules {
			for _, f := range r.fields() {
				if r.collection == c {
					delete(reserved, f)
				}
			}
		}
		m.release[c] = slices.Sorted(maps.Keys(reserved))
	}
	return m
}

// key is mostly of a collection that a relation comes from or leads to.
func (h *history) key(t *rapid.T) okey {
	c := draw(t, collections...)
	if rels := h.o.model.rels; len(rels) > 0 && chance(t, 90) {
		rel := draw(t, rels...)
		c = draw(t, rel.to, rel.collection)
	}
	return okey{c, draw(t, ids...)}
}

// there is mostly the key of a document that is there.
func (h *history) there(t *rapid.T, key okey) okey {
	var keys []okey
	for _, c := range collections {
		for _, id := range ids {
			if h.o.docs[okey{c, id}] != nil {
				keys = append(keys, okey{c, id})
			}
		}
	}
	if len(keys) == 0 || !chance(t, 90) {
		return key
	}
	return draw(t, keys...)
}

func (h *history) run(op operation) {
	switch op.kind {
	case "put":
		h.put(op.key, op.body)
	case "merge-patch":
		h.patch(op, func(doc *jv) bool {
			mergePatch(doc, parseJSON(op.body))
			return true
		})
	case "json-patch":
		h.patch(op, func(doc *jv) bool { return applyPatch(doc, op.body) })
	case "delete":
		h.delete(op.key)
	case "transaction":
		h.transaction(op.parts)
	case "model":
		r := h.s.Model(op.model.String())
		h.o.apply(op.model)
		h.accepted(r, "", okey{})
	case "replay":
		h.s.Replay()
		h.check()
	case "restart":
		h.s = h.s.Reopen()
		h.s.CatchUp()
		h.check()
	}
}

// accepted notes what the event should change.
func (h *history) accepted(r *harness.Response, op string, key okey) {
	h.t.Helper()
	seq, err := strconv.ParseUint(r.Header.Get("Fanfold-Revision"), 10, 64)
	if err != nil {
		h.t.Fatalf("Fanfold-Revision: %v", err)
	}
	h.stored(seq, op, key)
}

// stored notes an event that the oracle has applied.
func (h *history) stored(seq uint64, op string, key okey) {
	after := h.o.views()
	h.expect = append(h.expect, expected{seq, op, key, h.views, after})
	h.views = after
}

func (h *history) put(key okey, body string) {
	op := "create"
	if h.o.docs[key] != nil {
		op = "replace"
	}
	r := h.s.Put(key.collection, key.id, body)
	h.o.put(key, body)
	h.accepted(r, op, key)
}

func (h *history) delete(key okey) {
	want := http.StatusNoContent
	if h.o.docs[key] == nil {
		want = http.StatusNotFound
	}
	r := h.s.Want(want, http.MethodDelete, harness.Path(key.collection, key.id), "")
	if want == http.StatusNoContent {
		h.o.remove(key)
		h.accepted(r, "delete", key)
	}
}

// patch sends a patch; fits applies it to the oracle's document and tells whether it could.
func (h *history) patch(op operation, fits func(doc *jv) bool) {
	want := http.StatusNoContent
	var body *jv
	if d := h.o.docs[op.key]; d == nil {
		want = http.StatusNotFound
	} else if body = d.body.clone(); !fits(body) {
		want = http.StatusConflict
	}
	r := h.s.Want(want, http.MethodPatch, harness.Path(op.key.collection, op.key.id), op.body, "Content-Type", "application/"+op.kind+"+json")
	if want == http.StatusNoContent {
		h.o.write(op.key, body, "")
		h.accepted(r, "patch", op.key)
	}
}

// check compares both views of every document.
func (h *history) check() {
	h.t.Helper()
	for _, c := range collections {
		for _, id := range ids {
			key := okey{c, id}
			want, there := h.views[key]
			if !there {
				h.s.Want(http.StatusNotFound, http.MethodGet, harness.Path(c, id), "")
				continue
			}
			if got := h.s.Get(c, id); got != want {
				h.t.Fatalf("%s is\n  %s\nwant\n  %s", key, got, want)
			}
			d := h.o.docs[key]
			got := string(h.s.Want(http.StatusOK, http.MethodGet, harness.Path(c, id)+"?view=referenced", "").Body)
			if d.written != "" && got != d.written || parseJSON(got).String() != d.body.String() {
				h.t.Fatalf("%s as written is\n  %s\nwant\n  %s", key, got, d.body)
			}
		}
	}
}

// checkFeed wants, for every event, its direct change and one derived change of every other
// document whose view it altered, and nothing else.
func (h *history) checkFeed() {
	h.t.Helper()
	rows, _ := h.s.Changes("mode=all&since=0")
	revs := map[okey]uint64{}
	for _, e := range h.expect {
		n := 0
		for len(rows) > 0 && strings.HasPrefix(rows[0].Seq, fmt.Sprintf("%d-", e.seq)) {
			if rows[0].Seq != fmt.Sprintf("%d-%d", e.seq, n) {
				h.t.Fatalf("position %s, want %d-%d", rows[0].Seq, e.seq, n)
			}
			h.checkRow(e, rows[0], n == 0 && e.op != "", revs)
			rows, n = rows[1:], n+1
		}
		if missing := e.changes(); n != missing {
			h.t.Fatalf("event %d has %d changes in the feed, want %d", e.seq, n, missing)
		}
	}
	if len(rows) > 0 {
		h.t.Fatalf("the feed has %d rows too many, from %s", len(rows), rows[0].Seq)
	}
}

// changes is how many documents the event changed.
func (e *expected) changes() int {
	n := 0
	if e.op != "" {
		n = 1
	}
	for key, view := range e.after {
		if key != e.key && e.before[key] != view {
			n++
		}
	}
	return n
}

func (h *history) checkRow(e expected, row harness.Change, direct bool, revs map[okey]uint64) {
	h.t.Helper()
	key := okey{row.Collection, row.ID}
	if direct {
		if key != e.key || row.Op != e.op || row.Rev != e.seq {
			h.t.Fatalf("%s is %s %s rev %d, want %s %s rev %d", row.Seq, row.Op, key, row.Rev, e.op, e.key, e.seq)
		}
		if prev, had := e.before[key]; had && string(row.Previous) != prev {
			h.t.Fatalf("%s: previous is\n  %s\nwant\n  %s", row.Seq, row.Previous, prev)
		}
		revs[key] = row.Rev
		return
	}
	if row.Op != "derive" || key == e.key || row.Rev != revs[key] {
		h.t.Fatalf("%s is %s %s rev %d, want a derived change at rev %d", row.Seq, row.Op, key, row.Rev, revs[key])
	}
	if row.Cause == nil || row.Cause.Seq != fmt.Sprintf("%d-0", e.seq) || row.Cause.Collection != e.key.collection || row.Cause.ID != e.key.id {
		h.t.Fatalf("%s: cause %+v, want event %d", row.Seq, row.Cause, e.seq)
	}
	h.checkDelta(e, row, key)
}

// checkDelta applies a derived change's patch to the view before it.
func (h *history) checkDelta(e expected, row harness.Change, key okey) {
	h.t.Helper()
	doc := parseJSON(e.before[key])
	if e.before[key] == e.after[key] { // the order of members counts
		h.t.Fatalf("%s: %s did not change: %s", row.Seq, key, row.Patch)
	}
	var ops []struct {
		Op, Path   string
		Value, Old json.RawMessage
	}
	if err := json.Unmarshal(row.Patch, &ops); err != nil {
		h.t.Fatalf("%s: %v", row.Seq, err)
	}
	for _, op := range ops {
		old := ""
		if v := at(doc, op.Path); v != nil {
			old = v.String()
		}
		if string(op.Old) != old || (op.Op == "add") != (old == "") || string(op.Value) == old {
			h.t.Fatalf("%s: operation %s %s with value %s and old %s; the document has %q", row.Seq, op.Op, op.Path, op.Value, op.Old, old)
		}
		if !applyOperation(doc, op.Op, op.Path, string(op.Value)) {
			h.t.Fatalf("%s: %s does not fit %s", row.Seq, row.Patch, e.before[key])
		}
	}
	if want := parseJSON(e.after[key]).sorted(); doc.sorted() != want {
		h.t.Fatalf("%s: %s makes\n  %s\nwant\n  %s", row.Seq, row.Patch, doc.sorted(), want)
	}
}

// Documents.

// idValue is the text of a member that mostly holds an id.
func idValue(t *rapid.T) string {
	switch n := upTo(t, 19); {
	case n < 6:
		return draw(t, "1", "2")
	case n < 17:
		return quote(draw(t, ids...))
	case n == 17:
		return draw(t, `"\u0078"`, `"\u0031"`)
	default:
		return draw(t, `""`, "null", "true", "{}", `["1"]`, "1.0", quote(strings.Repeat("i", 256)), `"gone"`)
	}
}

func list(t *rapid.T, longest int, element func() string) string {
	parts := make([]string, upTo(t, longest))
	for i := range parts {
		parts[i] = element()
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// memberValue is a random value for a member of a document.
func memberValue(t *rapid.T, name string) string {
	switch name {
	case "name":
		return draw(t, `"Ann"`, `"Bob"`, `"C\u0041"`, "2.50", "null", `{"x":1,"id":"1"}`, `[ 1 , 2 ]`, `"a  b"`)
	case "n":
		return draw(t, "2.50", "1e3", "-0", "12345678901234567890", "7", `"7"`)
	case "a", "b":
		return draw(t, `"p"`, `"q"`, `"r s"`, `"\u0041"`, "1", "null")
	case "flag":
		return draw(t, "true", "false", `"true"`)
	case "pub-id":
		return idValue(t)
	case "tags":
		return list(t, 3, func() string { return idValue(t) })
	case "authors":
		return list(t, 3, func() string { return author(t) })
	case "sections":
		return list(t, 2, func() string {
			return draw(t, `{"items":`, `{"t":1,"items":`) + list(t, 2, func() string { return `{"ref":` + idValue(t) + "}" }) + "}"
		})
	case "grid":
		return list(t, 2, func() string { return list(t, 2, func() string { return idValue(t) }) })
	case "up":
		return draw(t, `{"id":`, `{"k":0,"id":`) + idValue(t) + "}"
	case "stats":
		return draw(t, "{}", `{"x":1}`, `"none"`, "null", `{"deep":{}}`, `{"deep":[1]}`)
	}
	return `"stale"`
}

func author(t *rapid.T) string {
	switch upTo(t, 7) {
	case 0:
		return draw(t, `"1"`, "null", "[]", "{}", `{"role":"x"}`, `{"id":"1","more":{}}`, `{"id":"1","more":"text"}`)
	case 1:
		return `{"role":"ed","id":` + idValue(t) + `,"name":"stale"}`
	default:
		return `{"id":` + idValue(t) + "}"
	}
}

// memberNames are the members of documents; the last are at derived paths of some models.
var memberNames = []string{"name", "n", "a", "b", "flag", "pub-id", "tags", "authors", "sections", "grid", "up", "stats", "pubName", "count", "z-list"}

func someMember(t *rapid.T) string {
	return memberNames[upTo(t, len(memberNames)-1)]
}

// document is a body's text, with whitespace. It mostly has what the model's relations and
// expressions read.
func document(t *rapid.T, key okey, m *omodel) string {
	var names, members []string
	for _, r := range m.rels {
		if r.collection == key.collection && chance(t, 85) {
			names = append(names, steps(r.path)[0])
		}
	}
	for _, name := range plainMembers {
		if chance(t, 75) {
			names = append(names, name)
		}
	}
	for range upTo(t, 3) {
		names = append(names, someMember(t))
	}
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			members = append(members, quote(name)+":"+memberValue(t, name))
		}
	}
	turn := upTo(t, len(members))
	members = append(members[turn:], members[:turn]...)
	id := quote("id") + ":" + quote(key.id)
	if key.id == "1" || key.id == "2" {
		id = quote("id") + ":" + draw(t, quote(key.id), key.id)
	}
	switch draw(t, "first", "last", "none") {
	case "first":
		members = append([]string{id}, members...)
	case "last":
		members = append(members, id)
	}
	return spread("{"+strings.Join(members, ",")+"}", draw(t, "", "", " ", "\n\t"))
}

// spread puts space around the structure of compact JSON text.
func spread(text, space string) string {
	var b strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' && (i == 0 || text[i-1] != '\\') {
			inside = !inside
		}
		if !inside && strings.IndexByte("{}[],:", c) >= 0 {
			b.WriteString(space + string(c) + space)
			continue
		}
		b.WriteByte(c)
	}
	return strings.TrimSpace(b.String())
}

// Patches. They keep off members that some model derives at the top level; inside values the
// generators above may still put them, which the oracle's want has to foresee.

var patchable = []string{"name", "n", "a", "b", "flag", "pub-id", "tags", "grid", "up", "stats", "sections"}

// patchText is a JSON Patch.
func patchText(t *rapid.T) string {
	ops := make([]string, 1+upTo(t, 1))
	for i := range ops {
		ops[i] = patchOperation(t)
	}
	return "[" + strings.Join(ops, ",") + "]"
}

// memberPatch is a merge patch.
func memberPatch(t *rapid.T) string {
	var members []string
	seen := map[string]bool{}
	for range 1 + upTo(t, 2) {
		name := draw(t, patchable...)
		if seen[name] {
			continue
		}
		seen[name] = true
		value := "null"
		if !chance(t, 25) {
			value = memberValue(t, name)
		}
		members = append(members, quote(name)+":"+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func mergePatch(doc, patch *jv) {
	for _, m := range patch.items {
		i := doc.index(m.key)
		switch {
		case m.val.kind == 'n' && i >= 0:
			doc.items = slices.Delete(doc.items, i, i+1)
		case m.val.kind == 'n':
		case m.val.kind == '{' && i >= 0 && doc.items[i].val.kind == '{':
			mergePatch(doc.items[i].val, m.val)
		case m.val.kind == '{':
			fresh := &jv{kind: '{'}
			mergePatch(fresh, m.val)
			doc.set(m, fresh)
		default:
			doc.set(m, m.val)
		}
	}
}

func (v *jv) set(m jmember, val *jv) {
	if i := v.index(m.key); i >= 0 {
		v.items[i].val = val
		return
	}
	v.items = append(v.items, jmember{key: m.key, raw: m.raw, val: val})
}

func patchOperation(t *rapid.T) string {
	name := draw(t, patchable...)
	if chance(t, 40) {
		path := draw(t, "/tags/-", "/tags/0", "/tags/1", "/up/id", "/authors/0/id", "/sections/0/items/0/ref", "/grid/0/-")
		if chance(t, 30) {
			return `{"op":"remove","path":"` + path + `"}`
		}
		return `{"op":"` + draw(t, "add", "replace") + `","path":"` + path + `","value":` + idValue(t) + "}"
	}
	if op := draw(t, "add", "replace", "remove"); op != "remove" {
		return `{"op":"` + op + `","path":"/` + name + `","value":` + memberValue(t, name) + "}"
	}
	return `{"op":"remove","path":"/` + name + `"}`
}

// applyPatch applies a JSON Patch and tells whether all of it fits.
func applyPatch(doc *jv, patch string) bool {
	for _, m := range parseJSON(patch).items {
		value := ""
		if v := m.val.get("value"); v != nil {
			value = v.String()
		}
		if !applyOperation(doc, unquote(m.val.get("op").text), unquote(m.val.get("path").text), value) {
			return false
		}
	}
	return true
}

func applyOperation(doc *jv, op, path, value string) bool {
	if path == "" && op == "replace" {
		*doc = *parseJSON(value)
		return true
	}
	cut := strings.LastIndexByte(path, '/')
	parent, last := at(doc, path[:cut]), path[cut+1:]
	if parent == nil || parent.kind != '{' && parent.kind != '[' {
		return false
	}
	i, found := parent.find(last)
	switch {
	case i < 0 || op != "add" && !found:
		return false
	case op == "remove":
		parent.items = slices.Delete(parent.items, i, i+1)
	case op == "replace" || parent.kind == '{' && found:
		parent.items[i].val = parseJSON(value)
	default:
		parent.items = slices.Insert(parent.items, i, jmember{key: last, raw: quote(last), val: parseJSON(value)})
	}
	return true
}

// find is the index of a member or element, or where it would be added; -1 for nowhere.
func (v *jv) find(token string) (i int, found bool) {
	if v.kind == '{' {
		if i := v.index(token); i >= 0 {
			return i, true
		}
		return len(v.items), false
	}
	if token == "-" {
		return len(v.items), false
	}
	i, err := strconv.Atoi(token)
	if err != nil || i > len(v.items) {
		return -1, false
	}
	return i, i < len(v.items)
}

// at is the value at a JSON pointer, or nil.
func at(v *jv, pointer string) *jv {
	if pointer == "" {
		return v
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if v.kind != '{' && v.kind != '[' {
			return nil
		}
		i, found := v.find(token)
		if !found {
			return nil
		}
		v = v.items[i].val
	}
	return v
}

// Models.

// randomModel is a new model: another one, or prev with a few changes.
func randomModel(t *rapid.T, prev *omodel) *omodel {
	m := &omodel{}
	if len(prev.rules) > 0 && !chance(t, 20) {
		m = prev.clone()
		for range 1 + upTo(t, 2) {
			m.change(t)
		}
	} else {
		for range 2 + upTo(t, 3) {
			m.addRelation(t)
		}
		for range 3 + upTo(t, 5) {
			m.addRule(t)
		}
	}
	m.breakCycles()
	return m
}

func (m *omodel) clone() *omodel {
	c := &omodel{}
	moved := map[*orel]*orel{}
	for _, r := range m.rels {
		rel := *r
		moved[r] = &rel
		c.rels = append(c.rels, &rel)
	}
	for _, r := range m.rules {
		rule := *r
		rule.rel = moved[r.rel]
		c.rules = append(c.rules, &rule)
	}
	return c
}

func (m *omodel) change(t *rapid.T) {
	switch op := draw(t, "rule", "rule", "relation", "drop", "drop", "expr", "policy", "drop relation"); {
	case op == "rule":
		m.addRule(t)
	case op == "relation":
		m.addRelation(t)
	case op == "drop" && len(m.rules) > 0:
		i := upTo(t, len(m.rules)-1)
		m.rules = slices.Delete(m.rules, i, i+1)
	case op == "expr" && len(m.rules) > 0:
		i := upTo(t, len(m.rules)-1)
		m.rules[i].options(t, m)
	case op == "policy" && len(m.rels) > 0:
		i := upTo(t, len(m.rels)-1)
		m.rels[i].onDelete = draw(t, "", "clear", "keep")
	case op == "drop relation" && len(m.rels) > 0:
		i := upTo(t, len(m.rels)-1)
		rel := m.rels[i]
		m.rels = slices.Delete(m.rels, i, i+1)
		m.rules = slices.DeleteFunc(m.rules, func(r *orule) bool { return r.rel == rel })
	}
}

// addRelation adds a relation; two of a collection may read the same path.
func (m *omodel) addRelation(t *rapid.T) {
	c := draw(t, collections...)
	path := relationPaths[upTo(t, len(relationPaths)-1)].path
	name := draw(t, "r1", "r2", "r-3")
	if slices.ContainsFunc(m.rels, func(r *orel) bool { return r.collection == c && r.name == name }) {
		return
	}
	m.rels = append(m.rels, &orel{c, name, path, draw(t, collections...), draw(t, "", "keep", "keep", "keep")})
}

func (m *omodel) addRule(t *rapid.T) {
	if len(m.rels) == 0 {
		return
	}
	rel := m.rels[upTo(t, len(m.rels)-1)]
	r := &orule{collection: rel.collection, rel: rel, kind: draw(t, "copy", "copy", "copy", "count", "ids")}
	if r.kind == "copy" {
		i := slices.IndexFunc(relationPaths, func(p struct {
			path   string
			fields []string
		}) bool {
			return p.path == rel.path
		})
		r.path = draw(t, relationPaths[i].fields...)
	} else {
		r.collection = rel.to
		r.path = draw(t, holderFields...)
	}
	if m.rule(r.name()) == nil {
		r.options(t, m)
		m.rules = append(m.rules, r)
	}
}

// options gives a rule an expression, a condition or a limit.
func (r *orule) options(t *rapid.T, m *omodel) {
	switch r.kind {
	case "count":
		r.where = draw(t, "", "doc.flag == true")
	case "ids":
		r.limit = draw(t, 0, 1, 2)
	default:
		r.expr = expression(t, m, r.rel.to)
	}
}

// expression reads plain members of the target, or derived ones.
func expression(t *rapid.T, m *omodel, target string) oexpr {
	names := slices.Clone(plainMembers)
	for _, r := range m.rules {
		if r.collection == target {
			top := steps(r.path)[0]
			if top != "z-list" { // CEL reads doc.z-list as a difference
				names = append(names, top, top)
			}
		}
	}
	switch draw(t, "member", "member", "member", "concat", "nested", "pair") {
	case "concat":
		return oexpr{"concat", []string{"a", "b"}}
	case "nested":
		return oexpr{"nested", []string{draw(t, "stats", "up"), draw(t, "count", "x", "label", "pub")}}
	case "pair":
		return oexpr{"pair", []string{draw(t, names...), draw(t, names...)}}
	}
	return oexpr{"member", []string{draw(t, names...)}}
}

// breakCycles makes copies that depend on themselves read a plain member.
func (m *omodel) breakCycles() {
	for _, r := range m.rules {
		if r.kind == "copy" && m.reaches(r, r, map[*orule]bool{}) {
			r.expr = oexpr{"member", []string{"name"}}
		}
	}
}

func (m *omodel) reaches(from, to *orule, seen map[*orule]bool) bool {
	if from.kind != "copy" {
		return false
	}
	for _, o := range m.rules {
		if o.collection != from.rel.to || !slices.ContainsFunc(o.fields(), func(f string) bool {
			return slices.Contains(from.expr.reads(), steps(f)[0])
		}) {
			continue
		}
		if o == to {
			return true
		}
		if !seen[o] {
			seen[o] = true
			if m.reaches(o, to, seen) {
				return true
			}
		}
	}
	return false
}

// String is the model as the store reads it.
func (m *omodel) String() string {
	var parts []string
	for _, c := range collections {
		var rels, rules []string
		for _, r := range m.rels {
			if r.collection == c {
				rels = append(rels, r.json())
			}
		}
		for _, r := range m.rules {
			if r.collection == c {
				rules = append(rules, quote(r.path)+":"+r.json())
			}
		}
		release := ""
		if paths := m.release[c]; len(paths) > 0 {
			release = `,"release":["` + strings.Join(paths, `","`) + `"]`
		}
		parts = append(parts, fmt.Sprintf(`"%s":{"relations":{%s},"derive":{%s}%s}`, c, strings.Join(rels, ","), strings.Join(rules, ","), release))
	}
	return `{"collections":{` + strings.Join(parts, ",") + "}}"
}

func (r *orel) json() string {
	policy := ""
	if r.onDelete != "" {
		policy = `,"onDelete":` + quote(r.onDelete)
	}
	return fmt.Sprintf(`"%s":{"path":"%s","to":"%s"%s}`, r.name, r.path, r.to, policy)
}

func (r *orule) json() string {
	option := ""
	switch {
	case r.kind == "copy":
		return fmt.Sprintf(`{"copy":"%s","value":"%s","takeOver":true}`, r.rel.name, r.expr)
	case r.where != "":
		option = `,"where":` + quote(r.where)
	case r.limit != 0:
		option = `,"limit":` + strconv.Itoa(r.limit)
	}
	return fmt.Sprintf(`{"%s":"%s.%s"%s,"takeOver":true}`, r.kind, r.rel.collection, r.rel.name, option)
}
