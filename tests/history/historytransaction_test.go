package history_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// parts are the operations of a transaction, each on another document.
func (h *history) parts(t *rapid.T) (parts []operation) {
	seen := map[okey]bool{}
	for range 2 + upTo(t, 3) {
		op := operation{key: h.key(t)}
		switch n := upTo(t, 9); {
		case n < 6:
			op.kind, op.body = "put", document(t, op.key, h.o.model)
		case n < 8:
			op.kind, op.body, op.key = "merge-patch", memberPatch(t), h.there(t, op.key)
		default:
			op.kind, op.key = "delete", h.there(t, op.key)
		}
		if chance(t, 10) {
			op.below = draw(t, "-1", "2", "1e3", "1e3")
		}
		if !seen[op.key] {
			seen[op.key] = true
			parts = append(parts, op)
		}
	}
	return parts
}

// transaction sends the parts; one that cannot be done refuses them all.
func (h *history) transaction(parts []operation) {
	want, at := http.StatusOK, -1
	long := -1 // the first patch that makes its document too long
	var ops []string
	var roots []okey
	others, bodies := map[okey]bool{}, make([]*jsonvalue.Value, len(parts))
	for i, p := range parts {
		op := fmt.Sprintf(`{"collection":%q,"id":%q,`, p.key.collection, p.key.id)
		switch p.kind {
		case "put":
			op += `"op":"put","body":` + p.body
			bodies[i] = jsonvalue.Parse(p.body)
			if long < 0 && h.o.tooLong(p.key, p.body) { // by its defaults, or it is told before
				long = i
			}
		case "merge-patch":
			op += `"op":"patch","patch":` + p.body
			if d := h.o.docs[p.key]; d != nil {
				bodies[i] = d.body.Clone()
				jsonvalue.MergePatch(bodies[i], jsonvalue.Parse(p.body))
				if long < 0 && h.o.longBody(bodies[i]) {
					long = i
				}
			}
		default:
			op += `"op":"delete"`
			roots = append(roots, p.key)
		}
		others[p.key] = true
		if p.kind != "put" && h.o.docs[p.key] == nil && want == http.StatusOK {
			if want, at = http.StatusNotFound, i; long >= 0 { // patches are made in the order of operations
				want, at = http.StatusUnprocessableEntity, long
			}
		}
		if p.below != "" {
			op += `,"if":"doc.n < params.most","params":{"most":` + p.below + `}`
		}
		ops = append(ops, op+"}")
	}
	gone, edits, held, clash := h.o.removal(roots, others)
	for i, p := range slices.Backward(parts) {
		if p.kind == "put" && h.o.tooLongBefore(p.key, p.body) {
			want, at = http.StatusUnprocessableEntity, i
		}
	}
	switch {
	case want != http.StatusOK:
	case clash:
		want = http.StatusUnprocessableEntity
	default:
		want, at = h.allowed(parts, bodies, gone, held)
	}
	if h.refusesConditions(parts, want, ops) {
		return
	}
	r := h.write(want, http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	if want != http.StatusOK {
		var problem struct{ Operation *int }
		if err := json.Unmarshal(r.Body, &problem); err != nil || at >= 0 && (problem.Operation == nil || *problem.Operation != at) {
			h.t.Fatalf("operation %d is at fault; told was %s", at, r.Body)
		}
		return
	}
	var answer struct{ Operations []struct{ Revision uint64 } }
	if err := json.Unmarshal(r.Body, &answer); err != nil {
		h.t.Fatalf("%s: %v", r.Body, err)
	}
	for i, p := range parts {
		op := "create"
		if h.o.docs[p.key] != nil {
			op = "replace"
		}
		switch p.kind {
		case "put":
			h.o.put(p.key, p.body)
		case "merge-patch":
			op = "patch"
			h.o.write(p.key, bodies[i], "")
		default:
			op = "delete"
			h.o.remove(p.key)
			delete(gone, p.key)
		}
		h.stored(answer.Operations[i].Revision, op, p.key)
	}
	h.removed(gone, edits, roots)
}

// refusesConditions sends a transaction with an operation whose condition does not hold, and wants it to change nothing; else it is false. want is
// the answer that it would have without conditions.
func (h *history) refusesConditions(parts []operation, want int, ops []string) bool {
	h.t.Helper()
	at := slices.IndexFunc(parts, func(p operation) bool { return p.below != "" && !h.o.holds(p) })
	if at < 0 {
		return false
	}
	before := h.lastSeq()
	r, err := h.s.Do(http.MethodPost, "/v1/_transactions", []byte(`{"operations":[`+strings.Join(ops, ",")+`]}`))
	if err != nil || r.Status < 400 || r.Status >= 500 {
		h.t.Fatalf("a transaction whose operation %d has a condition that is false: %v, %+v", at, err, r)
	}
	if want == http.StatusOK && (r.Status != http.StatusPreconditionFailed || !strings.Contains(string(r.Body), fmt.Sprintf(`"operation":%d`, at))) {
		h.t.Fatalf("operation %d has a condition that is false; told was %d %s", at, r.Status, r.Body)
	}
	h.wantFencesFrom(before + 1)
	return true
}

// allowed is the answer to a transaction with deletes whose documents are there, and the index of
// the operation at fault, -1 for none.
func (h *history) allowed(parts []operation, bodies []*jsonvalue.Value, gone map[okey]bool, held bool) (status, at int) {
	for i, p := range parts { // patches are made before it is looked at what deletes bring with them
		if p.kind == "merge-patch" && h.o.longBody(bodies[i]) || p.kind == "put" && h.o.tooLong(p.key, p.body) {
			return http.StatusUnprocessableEntity, i
		}
	}
	if held {
		return http.StatusConflict, -1
	}
	for i, p := range parts {
		if bodies[i] != nil && h.o.refersTo(p.key.collection, bodies[i], gone) {
			return http.StatusUnprocessableEntity, i
		}
	}
	return http.StatusOK, -1
}
