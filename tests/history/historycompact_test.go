package history_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// purgingSoon has a node purge its log as soon as the store begins later.
func purgingSoon(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }

// mayLose sets the newest version of the fold: nothing goes from the log under the oldest.
func (h *history) mayLose() {
	if h.mayUpgrade() {
		h.run(operation{kind: "upgrade"})
	}
}

// compact lets the history begin later. The test alone remembers what was before.
func (h *history) compact(share int) {
	h.t.Helper()
	first := h.horizon.Seq()
	before := first + (h.lastSeq()-first)*uint64(share)/100
	texts := map[string][]json.RawMessage{}
	for _, view := range []string{"embedded", "referenced"} {
		texts[view] = h.feedTexts(view)
	}
	rows := h.s.Digest()
	if !h.mayBegin(before) {
		return
	}
	h.horizon = h.s.Compact(before)
	if h.horizon == 0 && h.s.Digest() != rows {
		h.t.Fatal("nothing went, and the rows differ")
	}
	if at := h.horizon.Seq(); at < first {
		h.t.Fatalf("the history begins at %s, want event %d", h.horizon, before)
	}
	h.gone = map[string][]json.RawMessage{}
	for view, all := range texts {
		for _, text := range all {
			if positionOf(h.t, text) <= h.horizon {
				h.gone[view] = append(h.gone[view], text)
			}
		}
	}
	h.check()
}

// mayBegin tells whether the store can begin at an event: its first transaction may go on after that.
func (h *history) mayBegin(before uint64) bool {
	h.t.Helper()
	r, err := h.s.Do(http.MethodPost, "/v1/_compact", fmt.Appendf(nil, `{"before":"%d","dryRun":true}`, before), "Content-Type", "application/json")
	switch {
	case err != nil:
		h.t.Fatal(err)
	case r.Status == http.StatusConflict && strings.Contains(string(r.Body), "choose a later position"):
		return false
	case r.Status != http.StatusOK:
		h.t.Fatalf("what compact --before %d takes: %d %s", before, r.Status, r.Body)
	}
	return true
}

// positionOf returns where a row of the feed stands.
func positionOf(t harness.TB, text json.RawMessage) fanfold.Position {
	var row feedRow
	if err := json.Unmarshal(text, &row); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return row.position()
}

// since is the oldest position from which the feed can be read.
func (h *history) since() string { return h.horizon.String() }

// feedTexts returns all rows of the feed with the documents, also those that are no longer kept.
func (h *history) feedTexts(view string) []json.RawMessage {
	h.t.Helper()
	return feedTexts(h.t, h.shown().feed, h.gone[view], h.horizon, view)
}

// feedTexts returns some rows that are no longer kept, and those that are.
func feedTexts(t harness.TB, feed func(query string) []byte, gone []json.RawMessage, oldest fanfold.Position, view string) []json.RawMessage {
	t.Helper()
	var page struct{ Results []json.RawMessage }
	body := feed("mode=all&include_docs=true&since=" + oldest.String() + "&view=" + view)
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return append(gone[:len(gone):len(gone)], page.Results...)
}

// goneRows returns the rows of the feed that are no longer kept.
func (h *history) goneRows(view string) (rows []harness.Change) {
	for _, text := range h.gone[view] {
		var row harness.Change
		if err := json.Unmarshal(text, &row); err != nil {
			h.t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// wantGone wants everything that is asked about a position before the horizon to be refused, with the oldest that is kept.
func (h *history) wantGone(seq uint64, text, view string) {
	h.t.Helper()
	c, id := draw(h.t, h.o.model.collections()...), draw(h.t, ids...)
	for _, path := range []string{
		harness.Path(c, id) + "?at=" + text + "&view=" + view,
		harness.Path(c, id) + "/_lineage?at=" + text,
		fmt.Sprintf("/v1/_changes?since=%d", seq),
		"/v1/_export?at=" + text,
		fmt.Sprintf("/v1/_diff?from=%s&to=%d", text, h.lastSeq()),
	} {
		r := h.s.Want(http.StatusGone, http.MethodGet, path, "")
		var problem struct{ Type, Oldest string }
		if err := json.Unmarshal(r.Body, &problem); err != nil || !strings.HasSuffix(problem.Type, ":"+string(fanfold.PositionGone)) || harness.Bare(problem.Oldest) != h.horizon.String() {
			h.t.Fatalf("%s: %v, %s, want the oldest position %s", path, err, r.Body, h.horizon)
		}
	}
	if h.listed(c) {
		h.s.Want(http.StatusGone, http.MethodGet, "/v1/"+c+"?at="+strconv.FormatUint(seq, 10), "")
	}
}
