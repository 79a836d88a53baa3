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

// follower is a consumer that applies all rows in order.
type follower struct {
	h    *history
	view string
	has  map[okey]string

	tx      string                    // of the last row
	began   map[okey]string           // what it had before that transaction
	written map[okey]json.RawMessage  // the documents of the transaction's direct rows
	derived map[okey][]harness.Change // its other rows
}

// checkFollowers follows the feed from its beginning, with what was there before, with all changes, in pages of random sizes, once in each view. At each
// transaction's end the follower must hold exactly what the store showed then.
func (h *history) checkFollowers() {
	h.t.Helper()
	for _, view := range []string{"embedded", "referenced"} {
		f := &follower{h: h, view: view, has: map[okey]string{}}
		rows := h.goneRows(view)
		if h.erased {
			f.has, rows = h.heldAt(h.horizon, view), nil
		}
		for _, row := range rows {
			f.follow(row)
		}
		rows = h.pages("mode=all&include_docs=true&view=" + view)
		for _, e := range h.expect {
			if e.seq <= h.horizon.Seq() {
				continue
			}
			for len(rows) > 0 && strings.HasPrefix(rows[0].Seq, fmt.Sprintf("%d-", e.seq)) {
				if key := (okey{rows[0].Collection, rows[0].ID}); view == "embedded" && rows[0].Op == "derive" && bodyOfRow(rows[0]) != e.after[key] {
					h.t.Fatalf("%s: the document is\n  %s\nwant\n  %s", rows[0].Seq, rows[0].Doc, e.after[key])
				}
				f.follow(rows[0])
				rows = rows[1:]
			}
			if f.tx == "" || len(rows) == 0 || rows[0].Tx != f.tx {
				f.end()
				h.checkFollowed(f.has, e, view)
			}
		}
	}
}

// bodyOfRow returns the document of a row as a read answers it.
func bodyOfRow(row harness.Change) string {
	return string(row.Doc)[:max(0, strings.LastIndex(string(row.Doc), `,"_meta":`))] + "}"
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
func (f *follower) follow(row harness.Change) {
	h, key := f.h, okey{row.Collection, row.ID}
	if row.Tx == "" || row.Tx != f.tx {
		f.end()
		f.tx, f.began = row.Tx, maps.Clone(f.has)
	}
	if row.Op == "erase" {
		delete(f.has, key)
		return
	}
	if row.Op != "derive" && string(row.Previous) != f.began[key] {
		h.t.Fatalf("%s: previous is\n  %s\nwant\n  %s", row.Seq, row.Previous, f.began[key])
	}
	if row.Op == "delete" {
		f.written[key] = nil
		delete(f.has, key)
		return
	}
	doc := bodyOfRow(row)
	meta := string(row.Doc)[len(doc)-1:]
	position := fmt.Sprintf(`"rev":%d,"position":"`, row.Rev)
	if row.Op == "derive" || row.Tx == "" {
		position += fmt.Sprintf("%d-", harness.SeqOf(row.Seq))
	}
	if !strings.Contains(meta, `"createdAt"`) || !strings.Contains(meta, position) {
		h.t.Fatalf("%s: the document is %s", row.Seq, row.Doc)
	}
	if f.view == "referenced" && row.Op == "derive" && doc != f.has[key] {
		h.t.Fatalf("%s: a derived change makes %s as written\n  %s\nof\n  %s", row.Seq, key, doc, f.has[key])
	}
	if f.view == "referenced" && row.Patch != nil {
		h.t.Fatalf("%s has the patch of another view: %s", row.Seq, row.Patch)
	}
	if f.has[key] = doc; row.Op == "derive" {
		f.derived[key] = append(f.derived[key], row)
	} else {
		f.written[key] = row.Doc
	}
}

// end looks at the transaction that is over: a direct row has the document that the last row of it has, and the derived ones say that.
func (f *follower) end() {
	for key, rows := range f.derived {
		doc, written := f.written[key]
		for _, row := range rows {
			if row.Within != written {
				f.h.t.Fatalf("%s: within is %t, and it is %t that the transaction writes %s", row.Seq, row.Within, written, key)
			}
		}
		last := rows[len(rows)-1]
		if at := harness.SeqOf(last.Seq); doc != nil && at > f.writtenAt(doc) && string(last.Doc) != string(doc) {
			f.h.t.Fatalf("%s: the transaction ends with\n  %s\nand the written row has\n  %s", last.Seq, last.Doc, doc)
		}
	}
	f.written, f.derived = map[okey]json.RawMessage{}, map[okey][]harness.Change{}
}

// writtenAt returns the revision that a document in a row has.
func (f *follower) writtenAt(doc json.RawMessage) uint64 {
	var d struct {
		Meta struct{ Rev uint64 } `json:"_meta"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		f.h.t.Fatalf("%s: %v", doc, err)
	}
	return d.Meta.Rev
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
