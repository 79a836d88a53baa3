package history_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// matching returns the documents that an update is about, by id.
func (h *history) matching(op operation) (keys []okey) {
	for key := range h.o.docs {
		op.key.id = key.id
		if key == op.key && (op.below == "" || h.o.holds(op)) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b okey) int { return strings.Compare(a.id, b.id) })
	return keys
}

// sendUpdate sends an update by query, with a key or without, and returns the lines of its answer.
func (h *history) sendUpdate(op operation, method, contentType string) string {
	h.t.Helper()
	headers := []string{"Content-Type", contentType}
	if chance(h.t, 50) {
		headers = append(headers, "Idempotency-Key", fmt.Sprint("update", h.lastSeq()))
	}
	return string(h.s.Want(http.StatusOK, method, "/v1/"+op.key.collection+op.query(), op.body, headers...).Body)
}

// update sends a patch of the documents that a filter matches. The oracle patches them one after the other, by id.
func (h *history) update(op operation) {
	keys, was := h.matching(op), map[okey]storedText{}
	for _, key := range keys {
		was[key] = h.asWritten(key)
	}
	contentType, by := "application/merge-patch+json", op.body
	if op.kind == "update-increment" {
		contentType, op.body = "application/json-patch+json", `[{"op":"increment","path":"/n","value":`+by+`}]`
	}
	told := h.sendUpdate(op, http.MethodPatch, contentType)
	written := 0
	for _, key := range keys {
		body, is, fits := h.o.docs[key].body.Clone(), h.asWritten(key), true
		if op.kind == "update" {
			jsonvalue.MergePatch(body, jsonvalue.Parse(op.body))
		} else if stored, ok := incremented(h.o.docs[key], by); ok {
			fits = jsonvalue.ApplyPatch(body, stored)
		} else {
			fits = false
		}
		left := !fits || h.o.longBody(body) || is.text == was[key].text && len(op.refresh) == 0 && !h.o.writesTell(key.collection)
		if left != (is.revision == was[key].revision) {
			h.t.Fatalf("%#v leaves %s at revision %s, %s; that it is left is to be %t", op, key, was[key].revision, is.text, left)
		}
		if left {
			continue
		}
		seq, err := strconv.ParseUint(is.revision, 10, 64)
		if err != nil {
			h.t.Fatal(err)
		}
		written++
		h.o.write(key, body, "", op.refresh...)
		h.refreshed = op.refresh
		h.stored(seq, "patch", key)
		h.refreshed = nil
	}
	h.wantTold(op, told, len(keys), written)
}

// wantTold fails the history unless an update says how many documents it matched and wrote.
func (h *history) wantTold(op operation, told string, matched, written int) {
	h.t.Helper()
	if want := fmt.Sprintf(`{"done":true,"folded":true,"matched":%d,"written":%d,`, matched, written); !strings.Contains(told, want) {
		h.t.Fatalf("%#v has no %s: %s", op, want, told)
	}
}

// deleteMatching deletes the documents that a filter matches, where these deletes bring nothing with them. Those that others restrict stay.
func (h *history) deleteMatching(op operation) {
	keys, held := h.matching(op), map[okey]bool{}
	for _, key := range keys {
		gone, edits, restricted, _ := h.o.removal([]okey{key}, nil)
		if held[key] = restricted; len(gone)+len(edits) > 1 || restricted && len(keys) > 1 { // a holder may go before
			return
		}
	}
	before := h.lastSeq()
	told := h.sendUpdate(op, http.MethodDelete, "")
	rows, _ := h.s.Changes("mode=all&since=" + h.since())
	written := 0
	for _, row := range rows {
		if row.Rev <= before || row.Op != "delete" {
			continue
		}
		key := okey{row.Collection, row.ID}
		if !slices.Contains(keys, key) || held[key] {
			h.t.Fatalf("%#v deletes %s", op, key)
		}
		h.o.remove(key)
		h.stored(row.Rev, "delete", key)
		written++
	}
	h.wantTold(op, told, len(keys), written)
	if left := len(keys) - written; left > 0 && !held[keys[0]] {
		h.t.Fatalf("%#v leaves %d documents: %s", op, left, told)
	}
}
