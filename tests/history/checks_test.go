package history_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// checkedModel has a check over a sum of sums and a copy, one over a count, and one over the document alone.
func checkedModel(checked bool) string {
	checks := map[string]string{"customers": "credit: { that: doc.left >= 0 }, few: { that: doc.orders <= 2 }", "lines": "some: { that: doc.n > 0 }"}
	of := func(collection string) string {
		if !checked {
			return ""
		}
		return "checks: { " + checks[collection] + " }"
	}
	return `
collections:
  limits: {}
  customers:
    relations: { limit: { path: limit, to: limits, onDelete: unlink } }
    derive: { most: { copy: limit, value: doc.most }, spent: { sum: orders.customer, of: total }, left: { value: doc.most - doc.spent }, orders: { count: orders.customer } }
    ` + of("customers") + `
  orders:
    relations: { customer: { path: customer, to: customers, onDelete: cascade } }
    derive: { total: { sum: lines.order, of: n } }
  lines:
    relations: { order: { path: order, to: orders } }
    ` + of("lines") + `
`
}

// checkedDocument is a document as the oracle has it: whom it refers to, and its number.
type checkedDocument struct {
	refers string
	n      int
}

// checkedState has the documents by collection and id.
type checkedState map[string]checkedDocument

// broken returns which checks are false, by document. It computes everything anew.
func (s checkedState) broken() map[string]bool {
	out := map[string]bool{}
	for key, d := range s {
		collection, id, _ := strings.Cut(key, "/")
		switch collection {
		case "lines":
			if d.n <= 0 {
				out[key+" some"] = true
			}
		case "customers":
			spent, orders := 0, 0
			for order, o := range s {
				if !strings.HasPrefix(order, "orders/") || o.refers != id {
					continue
				}
				orders++
				for line, l := range s {
					if strings.HasPrefix(line, "lines/") && "orders/"+l.refers == order {
						spent += l.n
					}
				}
			}
			if limit, exists := s["limits/"+d.refers]; exists && limit.n < spent {
				out[key+" credit"] = true
			}
			if orders > 2 {
				out[key+" few"] = true
			}
		}
	}
	return out
}

// write is a write of one document; nil is for a delete.
type checkedWrite struct {
	key string
	to  *checkedDocument
}

// body returns the document as JSON.
func (w checkedWrite) body() string {
	collection, _, _ := strings.Cut(w.key, "/")
	switch collection {
	case "limits":
		return fmt.Sprintf(`{"most":%d}`, w.to.n)
	case "customers":
		return fmt.Sprintf(`{"limit":%q}`, w.to.refers)
	case "orders":
		return fmt.Sprintf(`{"customer":%q}`, w.to.refers)
	}
	return fmt.Sprintf(`{"order":%q,"n":%d}`, w.to.refers, w.to.n)
}

// after returns the state after writes, with what their deletes bring with them.
func (s checkedState) after(writes ...checkedWrite) checkedState {
	out := maps.Clone(s)
	for _, w := range writes {
		if w.to != nil {
			out[w.key] = *w.to
			continue
		}
		delete(out, w.key)
		collection, id, _ := strings.Cut(w.key, "/")
		for key, d := range out {
			switch {
			case d.refers != id:
			case collection == "customers" && strings.HasPrefix(key, "orders/"):
				delete(out, key)
			case collection == "limits" && strings.HasPrefix(key, "customers/"):
				out[key] = checkedDocument{}
			}
		}
	}
	return out
}

// allows tells whether no check is false after that was not before.
func (s checkedState) allows(after checkedState) bool {
	before := s.broken()
	for check := range after.broken() {
		if !before[check] {
			return false
		}
	}
	return true
}

// checkedHistory is one random run.
type checkedHistory struct {
	t       *testing.T
	s       *harness.Store
	rng     *rand.Rand
	state   checkedState
	checked bool
	refused int
}

// TestRandomChecks: random writes, transactions, imports and models give what an oracle says that recomputes all checks from the documents.
// Between them the store is replayed, opened again, and begins later.
func TestRandomChecks(t *testing.T) {
	suite.Concurrent(t)
	for seed := range suite.Amount(4, 40) {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			h := &checkedHistory{t: t, s: harness.Open(t, harness.Options{Dir: t.TempDir()}), rng: rand.New(rand.NewPCG(uint64(seed), 9)), state: checkedState{}}
			h.s.Model(checkedModel(false))
			for range 150 {
				h.step()
			}
			h.s.Verify()
			h.s.Close()
			if h.refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

// write returns a random write.
func (h *checkedHistory) write() checkedWrite {
	kinds := []string{"limits", "customers", "orders", "orders", "lines", "lines", "lines"}
	parents := map[string]string{"customers": "limits", "orders": "customers", "lines": "orders"}
	collection := kinds[h.rng.IntN(len(kinds))]
	id := func(c string) string { return fmt.Sprint(c[:1], h.rng.IntN(3)) }
	w := checkedWrite{key: collection + "/" + id(collection)}
	if h.rng.IntN(6) == 0 {
		if _, exists := h.state[w.key]; exists {
			return w
		}
	}
	w.to = &checkedDocument{n: h.rng.IntN(5)}
	if collection == "limits" {
		w.to.n = h.rng.IntN(12)
	}
	if parent := parents[collection]; parent != "" {
		w.to.refers = id(parent)
	}
	return w
}

// step makes one random step, and compares the answer with the oracle's.
func (h *checkedHistory) step() {
	switch k := h.rng.IntN(40); {
	case k < 3:
		h.model()
	case k == 3:
		h.s.Replay()
	case k == 4:
		h.s = h.s.Reopen()
	case k == 5:
		seq, err := h.s.Node.Log.LastSeq(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		h.s.Compact(seq)
	case k < 12:
		h.transaction()
	case k < 18:
		h.lines()
	default:
		w := h.write()
		method, body := http.MethodDelete, ""
		if w.to != nil {
			method, body = http.MethodPut, w.body()
		}
		after := h.state.after(w)
		h.decided(method+" "+w.key+" "+body, after, h.do(method, "/v1/"+w.key, body))
	}
}

// do sends a request, and returns its status.
func (h *checkedHistory) do(method, path, body string, headers ...string) int {
	h.t.Helper()
	r, err := h.s.Do(method, path, []byte(body), headers...)
	if err != nil {
		h.t.Fatal(err)
	}
	if r.Status == http.StatusUnprocessableEntity && !strings.Contains(path, "_model") && !strings.Contains(string(r.Body), "urn:fanfold:problem:check-failed") {
		h.t.Fatalf("%s %s %s: %s", method, path, body, r.Body)
	}
	return r.Status
}

// decided compares a status with what the oracle says about the state after, and goes on from there.
func (h *checkedHistory) decided(what string, after checkedState, status int) {
	h.t.Helper()
	allowed := !h.checked || h.state.allows(after)
	if accepted := status < 300; accepted != allowed {
		h.t.Fatalf("%s: %d, and by the oracle it is allowed: %t; false before %v, after %v", what, status, allowed, h.state.broken(), after.broken())
	}
	if allowed {
		h.state = after
	} else {
		h.refused++
	}
}

// transaction writes two or three documents at once.
func (h *checkedHistory) transaction() {
	var writes []checkedWrite
	var ops []string
	for range 2 + h.rng.IntN(2) {
		w := h.write()
		if w.to == nil || slices.ContainsFunc(writes, func(o checkedWrite) bool { return o.key == w.key }) {
			continue
		}
		collection, id, _ := strings.Cut(w.key, "/")
		ops = append(ops, fmt.Sprintf(`{"op":"put","collection":%q,"id":%q,"body":%s}`, collection, id, w.body()))
		writes = append(writes, w)
	}
	if len(writes) > 0 {
		body := `{"operations":[` + strings.Join(ops, ",") + `]}`
		h.decided(body, h.state.after(writes...), h.do(http.MethodPost, "/v1/_transactions", body))
	}
}

// lines imports documents, each judged by those before it.
func (h *checkedHistory) lines() {
	var text strings.Builder
	written, state := 0, h.state
	for range 1 + h.rng.IntN(6) {
		w := h.write()
		if w.to == nil {
			continue
		}
		collection, id, _ := strings.Cut(w.key, "/")
		fmt.Fprintf(&text, `{"collection":%q,"doc":{"id":%q,%s}`+"\n", collection, id, w.body()[1:])
		if after := state.after(w); !h.checked || state.allows(after) {
			state, written = after, written+1
		} else {
			h.refused++
		}
	}
	r := h.s.Want(http.StatusOK, http.MethodPost, "/v1/_import", text.String(), "Content-Type", "application/x-ndjson")
	if text.Len() > 0 && !strings.Contains(string(r.Body), fmt.Sprintf(`"written":%d}`, written)) {
		h.t.Fatalf("of\n%s%d lines are allowed: %s", text.String(), written, r.Body)
	}
	h.state = state
}

// model applies the model with checks, or without. One with checks is refused while any is false.
func (h *checkedHistory) model() {
	checked, misfits := h.rng.IntN(3) > 0, h.rng.IntN(2) == 0
	status := h.do(http.MethodPut, fmt.Sprintf("/v1/_model?allowRemoval=true&allowMisfits=%t", misfits), checkedModel(checked), "Content-Type", "application/yaml")
	allowed := !checked || h.checked || misfits || len(h.state.broken()) == 0
	if (status == http.StatusOK) != allowed {
		h.t.Fatalf("the model with checks %t: %d, and misfits may be: %t; false are %v", checked, status, misfits, h.state.broken())
	}
	if allowed {
		h.checked = checked
	}
}
