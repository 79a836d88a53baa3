package history_test

import (
	"net/http"

	"github.com/fanfold/fanfold/tests/harness"
)

// storedText is a document as it is written, and its revision; "" where there is none.
type storedText struct{ text, revision string }

// asWritten reads a document as it is written.
func (h *history) asWritten(key okey) storedText {
	h.t.Helper()
	r, err := h.s.Do(http.MethodGet, harness.Path(key.collection, key.id)+"?view=referenced", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if r.Status != http.StatusOK {
		return storedText{}
	}
	return storedText{string(r.Body), r.Header.Get("Fanfold-Revision")}
}

// leftAsItWas tells whether an accepted write has made no event. It must be so if the document has the bytes that it had, and only if its
// value is the same in the oracle, too. A write with an effect beside its document is an exception. The oracle is as before then.
func (h *history) leftAsItWas(r *harness.Response, op operation, was storedText, before *oracle) bool {
	h.t.Helper()
	is, left := h.asWritten(op.key), r.Header.Get("Fanfold-Revision") == was.revision
	if want := is.text == was.text && len(op.refresh) == 0 && !h.o.writesTell(op.key.collection); left != want {
		h.t.Fatalf("%v on revision %s, %s, has revision %s; that it was left out is to be %v", op, was.revision, was.text, r.Header.Get("Fanfold-Revision"), want)
	}
	if !left {
		return false
	}
	if old, now := before.docs[op.key].body.String(), h.o.docs[op.key].body.String(); old != now {
		h.t.Fatalf("%v was left out on %s, and makes %s", op, old, now)
	}
	h.o = before
	return true
}

// writesTell tells whether each write of the collection's documents has an effect: it takes a frozen value, or has a place among the latest ones.
func (o *oracle) writesTell(collection string) bool {
	for _, r := range o.model.rules {
		if r.frozen && r.collection == collection || r.orderBy == "_meta.updatedAt" && r.rel.collection == collection {
			return true
		}
	}
	return false
}
