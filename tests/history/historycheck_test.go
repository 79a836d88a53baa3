package history_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// check compares both views of every document.
func (h *history) check() {
	h.t.Helper()
	for _, c := range collections {
		for _, id := range ids {
			key := okey{c, id}
			want, there := h.views[key]
			got, shown := h.shown().document(key, "embedded", "")
			if got != want || shown != there {
				h.t.Fatalf("%s is\n  %s\nwant\n  %s", key, got, want)
			}
			if !there {
				continue
			}
			d := h.o.docs[key]
			got, _ = h.shown().document(key, "referenced", "")
			if d.written != "" && got != d.written || jsonvalue.Parse(got).String() != d.body.String() {
				h.t.Fatalf("%s as written is\n  %s\nwant\n  %s", key, got, d.body)
			}
		}
	}
}

// checkIndexes compares the order of documents in every index with the one that the oracle puts them into.
func (h *history) checkIndexes() {
	h.t.Helper()
	for _, x := range h.o.model.indexes {
		want, got := h.indexOrder(x), h.shown().indexOrder(x.collection, x.name)
		if !slices.Equal(got, want) {
			h.t.Fatalf("index %s of %s with %v has\n  %v\nwant\n  %v\nof %v", x.name, x.collection, x.components, got, want, h.views)
		}
	}
}

// checkPages compares the pages of every document that has some.
func (h *history) checkPages() {
	h.t.Helper()
	for _, rel := range h.o.model.rels {
		for _, id := range ids {
			if rel.pages == 0 || h.o.docs[okey{rel.to, id}] == nil {
				continue
			}
			want := h.o.pages(rel, id)
			for i, page := range want {
				number := strconv.Itoa(i + 1)
				if i == len(want)-1 {
					number = "last"
				}
				r := h.s.Want(http.StatusOK, http.MethodGet, harness.Path(rel.to, id)+"/"+rel.collection+"?relation="+rel.name+"&page="+number, "")
				got := jsonvalue.Parse(string(r.Body))
				var held []string
				for _, m := range got.Get(rel.collection).Items {
					held = append(held, m.Val.IDs([]string{"id"})...)
				}
				if !slices.Equal(held, page) || got.Get("page").Text != strconv.Itoa(i+1) || got.Get("pages").Text != strconv.Itoa(len(want)) {
					h.t.Fatalf("page %d of %d of %s on %s/%s is %s, want %v", i+1, len(want), rel.full(), rel.to, id, r.Body, page)
				}
			}
		}
	}
}

// checkCollections compares what GET /v1 counts with the documents that there are.
func (h *history) checkCollections() {
	h.t.Helper()
	want := map[string]int64{}
	for key := range h.o.docs {
		want[key.collection]++
	}
	var list struct {
		Collections []struct {
			Name      string
			Documents int64
		}
	}
	if err := json.Unmarshal(h.s.Want(http.StatusOK, http.MethodGet, "/v1", "").Body, &list); err != nil {
		h.t.Fatal(err)
	}
	for _, c := range list.Collections {
		if c.Documents != want[c.Name] {
			h.t.Fatalf("%s has %d documents, want %d", c.Name, c.Documents, want[c.Name])
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		h.t.Fatalf("the collections lack %v", want)
	}
}

// checkKept compares how many values stay on documents by each rule, whether or not it is there.
func (h *history) checkKept() {
	h.t.Helper()
	model, want := h.o.releaseAll()
	if got := harness.KeptValues(h.t, h.s, model); got != want {
		h.t.Fatalf("what stays on documents is\n  %s\nwant\n  %s", got, want)
	}
}

// refuseLoss wants a model that would lose values to be refused as long as it does not release their paths.
func (h *history) refuseLoss(m *omodel) {
	h.t.Helper()
	if m.loses != nil {
		h.s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model?allowRemoval=true", m.loses.String(), "Content-Type", "application/yaml")
	}
}

// checkOmissions compares what _status says of values that views have no room for.
func (h *history) checkOmissions() {
	h.t.Helper()
	var status struct{ Omitted json.RawMessage }
	if err := json.Unmarshal(h.s.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status); err != nil {
		h.t.Fatal(err)
	}
	got := string(status.Omitted)
	if got == "" {
		got = "[]"
	}
	if want := h.o.omissions(); got != want {
		h.t.Fatalf("omitted is %s, want %s", got, want)
	}
}

// expected is what one event should have changed.
type expected struct {
	seq           uint64
	op            string // of the direct change; "" for a model
	key           okey
	before, after map[okey]string
	written       map[okey]writtenView
	links         []expectedLinks
	oracle        *oracle // as it was
	roots         []okey  // documents whose deletes brought the event with them; none where somebody asked for it
	refresh       []string
	call          string     // the function in whose transaction the event is; "" for none
	maybePut      bool       // a patch that may have become a put
	erased        *erasedNow // of the event from which on something is erased
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

// checkFeed wants, for every event, its direct change and one derived change of every other
// document whose view it altered, and nothing else.
func (h *history) checkFeed() {
	h.t.Helper()
	rows := h.changes("mode=all&since=" + h.since())
	revs := map[okey]uint64{}
	begins := h.begins(rows)
	for _, e := range h.expect {
		if e.seq <= h.horizon.Seq() {
			if e.op != "" {
				revs[e.key] = e.seq
			}
			continue
		}
		if e.erased != nil {
			rows = h.checkErasedRows(e, rows, revs)
			continue
		}
		n := 0
		for len(rows) > 0 && strings.HasPrefix(rows[0].Seq, fmt.Sprintf("%d-", e.seq)) {
			if harness.Bare(rows[0].Seq) != fmt.Sprintf("%d-%d", e.seq, n) {
				h.t.Fatalf("position %s, want %d-%d", rows[0].Seq, e.seq, n)
			}
			h.checkRow(e, rows[0], begins, n == 0 && e.op != "", revs)
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

// begins returns what was there before each transaction.
func (h *history) begins(rows []harness.Change) map[string]map[okey]string {
	begins := map[string]map[okey]string{}
	for _, row := range rows {
		if row.Tx == "" || begins[row.Tx] != nil {
			continue
		}
		i := slices.IndexFunc(h.expect, func(e expected) bool { return e.seq == harness.SeqOf(row.Seq) })
		begins[row.Tx] = h.expect[i].before
	}
	return begins
}

func (h *history) checkRow(e expected, row harness.Change, begins map[string]map[okey]string, direct bool, revs map[okey]uint64) {
	h.t.Helper()
	key := okey{row.Collection, row.ID}
	if row.Call != e.call {
		h.t.Fatalf("%s is of a call of %q, want %q", row.Seq, row.Call, e.call)
	}
	if direct {
		if e.maybePut && row.Op == "replace" {
			e.op = "replace"
		}
		if key != e.key || row.Op != e.op || row.Rev != e.seq {
			h.t.Fatalf("%s is %s %s rev %d, want %s %s rev %d", row.Seq, row.Op, key, row.Rev, e.op, e.key, e.seq)
		}
		before := e.before
		if row.Tx != "" {
			before = begins[row.Tx]
		}
		if prev, had := before[key]; had && string(row.Previous) != prev {
			h.t.Fatalf("%s: previous is\n  %s\nwant\n  %s", row.Seq, row.Previous, prev)
		}
		revs[key] = row.Rev
		h.checkByDelete(e, row)
		return
	}
	if row.Op != "derive" || key == e.key || row.Rev != revs[key] {
		h.t.Fatalf("%s is %s %s rev %d, want a derived change at rev %d", row.Seq, row.Op, key, row.Rev, revs[key])
	}
	if row.Cause == nil || harness.Bare(row.Cause.Seq) != fmt.Sprintf("%d-0", e.seq) || row.Cause.Collection != e.key.collection || row.Cause.ID != e.key.id {
		h.t.Fatalf("%s: cause %+v, want event %d", row.Seq, row.Cause, e.seq)
	}
	h.checkDelta(e, row, key)
}

// checkByDelete wants a write that a delete brought with it to name that delete, and relations with the policy, and others to
// name none.
func (h *history) checkByDelete(e expected, row harness.Change) {
	h.t.Helper()
	c := row.Cause
	if len(e.roots) == 0 && c == nil {
		return
	}
	if c == nil || !slices.ContainsFunc(h.expect, func(root expected) bool {
		return root.op == "delete" && slices.Contains(e.roots, root.key) && root.key == okey{c.Collection, c.ID} && harness.Bare(c.Seq) == fmt.Sprintf("%d-0", root.seq)
	}) {
		h.t.Fatalf("%s: cause %+v, want the delete of one of %v", row.Seq, c, e.roots)
	}
	name, rest, _ := strings.Cut(c.Rule, ".")
	if name != row.Collection || rest == "" || len(c.Rules) == 1 || len(c.Rules) > 1 && c.Rules[0] != c.Rule {
		h.t.Fatalf("%s: cause %+v does not name a relation of %s", row.Seq, c, row.Collection)
	}
}

// checkDelta applies a derived change's patch to the view before it.
func (h *history) checkDelta(e expected, row harness.Change, key okey) {
	h.t.Helper()
	doc := jsonvalue.Parse(e.before[key])
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
		if v := jsonvalue.At(doc, op.Path); v != nil {
			old = v.String()
		}
		if string(op.Old) != old || (op.Op == "add") != (old == "") || string(op.Value) == old {
			h.t.Fatalf("%s: operation %s %s with value %s and old %s; the document has %q", row.Seq, op.Op, op.Path, op.Value, op.Old, old)
		}
		if !jsonvalue.ApplyOperation(doc, op.Op, op.Path, string(op.Value)) {
			h.t.Fatalf("%s: %s does not fit %s", row.Seq, row.Patch, e.before[key])
		}
	}
	if want := jsonvalue.Parse(e.after[key]).Sorted(); doc.Sorted() != want {
		h.t.Fatalf("%s: %s makes\n  %s\nwant\n  %s", row.Seq, row.Patch, doc.Sorted(), want)
	}
}

// exportAndImport wants an equal store of an export, through _import.
func (h *history) exportAndImport() {
	export := h.s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body
	h.importing(export, func() {
		h.check()
		h.checkKept()
		again := h.s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body
		if h.exported(again) != h.exported(export) {
			h.t.Fatalf("the export of the import is\n%s\nwant\n%s", again, export)
		}
	})
}

// importing imports an export into a new store, in which it then calls fn.
func (h *history) importing(export []byte, fn func()) {
	h.t.Helper()
	dir, err := os.MkdirTemp("", "imported")
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			h.t.Fatal(err)
		}
	}()
	original := h.s
	h.s = harness.Open(h.t, harness.Options{KeepFold: true, Dir: dir})
	defer func() {
		h.s.Close()
		h.s = original
	}()
	defer h.forgetWrites()()
	if h.o.newest {
		h.s.SetFold(fold.LatestVersion)
	}
	r := h.s.Want(http.StatusOK, http.MethodPost, "/v1/_import", string(export), "Content-Type", "application/x-ndjson")
	if !strings.Contains(string(r.Body), `"done":true`) || !strings.Contains(string(r.Body), `"refused":0`) {
		h.t.Fatalf("the import of\n%s\nsays\n%s", export, r.Body)
	}
	fn()
	h.s.Verify()
}

// forgetWrites makes the oracle one of a store which has imported every document: the last write of each is its import, in the
// order of creation. Nobody in particular sent it. The function that it returns takes that back.
func (h *history) forgetWrites() (back func()) {
	views, were := h.views, map[*odoc]odoc{}
	for _, d := range h.o.docs {
		were[d] = *d
		d.updated, d.creator, d.writer = d.created, "", ""
	}
	h.views = h.o.views()
	return func() {
		for d, was := range were {
			*d = was
		}
		h.views = views
	}
}

// exported is an export without the difference between doc and text: paths that are reserved in
// one store may not be in the other, and both say the same.
func (h *history) exported(export []byte) string {
	var out strings.Builder
	for line := range strings.Lines(string(export)) {
		var l struct {
			Collection                string
			Model, Retired, Kept, Doc json.RawMessage
			Text                      *string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			h.t.Fatalf("%s: %v", line, err)
		}
		if l.Text != nil {
			l.Doc = json.RawMessage(*l.Text)
		}
		fmt.Fprintf(&out, "%s %s %s %s %s\n", l.Collection, l.Model, l.Retired, l.Kept, l.Doc)
	}
	return out.String()
}
