package history_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/harness"
)

// toldLineage is what the store told of a document's values when it was the present.
type toldLineage struct {
	key    okey
	half   bool // to the principal who reads half of the collections
	models int  // how many models had applied
	answer *wire.Lineage
}

// absentThen stands for a document that was not there.
var absentThen = &wire.Lineage{}

// lineageOf asks for a lineage, also one of then.
func (h *history) lineageOf(key okey, half bool, at string) *wire.Lineage {
	h.t.Helper()
	from := h.s.Client
	if half {
		from = h.s.With(h.half)
	}
	path := harness.Path(key.collection, key.id) + "/_lineage" + at
	r, err := from.Do(http.MethodGet, path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if r.Status == http.StatusNotFound {
		return absentThen
	}
	l := new(wire.Lineage)
	if err := json.Unmarshal(r.Body, l); err != nil || r.Status != http.StatusOK {
		h.t.Fatalf("%s is %d %s, %v", path, r.Status, r.Body, err)
	}
	return l
}

// noteLineages keeps what the store tells of the values of some documents.
func (h *history) noteLineages() {
	h.t.Helper()
	for _, c := range collections {
		for _, id := range ids {
			if !chance(h.t, 15) {
				continue
			}
			told := toldLineage{key: okey{c, id}, models: h.models}
			if h.half != "" && chance(h.t, 50) {
				if reads, _ := h.halfMay(c); reads {
					told.half = true
				}
			}
			if told.answer = h.lineageOf(told.key, told.half, ""); told.answer != absentThen {
				h.lineages = append(h.lineages, told)
			}
		}
	}
}

// checkLineages wants the store to tell of then what it told when that was the present.
func (h *history) checkLineages() {
	h.t.Helper()
	for _, told := range h.lineages {
		at := told.answer.Position
		path := harness.Path(told.key.collection, told.key.id) + "/_lineage?at=" + at.String()
		if at.Position < h.horizon {
			h.s.Want(http.StatusGone, http.MethodGet, path, "")
			continue
		}
		if told.half && told.models != h.models {
			continue // a rule that is no more is not told to all
		}
		got := h.lineageOf(told.key, told.half, "?at="+at.String())
		want := h.withoutGone(told.answer)
		if got.Omitted != nil || want.Omitted != nil { // what has no room may change without a change of the document
			got, want = withoutRoom(got), withoutRoom(want)
		}
		if a, b := lineageText(h.t, got), lineageText(h.t, want); a != b && !strings.Contains(a+b, "takes too long") && !strings.Contains(a+b, "take too long") {
			h.t.Fatalf("%s is\n  %s\nand was\n  %s", path, a, b)
		}
	}
}

// withoutGone returns a lineage in which changes that are no longer kept are not named.
func (h *history) withoutGone(l *wire.Lineage) *wire.Lineage {
	out := *l
	out.Derived = slices.Clone(l.Derived)
	for i, v := range out.Derived {
		if v.Event != nil && v.Event.Seq.Position != 0 && v.Event.Seq.Position <= h.horizon {
			out.Derived[i].Event = &wire.Origin{Reason: "before the history that is kept"}
		}
	}
	return &out
}

// withoutRoom returns a lineage without what follows from values that the document has no room for.
func withoutRoom(l *wire.Lineage) *wire.Lineage {
	out := *l
	out.Derived, out.Omitted = slices.Clone(l.Derived), nil
	for i := range out.Derived {
		out.Derived[i].Reason = ""
	}
	return &out
}

// lineageText returns a lineage as text.
func lineageText(t *rapid.T, l *wire.Lineage) string {
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
