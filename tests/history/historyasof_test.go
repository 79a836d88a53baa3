package history_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// feedRow is a row of the feed, or an item of a document's history, by its members.
type feedRow map[string]json.RawMessage

// text returns a member that is a string.
func (r feedRow) text(name string) string { return strings.Trim(string(r[name]), `"`) }

// position returns where the row stands.
func (r feedRow) position() fanfold.Position {
	at, err := fanfold.ParsePosition(r.text("seq"))
	if err != nil {
		panic(err)
	}
	return at
}

// body returns the document in the row, as it is answered alone; "" for none.
func (r feedRow) body() string {
	doc := string(r["doc"])
	if end := strings.LastIndex(doc, `,"_meta":`); end >= 0 {
		return doc[:end] + "}"
	}
	return ""
}

// feedRows returns all changes with the documents after them, also those that are no longer kept.
func (h *history) feedRows(view string) (rows []feedRow) {
	h.t.Helper()
	for _, text := range h.feedTexts(view) {
		var row feedRow
		if err := json.Unmarshal(text, &row); err != nil {
			h.t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// keptRows returns the kept ones of some rows.
func (h *history) keptRows(rows []feedRow) []feedRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r feedRow) bool { return r.position() <= h.horizon })
}

// checkPast reads documents as they were at random positions, also inside events and transactions, and all versions of each.
func (h *history) checkPast() {
	h.t.Helper()
	view := draw(h.t, "embedded", "referenced")
	h.checkPastOf(h.feedRows(view), view)
}

// checkPastOf is checkPast with the rows of the feed up to the last position that is read.
func (h *history) checkPastOf(rows []feedRow, view string) {
	h.t.Helper()
	for range 8 {
		h.checkAt(rows, view)
	}
	h.checkDiff(rows, view)
	byKey := map[okey][]feedRow{}
	for _, row := range rows {
		key := okey{row.text("collection"), row.text("id")}
		byKey[key] = append(byKey[key], row)
	}
	for _, c := range collections {
		for _, id := range ids {
			if key := (okey{c, id}); byKey[key] != nil {
				h.checkVersions(key, byKey[key], view)
			}
		}
	}
}

// checkAt reads every document as it was at one random position.
func (h *history) checkAt(rows []feedRow, view string) {
	h.t.Helper()
	last := cmp.Or(h.until, h.lastSeq())
	seq := uint64(upTo(h.t, int(last)))
	text := strconv.FormatUint(seq, 10)
	if chance(h.t, 50) { // inside the event, or after its changes
		text += "-" + strconv.Itoa(upTo(h.t, 3))
	}
	if seq < h.horizon.Seq() {
		h.wantGone(seq, text, view)
		return
	}
	state, end := h.stateAt(rows, seq)
	for _, c := range collections {
		for _, id := range ids {
			key := okey{c, id}
			path := harness.Path(c, id) + "?at=" + text + "&view=" + view
			_, there := state.after[key]
			if !there {
				h.s.Want(http.StatusNotFound, http.MethodGet, path, "")
				continue
			}
			r := h.s.Want(http.StatusOK, http.MethodGet, path, "")
			h.wantShown(state, key, view, text, string(r.Body))
			h.wantHeadersOf(r, lastRow(rows, key, end), text)
		}
		h.checkListAt(c, text, view, state)
	}
	if len(state.links) > 0 {
		h.checkChildrenAt(draw(h.t, state.links...), text, view, state)
	}
	h.checkOtherRelationsAt(text, state)
}

// expectedLinks says which documents refer to which by a relation, in order of creation, and on which pages.
type expectedLinks struct {
	rel      orel
	children map[string][]string   // by the target's id
	pages    map[string][][]string // the same
}

// expectedLinks returns the links of all relations.
func (o *oracle) expectedLinks() (all []expectedLinks) {
	for _, rel := range o.model.rels {
		l := expectedLinks{*rel, map[string][]string{}, map[string][][]string{}}
		for _, d := range o.inOrder() {
			if d.key.collection != rel.collection {
				continue
			}
			held := o.idsOf(rel, d)
			for _, id := range ids {
				if slices.Contains(held, id) {
					l.children[id] = append(l.children[id], d.key.id)
				}
			}
		}
		for _, id := range ids {
			if rel.pages > 0 && o.docs[okey{rel.to, id}] != nil {
				l.pages[id] = o.pages(rel, id)
			}
		}
		all = append(all, l)
	}
	return all
}

// checkChildrenAt reads the documents that referred to each one by a relation, and its pages.
func (h *history) checkChildrenAt(l expectedLinks, text, view string, state expected) {
	h.t.Helper()
	for _, id := range ids {
		query := fmt.Sprintf("%s/%s?relation=%s&view=%s", harness.Path(l.rel.to, id), l.rel.collection, l.rel.name, view)
		limited := query + fmt.Sprintf("&limit=%d", 1+upTo(h.t, 3))
		if _, there := state.after[okey{l.rel.to, id}]; !there {
			h.s.Want(http.StatusNotFound, http.MethodGet, limited+"&at="+text, "")
			h.s.Want(http.StatusNotFound, http.MethodGet, query+"&page=last&at="+text, "")
			continue
		}
		got := h.listedItems(limited + "&at=" + text)
		h.wantItems(state, l.rel.collection, l.children[id], view, limited+"&at="+text, got)
		h.checkPagesAt(l, id, query, text, view, state)
	}
}

// checkPagesAt reads each fixed page of the documents that referred to one, and one too many.
func (h *history) checkPagesAt(l expectedLinks, id, query, text, view string, state expected) {
	h.t.Helper()
	if l.rel.pages == 0 {
		h.s.Want(http.StatusBadRequest, http.MethodGet, query+"&page=1&at="+text, "")
		return
	}
	pages := l.pages[id]
	for i, want := range pages {
		for _, number := range []string{strconv.Itoa(i + 1), "last"} {
			if number == "last" && i < len(pages)-1 {
				continue
			}
			path := query + "&page=" + number + "&at=" + text
			var page map[string]json.RawMessage
			r := h.s.Want(http.StatusOK, http.MethodGet, path, "")
			if err := json.Unmarshal(r.Body, &page); err != nil || string(page["page"]) != strconv.Itoa(i+1) || string(page["pages"]) != strconv.Itoa(len(pages)) {
				h.t.Fatalf("%s is %s, want page %d of %d, with %v", path, r.Body, i+1, len(pages), want)
			}
			var items []json.RawMessage
			if err := json.Unmarshal(page[l.rel.collection], &items); err != nil {
				h.t.Fatal(err)
			}
			var got []string
			for _, item := range items {
				got = append(got, feedRow{"doc": item}.body())
			}
			h.wantItems(state, l.rel.collection, want, view, path, got)
		}
	}
	h.s.Want(http.StatusNotFound, http.MethodGet, fmt.Sprintf("%s&page=%d&at=%s", query, len(pages)+1, text), "")
}

// wantItems wants bodies to be the documents' in a state.
func (h *history) wantItems(state expected, collection string, want []string, view, path string, got []string) {
	h.t.Helper()
	if len(got) != len(want) {
		h.t.Fatalf("%s has\n  %s\nwant %v", path, strings.Join(got, "\n  "), want)
	}
	for i, id := range want {
		h.wantShown(state, okey{collection, id}, view, path, got[i])
	}
}

// checkOtherRelationsAt wants relations that the model of then did not have to lead nowhere.
func (h *history) checkOtherRelationsAt(text string, state expected) {
	h.t.Helper()
	for _, rel := range h.o.model.rels {
		if slices.ContainsFunc(state.links, func(l expectedLinks) bool { return l.rel.collection == rel.collection && l.rel.to == rel.to }) {
			continue
		}
		h.s.Want(http.StatusNotFound, http.MethodGet, harness.Path(rel.to, ids[0])+"/"+rel.collection+"?at="+text, "")
	}
}

// checkListAt reads a collection as it was, page by page, and documents by their ids.
func (h *history) checkListAt(collection, text, view string, state expected) {
	h.t.Helper()
	var want []string
	for _, id := range ids {
		if _, there := state.after[okey{collection, id}]; there {
			want = append(want, id)
		}
	}
	if !h.listed(collection) {
		return
	}
	query := fmt.Sprintf("/v1/%s?view=%s&limit=%d", collection, view, 1+upTo(h.t, 3))
	got := h.listedItems(query + "&at=" + text)
	h.wantItems(state, collection, want, view, query+"&at="+text, got)
	var page struct {
		Items   []json.RawMessage
		Missing []string
	}
	r := h.s.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("/v1/%s?view=%s&ids=%s&at=%s", collection, view, strings.Join(ids, ","), text), "")
	if err := json.Unmarshal(r.Body, &page); err != nil || len(page.Items) != len(want) || len(page.Missing) != len(ids)-len(want) {
		h.t.Fatalf("%s by ids at %s: %v, %s, want %v", collection, text, err, r.Body, want)
	}
	for i, id := range want {
		h.wantShown(state, okey{collection, id}, view, text, feedRow{"doc": page.Items[i]}.body())
	}
}

// listed tells whether a collection can be listed: it is declared, or held a document once.
func (h *history) listed(collection string) bool {
	r, err := h.s.Do(http.MethodGet, "/v1/"+collection+"?limit=1", nil)
	return err == nil && r.Status == http.StatusOK
}

// listedItems returns the bodies in a list, page by page. The cursor alone says which state the further ones show.
func (h *history) listedItems(query string) (bodies []string) {
	for rest := query; ; {
		var page struct {
			Items []json.RawMessage
			Next  string
		}
		r := h.s.Want(http.StatusOK, http.MethodGet, rest, "")
		if err := json.Unmarshal(r.Body, &page); err != nil {
			h.t.Fatalf("%s: %v in %s", rest, err, r.Body)
		}
		for _, item := range page.Items {
			bodies = append(bodies, feedRow{"doc": item}.body())
		}
		if page.Next == "" {
			return bodies
		}
		query, _, _ = strings.Cut(query, "&at=")
		rest = query + "&cursor=" + page.Next
	}
}

// wantShown wants a body to be a document's in a state.
func (h *history) wantShown(state expected, key okey, view, at, got string) {
	h.t.Helper()
	if view == "embedded" && got != state.after[key] || view == "referenced" && !state.written[key].is(got) {
		h.t.Fatalf("%s at %s is\n  %s\nwant\n  %s, %+v", key, at, got, state.after[key], state.written[key])
	}
}

// checkDiff compares two random states.
func (h *history) checkDiff(rows []feedRow, view string) {
	h.t.Helper()
	last := int(cmp.Or(h.until, h.lastSeq()))
	from := int(h.horizon.Seq()) + upTo(h.t, last-int(h.horizon.Seq()))
	to := from + upTo(h.t, last-from)
	before, _ := h.stateAt(rows, uint64(from))
	after, _ := h.stateAt(rows, uint64(to))
	direct := chance(h.t, 30)
	query := fmt.Sprintf("/v1/_diff?view=%s&limit=%d&from=%d", view, 1+upTo(h.t, 9), from)
	if direct {
		query += "&derived=exclude"
	}
	items := h.versions(query + fmt.Sprintf("&to=%d", to))
	for _, c := range collections {
		for _, id := range ids {
			key := okey{c, id}
			was, there := before.after[key]
			is, exists := after.after[key]
			own := there == exists && sameValue(before.written[key].value, after.written[key].value)
			if !there && !exists || there && exists && view == "embedded" && sameValue(was, is) || (view == "referenced" || direct) && own {
				continue
			}
			if len(items) == 0 || items[0].text("collection") != c || items[0].text("id") != id {
				h.t.Fatalf("%s&to=%d has %v, want %s next, which was\n  %s\nand is\n  %s", query, to, items, key, was, is)
			}
			h.wantDifference(query, before, after, key, view, items[0])
			items = items[1:]
		}
	}
	if len(items) > 0 {
		h.t.Fatalf("%s&to=%d has %v too many", query, to, items)
	}
}

// sameValue reports whether two JSON texts have the same value.
func sameValue(a, b string) bool {
	return a == b || a != "" && b != "" && unescaped.Replace(jsonvalue.Parse(a).Sorted()) == unescaped.Replace(jsonvalue.Parse(b).Sorted())
}

// wantDifference wants an item to tell of a document that differs between two states.
func (h *history) wantDifference(query string, before, after expected, key okey, view string, item feedRow) {
	h.t.Helper()
	op := "change"
	if _, there := before.after[key]; !there {
		op = "create"
	}
	if _, exists := after.after[key]; !exists {
		op = "delete"
	}
	was, is := feedRow{"doc": item["before"]}.body(), feedRow{"doc": item["after"]}.body()
	if item.text("op") != op || (op == "create") != (was == "") || (op == "delete") != (is == "") {
		h.t.Fatalf("%s says %s of %s, want %s: %s", query, item["op"], key, op, item)
	}
	if was != "" {
		h.wantShown(before, key, view, "from", was)
	}
	if is != "" {
		h.wantShown(after, key, view, "to", is)
	}
	h.wantPatch(query, was, is, string(item["patch"]))
}

// stateAt returns what the event of a position left, or the last event of its transaction, and the position of the last change then.
func (h *history) stateAt(rows []feedRow, seq uint64) (state expected, end fanfold.Position) {
	tx := map[uint64]string{}
	for _, row := range rows {
		tx[row.position().Seq()] = row.text("tx")
	}
	i := 0
	for i < len(h.expect) && h.expect[i].seq <= seq {
		state = h.expect[i]
		i++
	}
	for i < len(h.expect) && tx[state.seq] != "" && tx[h.expect[i].seq] == tx[state.seq] {
		state = h.expect[i]
		i++
	}
	return state, fanfold.At(max(seq, state.seq), fanfold.MaxChanges)
}

// lastRow returns the last row of a document up to a position.
func lastRow(rows []feedRow, key okey, end fanfold.Position) (last feedRow) {
	for _, row := range rows {
		if row.position() <= end && row.text("collection") == key.collection && row.text("id") == key.id {
			last = row
		}
	}
	return last
}

// wantHeadersOf wants the headers of a document that was changed last by a row.
func (h *history) wantHeadersOf(r *harness.Response, row feedRow, at string) {
	h.t.Helper()
	if rev := string(row["rev"]); r.Header.Get("Fanfold-Revision") != rev || !strings.HasPrefix(r.Header.Get("ETag"), fmt.Sprintf(`"%s.%s.`, rev, row.position())) {
		h.t.Fatalf("at %s the headers are %v, want those after %s", at, r.Header, row.text("seq"))
	}
	if position := harness.Bare(r.Header.Get("Fanfold-Position")); strings.HasPrefix(position, "invalid") {
		h.t.Fatalf("at %s the position is %s", at, position)
	}
}

// checkVersions wants the history of a document to be its rows of the feed, in both orders and pages of any size. Patches lead from each
// version to the next.
func (h *history) checkVersions(key okey, rows []feedRow, view string) {
	h.t.Helper()
	before := h.bodiesBefore(rows, key, view)
	rows = h.keptRows(rows)
	direct := chance(h.t, 30)
	if direct {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r feedRow) bool { return r.text("op") == "derive" })
	}
	docs := chance(h.t, 70)
	var from, to string
	if len(rows) > 2 && chance(h.t, 50) {
		i := upTo(h.t, len(rows)-1)
		j := i + upTo(h.t, len(rows)-1-i)
		from, to = rows[i].text("seq"), rows[j].text("seq")
		rows = rows[i : j+1]
	}
	for _, order := range []string{"asc", "desc"} {
		query := fmt.Sprintf("%s/_history?view=%s&order=%s&limit=%d&include_docs=%t", harness.Path(key.collection, key.id), view, order, 1+upTo(h.t, 12), docs)
		if direct {
			query += "&derived=exclude"
		}
		if from != "" {
			query += "&from=" + from + "&to=" + to
		} else if h.until != 0 {
			query += fmt.Sprintf("&to=%d", h.until)
		}
		items := h.versions(query)
		if order == "desc" {
			slices.Reverse(items)
		}
		h.wantVersions(query, items, rows, before, docs)
	}
}

// bodiesBefore returns the body before each change of a document. Before a direct one it is of the transaction's beginning. A row from
// before the horizon may say what is erased since: after it stands what is left.
func (h *history) bodiesBefore(rows []feedRow, key okey, view string) map[string]string {
	before, lost := map[string]string{}, len(rows)-len(h.keptRows(rows))
	var left string
	if h.erased && 0 < lost && lost < len(rows) {
		left = h.heldAt(h.horizon, view)[key]
	}
	for i, row := range rows {
		tx, j := row.text("tx"), i-1
		switch derived := row.text("op") == "derive"; {
		case !derived:
			for j >= 0 && tx != "" && rows[j].text("tx") == tx {
				j--
			}
		case j >= 0 && tx != "" && rows[j].text("tx") == tx && rows[j].text("op") != "derive":
			if before[row.text("seq")] = row.body(); view == "embedded" {
				k := slices.IndexFunc(h.expect, func(e expected) bool { return e.seq == row.position().Seq() })
				before[row.text("seq")] = h.expect[k].before[key]
			}
			continue
		}
		switch {
		case h.erased && j < lost && lost <= i:
			before[row.text("seq")] = left
		case j >= 0:
			before[row.text("seq")] = rows[j].body()
		}
	}
	return before
}

// versions reads items page by page. A page may have none, and others after it.
func (h *history) versions(query string) (items []feedRow) {
	for cursor := ""; ; {
		var page struct {
			Items []feedRow
			Next  string
		}
		r := h.s.Want(http.StatusOK, http.MethodGet, query+cursor, "")
		if err := json.Unmarshal(r.Body, &page); err != nil {
			h.t.Fatalf("%s: %v in %s", query, err, r.Body)
		}
		if items = append(items, page.Items...); page.Next == "" {
			return items
		}
		cursor = "&cursor=" + page.Next
	}
}

// wantVersions wants items to be rows, the oldest first.
func (h *history) wantVersions(query string, items, rows []feedRow, before map[string]string, docs bool) {
	h.t.Helper()
	if len(items) != len(rows) {
		h.t.Fatalf("%s has %d versions, want %d", query, len(items), len(rows))
	}
	for i, row := range rows {
		want, got, patch := maps.Clone(row), maps.Clone(items[i]), string(items[i]["patch"])
		delete(want, "previous")
		delete(want, "patch")
		delete(got, "patch")
		if !docs {
			delete(want, "doc")
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			h.t.Fatalf("%s has\n  %s\nwant\n  %s", query, got, want)
		}
		if patch == "" && (row.text("op") == "erase" || strings.Contains(string(row["cause"]), `"rule":"erase"`)) {
			if was := before[row.text("seq")]; row.body() != was {
				h.t.Fatalf("%s has\n  %s\nwant\n  %s as before", query, row.body(), was)
			}
			continue
		}
		h.wantPatch(query, before[row.text("seq")], row.body(), patch)
	}
}

// wantPatch wants a patch to lead from one version to the next, and its old values to be the version's before.
func (h *history) wantPatch(query, before, after, patch string) {
	h.t.Helper()
	doc := jsonvalue.Parse(`{"":` + orNull(before) + `}`)
	var ops []struct {
		Op, Path   string
		Value, Old json.RawMessage
	}
	if err := json.Unmarshal([]byte(patch), &ops); err != nil {
		h.t.Fatalf("%s: %v in %s", query, err, patch)
	}
	for _, op := range ops {
		old := jsonvalue.At(doc, "/"+op.Path)
		if (op.Op == "add") != (op.Old == nil) || op.Old != nil && (old == nil || old.String() != jsonvalue.Parse(string(op.Old)).String()) {
			h.t.Fatalf("%s: operation %s %s with the old value %s does not fit %s", query, op.Op, op.Path, op.Old, before)
		}
		kind, value := op.Op, string(op.Value)
		if op.Path == "" {
			kind, value = "replace", orNull(value)
		}
		if !jsonvalue.ApplyOperation(doc, kind, "/"+op.Path, value) {
			h.t.Fatalf("%s: %s does not fit %s", query, patch, before)
		}
	}
	if want := jsonvalue.Parse(`{"":` + orNull(after) + `}`).Sorted(); unescaped.Replace(doc.Sorted()) != unescaped.Replace(want) {
		h.t.Fatalf("%s: %s makes\n  %s\nof\n  %s\nwant\n  %s", query, patch, doc.Sorted(), before, want)
	}
}

// unescaped replaces the escapes in the strings of the tests: a patch leaves a string alone if only its escapes differ.
var unescaped = strings.NewReplacer(`\u0031`, "1", `\u0041`, "A", `\u0078`, "x")

// orNull returns a value's text, null for none.
func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return text
}

// clone returns the oracle as it is, which later events leave alone.
func (o *oracle) clone() *oracle {
	out := *o
	out.docs = make(map[okey]*odoc, len(o.docs))
	for key, d := range o.docs {
		copied := *d
		out.docs[key] = &copied
	}
	out.kept, out.places, out.came = maps.Clone(o.kept), maps.Clone(o.places), maps.Clone(o.came)
	out.gone, out.owned = maps.Clone(o.gone), map[string]map[string]bool{}
	for c, paths := range o.owned {
		out.owned[c] = maps.Clone(paths)
	}
	return &out
}

// checkExportAt exports a random state, and imports it into an empty store, which then shows the same.
func (h *history) checkExportAt() {
	h.t.Helper()
	seq := h.horizon.Seq() + uint64(upTo(h.t, int(h.lastSeq()-h.horizon.Seq())))
	state, _ := h.stateAt(h.feedRows("embedded"), seq)
	if state.oracle == nil {
		return
	}
	path := fmt.Sprintf("/v1/_export?at=%d", seq)
	export := h.s.Want(http.StatusOK, http.MethodGet, path, "").Body
	now, views := h.o, h.views
	h.o = state.oracle
	defer func() { h.o, h.views = now, views }()
	h.wantExported(path, export)
	h.importing(export, h.check)
}

// wantExported wants an export to have every document as written, in order of creation.
func (h *history) wantExported(path string, export []byte) {
	h.t.Helper()
	docs := h.o.inOrder()
	for line := range strings.Lines(string(export)) {
		var l struct {
			Collection string
			Doc        json.RawMessage
			Text       *string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			h.t.Fatalf("%s: %v in %s", path, err, line)
		}
		if l.Collection == "" { // a model
			continue
		}
		if l.Text != nil {
			l.Doc = json.RawMessage(*l.Text)
		}
		if len(docs) == 0 || docs[0].key.collection != l.Collection || jsonvalue.Parse(string(l.Doc)).String() != docs[0].body.String() {
			h.t.Fatalf("%s has %s, want %v next", path, line, docs)
		}
		docs = docs[1:]
	}
	if len(docs) > 0 {
		h.t.Fatalf("%s lacks %v:\n%s", path, docs, export)
	}
}
