package history_test

import (
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

// feedRows reads all changes with the documents after them.
func (h *history) feedRows(view string) (rows []feedRow) {
	var page struct{ Results []feedRow }
	r := h.s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?mode=all&include_docs=true&since=0&view="+view, "")
	if err := json.Unmarshal(r.Body, &page); err != nil {
		h.t.Fatal(err)
	}
	return page.Results
}

// checkPast reads documents as they were at random positions, also inside events and transactions, and all versions of each.
func (h *history) checkPast() {
	h.t.Helper()
	view := draw(h.t, "embedded", "referenced")
	rows := h.feedRows(view)
	for range 8 {
		h.checkAt(rows, view)
	}
	byKey := map[okey][]feedRow{}
	for _, row := range rows {
		key := okey{row.text("collection"), row.text("id")}
		byKey[key] = append(byKey[key], row)
	}
	for key, own := range byKey {
		h.checkVersions(key, own, view)
	}
}

// checkAt reads every document as it was at one random position.
func (h *history) checkAt(rows []feedRow, view string) {
	h.t.Helper()
	last := h.lastSeq()
	seq := uint64(upTo(h.t, int(last)))
	text := strconv.FormatUint(seq, 10)
	if chance(h.t, 50) { // inside the event, or behind its changes
		text += "-" + strconv.Itoa(upTo(h.t, 3))
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
			if got := string(r.Body); view == "embedded" && got != state.after[key] || view == "referenced" && !state.written[key].is(got) {
				h.t.Fatalf("%s at %s is\n  %s\nwant\n  %s, %+v", key, text, got, state.after[key], state.written[key])
			}
			h.wantHeadersOf(r, lastRow(rows, key, end), text)
		}
	}
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

// checkVersions wants the history of a document to be its rows of the feed, in both orders and pages of any size, with patches that
// lead from each version to the next.
func (h *history) checkVersions(key okey, rows []feedRow, view string) {
	h.t.Helper()
	before := map[string]string{} // the body before each change
	for i, row := range rows[1:] {
		before[row.text("seq")] = rows[i].body()
	}
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
		}
		items := h.versions(query)
		if order == "desc" {
			slices.Reverse(items)
		}
		h.wantVersions(query, items, rows, before, docs)
	}
}

// versions reads a document's history page by page.
func (h *history) versions(query string) (items []feedRow) {
	for cursor := ""; ; {
		var page struct {
			Items []feedRow
			Next  string
		}
		r := h.s.Want(http.StatusOK, http.MethodGet, query+cursor, "")
		if err := json.Unmarshal(r.Body, &page); err != nil || len(page.Items) == 0 && page.Next != "" {
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
		h.wantPatch(query, before[row.text("seq")], row.body(), patch)
	}
}

// wantPatch wants a patch to lead from one version to the next, and its old values to be those of the version before.
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
	if want := jsonvalue.Parse(`{"":` + orNull(after) + `}`).Sorted(); doc.Sorted() != want {
		h.t.Fatalf("%s: %s makes\n  %s\nof\n  %s\nwant\n  %s", query, patch, doc.Sorted(), before, want)
	}
}

// orNull returns a value's text, null for none.
func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return text
}
