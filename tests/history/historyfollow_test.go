package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// writtenView is a document as written: its text where that is known byte for byte, otherwise "", and its value.
type writtenView struct{ text, value string }

// written returns the referenced views of all documents.
func (o *oracle) written() map[okey]writtenView {
	out := map[okey]writtenView{}
	for key, d := range o.docs {
		out[key] = writtenView{d.written, d.body.String()}
	}
	return out
}

// is reports whether a text is the view.
func (w writtenView) is(text string) bool {
	return (w.text == "" || text == w.text) && jsonvalue.Parse(text).String() == w.value
}

// checkFollowers follows the feed from its beginning, with what was there before, with all changes, in pages of random sizes, once in each view. At each
// event's end the follower must hold exactly what the store showed then.
func (h *history) checkFollowers() {
	h.t.Helper()
	for _, view := range []string{"embedded", "referenced"} {
		followed := map[okey]string{}
		rows := h.goneRows(view)
		if h.erased {
			followed, rows = h.heldAt(h.horizon, view), nil
		}
		for _, row := range rows {
			h.follow(followed, row, view)
		}
		rows = h.pages("mode=all&include_docs=true&view=" + view)
		for _, e := range h.expect {
			if e.seq <= h.horizon.Seq() {
				continue
			}
			for len(rows) > 0 && strings.HasPrefix(rows[0].Seq, fmt.Sprintf("%d-", e.seq)) {
				h.follow(followed, rows[0], view)
				rows = rows[1:]
			}
			h.checkFollowed(followed, e, view)
		}
	}
}

// pages reads the feed from its beginning, some rows at a time.
func (h *history) pages(query string) (rows []harness.Change) {
	for since := h.since(); ; {
		body := h.shown().feed(fmt.Sprintf("%s&limit=%d&since=%s", query, 1+upTo(h.t, 20), since))
		var page struct {
			Results []harness.Change
			LastSeq string `json:"last_seq"`
			Pending *int
		}
		if err := json.Unmarshal(body, &page); err != nil || page.Pending == nil {
			h.t.Fatalf("%v in %s", err, body)
		}
		if rows = append(rows, page.Results...); *page.Pending == 0 {
			return rows
		}
		since = page.LastSeq
	}
}

// follow applies a row as a follower does.
func (h *history) follow(followed map[okey]string, row harness.Change, view string) {
	key := okey{row.Collection, row.ID}
	if row.Op == "delete" || row.Op == "erase" {
		delete(followed, key)
		return
	}
	end := max(0, strings.LastIndex(string(row.Doc), `,"_meta":`))
	doc, meta := string(row.Doc)[:end], string(row.Doc)[end:]
	if !strings.Contains(meta, `"createdAt"`) || !strings.Contains(meta, fmt.Sprintf(`"rev":%d,"position":"%d-`, row.Rev, harness.SeqOf(row.Seq))) {
		h.t.Fatalf("%s: the document is %s", row.Seq, row.Doc)
	}
	if view == "referenced" && row.Op == "derive" && doc+"}" != followed[key] {
		h.t.Fatalf("%s: a derived change makes %s as written\n  %s\nof\n  %s", row.Seq, key, doc, followed[key])
	}
	if view == "referenced" && row.Patch != nil {
		h.t.Fatalf("%s has the patch of another view: %s", row.Seq, row.Patch)
	}
	if row.Op != "derive" && string(row.Previous) != followed[key] {
		h.t.Fatalf("%s: previous is\n  %s\nwant\n  %s", row.Seq, row.Previous, followed[key])
	}
	followed[key] = doc + "}"
}

// checkFollowed compares what a follower holds with what the event left.
func (h *history) checkFollowed(followed map[okey]string, e expected, view string) {
	h.t.Helper()
	if view == "embedded" {
		if maps.Equal(followed, e.after) {
			return
		}
		for key := range e.after {
			if followed[key] != e.after[key] {
				h.t.Fatalf("behind event %d %s follows as\n  %s\nwant\n  %s", e.seq, key, followed[key], e.after[key])
			}
		}
		h.t.Fatalf("behind event %d the follower has %v, want %v", e.seq, followed, e.after)
	}
	for key, want := range e.written {
		if !want.is(followed[key]) {
			h.t.Fatalf("behind event %d %s follows as written as\n  %s\nwant\n  %+v", e.seq, key, followed[key], want)
		}
	}
	if len(followed) != len(e.written) {
		h.t.Fatalf("behind event %d the follower has %v, want %v", e.seq, followed, e.written)
	}
}
