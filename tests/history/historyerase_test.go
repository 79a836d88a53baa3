package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// erasedNow says what is erased from an event on.
type erasedNow struct {
	key     okey
	members bool
	before  map[okey]string // every view right before it, and from it on, whatever is erased later
	after   map[okey]string
}

// noteRelations notes the paths of the model's relations.
func (h *history) noteRelations() {
	if h.relations == nil {
		h.relations = map[string]map[string]bool{}
	}
	for _, rel := range h.o.model.rels {
		if h.relations[rel.collection] == nil {
			h.relations[rel.collection] = map[string]bool{}
		}
		h.relations[rel.collection][rel.path] = true
	}
}

// known is mostly the key of a document that is there, or was.
func (h *history) known(t *rapid.T) okey {
	var keys []okey
	for _, e := range h.expect {
		if e.op != "" && !slices.Contains(keys, e.key) {
			keys = append(keys, e.key)
		}
	}
	if len(keys) == 0 {
		return h.key(t)
	}
	return draw(t, keys...)
}

// erase erases a document or members of it. From then on the history is what it would be had the document never said more.
func (h *history) erase(op operation) {
	h.t.Helper()
	relations := slices.Sorted(maps.Keys(h.relations[op.key.collection]))
	if slices.ContainsFunc(op.members, func(m string) bool {
		return slices.ContainsFunc(relations, func(path string) bool { return steps(path)[0] == m })
	}) {
		return
	}
	living := h.o.docs[op.key]
	was := slices.ContainsFunc(h.expect, func(e expected) bool { return e.op != "" && e.key == op.key })
	held := false
	var gone map[okey]bool
	var edits map[okey]*jsonvalue.Value
	if living != nil && op.members == nil {
		gone, edits, held, _ = h.o.removal([]okey{op.key}, nil)
	}
	last, shown := h.lastRow(), map[string]map[okey]string{"embedded": h.heldNow("embedded"), "referenced": h.heldNow("referenced")}
	answer := h.sendErase(op)
	switch {
	case !was:
		h.wantStatus(answer, http.StatusNotFound)
		return
	case held:
		h.wantStatus(answer, http.StatusConflict)
		return
	case answer.Status == http.StatusOK:
		if h.erasable(op, relations) {
			h.t.Fatalf("%#v says that there is nothing left to erase: %s", op, answer.Body)
		}
		return
	}
	h.wantStatus(answer, http.StatusAccepted)
	at := h.s.Erased(answer.Header.Get("Location"))
	h.noteDeleted(op, living, gone, edits, last)
	before := maps.Clone(h.views)
	h.rewrite(op, relations)
	h.expect = append(h.expect, expected{seq: at.Seq(), before: before, after: h.views, written: h.o.written(), links: h.o.expectedLinks(), oracle: h.o.clone(),
		erased: &erasedNow{op.key, op.members != nil, before, maps.Clone(h.views)}})
	h.erased = true
	h.check()
	h.wantConverged(last, shown)
}

// sendErase asks for an erasure, once no purge is under way.
func (h *history) sendErase(op operation) *harness.Response {
	h.t.Helper()
	body := []byte(`{}`)
	if op.members != nil {
		body = fmt.Appendf(nil, `{"members":["/%s"]}`, strings.Join(op.members, `","/`))
	}
	for end := time.Now().Add(time.Minute); ; {
		r, err := h.s.Do(http.MethodPost, harness.Path(op.key.collection, op.key.id)+"/_erase", body, "Content-Type", "application/json")
		if err != nil {
			h.t.Fatal(err)
		}
		if r.Status == http.StatusConflict && strings.Contains(string(r.Body), "purge") {
			if time.Now().After(end) {
				h.t.Fatalf("the erasure does not begin: %s", r.Body)
			}
			time.Sleep(5 * time.Millisecond) // between two looks
			continue
		}
		return r
	}
}

// lastRow returns the position of the feed's last row.
func (h *history) lastRow() string {
	h.t.Helper()
	rows := h.changes("mode=all&since=" + h.since())
	if len(rows) == 0 {
		return h.since()
	}
	return rows[len(rows)-1].Seq
}

// wantStatus wants an answer to have a status.
func (h *history) wantStatus(r *harness.Response, status int) {
	h.t.Helper()
	if r.Status != status {
		h.t.Fatalf("the answer is %d %s, want %d", r.Status, r.Body, status)
	}
}

// erasable tells whether a version that is kept has what an erasure takes away.
func (h *history) erasable(op operation, relations []string) bool {
	for _, e := range h.expect {
		if e.oracle == nil || e.oracle.docs[op.key] == nil || e.seq < h.horizon.Seq() && h.expect[len(h.expect)-1].seq > h.horizon.Seq() {
			continue
		}
		if d := e.oracle.docs[op.key]; stripped(d.body, op.members, relations).String() != d.body.String() {
			return true
		}
	}
	return false
}

// noteDeleted notes what an erasure wrote first: the delete of what lived, or the document without its members.
func (h *history) noteDeleted(op operation, living *odoc, gone map[okey]bool, edits map[okey]*jsonvalue.Value, last string) {
	h.t.Helper()
	if living == nil {
		return
	}
	rows, _ := h.s.Changes("mode=all&since=" + last)
	i := slices.IndexFunc(rows, func(r harness.Change) bool {
		return (r.Op == "delete" || r.Op == "replace") && r.Collection == op.key.collection && r.ID == op.key.id
	})
	if op.members != nil {
		if i < 0 { // it had none of them
			return
		}
		h.o.write(op.key, stripped(living.body, op.members, nil), "")
		h.stored(rows[i].Rev, "replace", op.key)
		return
	}
	if i < 0 {
		h.t.Fatalf("%s was not deleted: %+v", op.key, rows)
	}
	if gone == nil {
		gone = map[okey]bool{}
	}
	gone[op.key] = true // what goes with it may go before it
	h.removed(gone, edits, []okey{op.key})
}

// rewrite makes the expected history anew, with the document as it is after the erasure in every version.
func (h *history) rewrite(op operation, relations []string) {
	h.t.Helper()
	o, old := newOracle(), h.expect
	o.times = h.o.times
	h.expect = nil
	for _, e := range old {
		if e.seq <= h.horizon.Seq() {
			h.expect = append(h.expect, e)
			o = e.oracle.clone()
		}
	}
	old = old[len(h.expect):]
	h.o = o
	if n := len(h.expect); n > 0 {
		h.amend(op, relations)
		e := &h.expect[n-1]
		e.after, e.written, e.links, e.oracle = h.o.views(), h.o.written(), h.o.expectedLinks(), h.o.clone()
	}
	h.views = h.o.views()
	for _, e := range old {
		h.again(e, op, relations)
	}
}

// again has the oracle accept an event once more.
func (h *history) again(e expected, op operation, relations []string) {
	now := e.oracle
	switch e.op {
	case "delete":
		h.o.remove(e.key)
	case "":
		if e.erased == nil {
			h.o.newest = now.newest
			h.o.apply(now.model)
		}
	default:
		d := now.docs[e.key]
		body, written := d.body.Clone(), d.written
		if e.key == op.key {
			if body = stripped(body, op.members, relations); body.String() != d.body.String() {
				written = ""
			}
			switch {
			case e.op != "patch":
			case op.members == nil || body.String() != d.body.String():
				e.op = "replace"
			default:
				e.maybePut = true // where the patch names what goes, or the document has had it before
			}
		}
		h.o.actor = d.writer
		h.o.write(e.key, body, written, e.refresh...)
	}
	after := h.o.views()
	e.before, e.after, e.written, e.links, e.oracle = h.views, after, h.o.written(), h.o.expectedLinks(), h.o.clone()
	h.expect = append(h.expect, e)
	h.views = after
}

// amend takes a document out of the state at the horizon.
func (h *history) amend(op operation, relations []string) {
	o := h.o
	events, writes := o.events, map[okey]odoc{}
	for key, d := range o.docs {
		writes[key] = *d
	}
	holders, had := map[okey]bool{}, maps.Clone(o.kept)
	o.unkeep(op.key, op.members, holders)
	if d := o.docs[op.key]; d != nil {
		o.write(op.key, stripped(d.body, op.members, relations), "")
	}
	for _, d := range o.inOrder() {
		if holders[d.key] {
			o.write(d.key, d.body, d.written)
		}
	}
	maps.DeleteFunc(o.kept, func(k okept, _ string) bool { // no document was written, so none took what was absent until then
		_, there := had[k]
		return !there
	})
	o.events = events
	for key, was := range writes {
		d := o.docs[key]
		d.created, d.updated, d.creator, d.writer = was.created, was.updated, was.creator, was.writer
	}
}

// unkeep drops the values that are kept of a document, made of some of its members, nil for any, and those kept of what shows them. It notes
// their holders.
func (o *oracle) unkeep(target okey, members []string, holders map[okey]bool) {
	for _, k := range slices.Collect(maps.Keys(o.kept)) {
		reads := func(name string) bool { return slices.Contains(members, name) }
		if _, there := o.kept[k]; !there || k.target != target || members != nil && !slices.ContainsFunc(o.keeper(k.rule).expr.reads(), reads) {
			continue
		}
		delete(o.kept, k)
		holders[k.holder] = true
		if rule := o.model.rule(k.rule); rule != nil {
			o.unkeep(k.holder, o.following(rule), holders)
		}
	}
}

// following names the members of a document in which a rule's value stands, and those that are computed from them.
func (o *oracle) following(rule *orule) []string {
	names := []string{steps(rule.path)[0]}
	for i := 0; i < len(names); i++ {
		for _, r := range o.model.rules {
			if first := steps(r.path)[0]; r.rel == nil && r.collection == rule.collection && slices.Contains(r.expr.reads(), names[i]) && !slices.Contains(names, first) {
				names = append(names, first)
			}
		}
	}
	return names
}

// heldNow returns the documents as a consumer has them that has read the feed up to now.
func (h *history) heldNow(view string) map[okey]string {
	held := map[okey]string{}
	for key := range h.o.docs {
		held[key], _ = h.shown().document(key, view, "")
	}
	return held
}

// heldAt returns the documents as a consumer has them that has read the feed up to a position, and nothing that is erased.
func (h *history) heldAt(at fanfold.Position, view string) map[okey]string {
	held, last := map[okey]string{}, expected{}
	for _, e := range h.expect {
		if e.seq <= at.Seq() {
			last = e
		}
	}
	for key := range last.after {
		body, there := h.shown().document(key, view, at.String())
		if !there {
			h.t.Fatalf("there is no %s at %s", key, at)
		}
		held[key] = body
	}
	return held
}

// wantConverged wants a consumer that goes on after an erasure to have what there is.
func (h *history) wantConverged(last string, shown map[string]map[okey]string) {
	h.t.Helper()
	for view, held := range shown {
		var page struct{ Results []harness.Change }
		body := h.shown().feed(fmt.Sprintf("mode=all&include_docs=true&since=%s&view=%s", last, view))
		if err := json.Unmarshal(body, &page); err != nil {
			h.t.Fatal(err)
		}
		for _, row := range page.Results {
			key := okey{row.Collection, row.ID}
			if delete(held, key); row.Op != "delete" && row.Op != "erase" {
				held[key] = string(row.Doc)[:max(0, strings.LastIndex(string(row.Doc), `,"_meta":`))] + "}"
			}
		}
		h.checkFollowed(held, h.expect[len(h.expect)-1], view)
	}
}

// checkErasedRows wants the event from which on something is erased to tell of the document, and of every other one whose view is another.
func (h *history) checkErasedRows(e expected, rows []harness.Change, revs map[okey]uint64) (rest []harness.Change) {
	h.t.Helper()
	told := map[okey]bool{}
	for n := 0; len(rows) > 0 && strings.HasPrefix(rows[0].Seq, fmt.Sprintf("%d-", e.seq)); n++ {
		row := rows[0]
		key := okey{row.Collection, row.ID}
		_, living := e.after[key]
		want := "erase"
		if living {
			want = "derive"
		}
		if harness.Bare(row.Seq) != fmt.Sprintf("%d-%d", e.seq, n) || told[key] || row.Op != want || row.Rev != revs[key] || row.Patch != nil || row.Previous != nil || want == "erase" && key != e.erased.key {
			h.t.Fatalf("%+v, want a row %s of rev %d after %d others", row, want, revs[key], n)
		}
		told[key] = true
		rows = rows[1:]
	}
	for key := range e.erased.after {
		if e.erased.before[key] != e.erased.after[key] && !told[key] {
			h.t.Fatalf("event %d does not tell of %s, which is\n  %s\nand was\n  %s", e.seq, key, e.erased.after[key], e.erased.before[key])
		}
	}
	if !told[e.erased.key] && !e.erased.members {
		h.t.Fatalf("event %d does not tell that %s is erased", e.seq, e.erased.key)
	}
	return rows
}

// stripped returns a body without some members, or, where none are named, with its id and its ids at relations alone.
func stripped(body *jsonvalue.Value, members, relations []string) *jsonvalue.Value {
	out := body.Clone()
	if members != nil {
		for _, m := range members {
			out.Strip([]string{m})
		}
		return out
	}
	paths := [][]string{{"id"}}
	for _, path := range relations {
		paths = append(paths, steps(path))
	}
	return skeletonOf(out, paths)
}

// skeletonOf returns what a value has at paths, each element of an array in its place.
func skeletonOf(v *jsonvalue.Value, paths [][]string) *jsonvalue.Value {
	if out := kept(v, paths); out != nil {
		return out
	}
	return &jsonvalue.Value{Kind: '{'}
}

// kept is skeletonOf, nil for nothing.
func kept(v *jsonvalue.Value, paths [][]string) *jsonvalue.Value {
	out, some := &jsonvalue.Value{Kind: v.Kind}, false
	switch v.Kind {
	case '{':
		for _, m := range v.Items {
			if m.Val = kept(m.Val, rest(paths, m.Key)); m.Val != nil {
				out.Items, some = append(out.Items, m), true
			}
		}
	case '[':
		for _, m := range v.Items {
			in := kept(m.Val, rest(paths, "[]"))
			some = some || in != nil
			switch {
			case in != nil:
			case m.Val.Kind == '{':
				in = &jsonvalue.Value{Kind: '{'}
			default:
				in = jsonvalue.Parse("null")
			}
			m.Val = in
			out.Items = append(out.Items, m)
		}
	default:
		for _, path := range paths {
			if len(path) == 0 && len(v.IDs(nil)) > 0 {
				return v
			}
		}
	}
	if !some {
		return nil
	}
	return out
}

// rest returns what follows a step in the paths that begin with it.
func rest(paths [][]string, step string) (out [][]string) {
	for _, path := range paths {
		if len(path) > 0 && path[0] == step {
			out = append(out, path[1:])
		}
	}
	return out
}
