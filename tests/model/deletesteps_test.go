package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// deleteInSteps repeats the delete of a document in steps until it is done, and returns how many documents it deleted and
// changed. between is called after each step but the last.
func deleteInSteps(t *testing.T, s *harness.Store, path string, between func()) (deleted, changed int) {
	t.Helper()
	for range 50 {
		var step struct {
			Done             bool
			Deleted, Changed int
		}
		r := s.Want(http.StatusOK, http.MethodDelete, "/v1/"+path+"?steps=true", "", "Fanfold-Timeout", "60")
		if err := json.Unmarshal(r.Body, &step); err != nil {
			t.Fatalf("%s: %v", r.Body, err)
		}
		deleted, changed = deleted+step.Deleted, changed+step.Changed
		if step.Done {
			return deleted, changed
		}
		between()
	}
	t.Fatal("the delete does not come to an end")
	return 0, 0
}

// importLines imports documents. Each is given as its collection and its text.
func importLines(t *testing.T, s *harness.Store, docs ...[2]string) {
	t.Helper()
	var lines strings.Builder
	for _, d := range docs {
		fmt.Fprintf(&lines, `{"collection":%q,"doc":%s}`+"\n", d[0], d[1])
	}
	if r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import", lines.String(), "Content-Type", "application/x-ndjson"); strings.Contains(string(r.Body), `"status":`) {
		t.Fatalf("the import says %s", r.Body)
	}
}

// TestStepsFindWhatRestricts: a document that forbids a delete in steps ends it there, and is named. The step writes nothing,
// and the same request goes on later.
func TestStepsFindWhatRestricts(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  shops: {}
  orders: {relations: {shop: {path: shop, to: shops, onDelete: cascade}}}
  lines: {relations: {order: {path: order, to: orders, onDelete: cascade}, twin: {path: twin, to: lines, onDelete: restrict}, mark: {path: mark, to: lines, strict: true}}}
  bills: {relations: {order: {path: order, to: orders, onDelete: restrict}}}
  claims: {relations: {line: {path: line, to: lines, strict: true}}}
  carts: {schema: {properties: {lines: {minItems: 1}}}, relations: {line: {path: "lines[]", to: lines, onDelete: unlink}}}
`)
	const orders = 350 // with two lines each; each line restricts the delete of the other, or refers to it strictly
	docs := [][2]string{{"shops", `{"id":"s"}`}}
	for i := range orders {
		docs = append(docs, [2]string{"orders", fmt.Sprintf(`{"id":"%d","shop":"s"}`, i)},
			[2]string{"lines", fmt.Sprintf(`{"id":"%d-a","order":%d,"twin":"%d-b"}`, i, i, i)}, [2]string{"lines", fmt.Sprintf(`{"id":"%d-b","order":%d,"twin":"%d-a","mark":"%d-a"}`, i, i, i, i)})
	}
	importLines(t, s, docs...)
	s.Put("bills", "h", `{"order":"349"}`)
	r := s.Want(http.StatusOK, http.MethodDelete, "/v1/shops/s?steps=true", "")
	var first struct{ Deleted int }
	harness.Decode(t, r.Body, &first)
	if first.Deleted == 0 {
		t.Fatalf("the first step says %s", r.Body)
	}
	for _, held := range []struct{ collection, doc, want string }{
		{"bills", `{"order":"349"}`, `bills/h","detail":"refers to orders/349 by bills.order, which restricts deletes`},
		{"claims", `{"line":"349-b"}`, `claims/h","detail":"refers to lines/349-b by claims.line, which is strict`},
		{"carts", `{"lines":["348-a","349-b"]}`, `carts/h/lines","detail":"would not fit the schema of carts without its reference: minItems: got 0, want 1`},
	} {
		s.Put(held.collection, "h", held.doc)
		_, before := s.Changes("mode=all")
		for _, dry := range []string{"&dryRun=true", ""} {
			r := s.Want(http.StatusConflict, http.MethodDelete, "/v1/shops/s?steps=true"+dry, "")
			if !strings.Contains(string(r.Body), held.want) {
				t.Errorf("%q is not in %s", held.want, r.Body)
			}
		}
		if list, _ := feedOf(t, s, before); len(list) > 0 {
			t.Fatalf("%d documents were written by a step in whose way %s/h stands", len(list), held.collection)
		}
		s.Delete(held.collection, "h")
	}
	s.Put("carts", "h", `{"lines":["349-b","x"]}`)
	if deleted, changed := deleteInSteps(t, s, "shops/s", func() {}); first.Deleted+deleted != 1+3*orders || changed != 1 {
		t.Fatalf("%d and %d deleted, %d changed", first.Deleted, deleted, changed)
	}
	s.WantDoc("carts", "h", `{"id":"h","lines":["x"]}`)
}

// TestStepsLeaveWhatFits: a document that loses several references fits its schema after each step, not only after the
// last one.
func TestStepsLeaveWhatFits(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  shops: {}
  items: {relations: {shop: {path: shop, to: shops, onDelete: cascade}}}
  pairs: {schema: {dependentRequired: {first: [second]}}, relations: {first: {path: first, to: items, onDelete: unlink}, second: {path: second, to: items, onDelete: unlink}}}
`)
	const items = 1500
	docs := [][2]string{{"shops", `{"id":"s"}`}, {"pairs", fmt.Sprintf(`{"id":"p","first":"%d","second":"0"}`, items-1)}}
	for i := range items {
		docs = append(docs, [2]string{"items", fmt.Sprintf(`{"id":"%d","shop":"s"}`, i)})
	}
	importLines(t, s, docs...)
	if deleted, changed := deleteInSteps(t, s, "shops/s", func() { s.WantDoc("pairs", "p", `{"id":"p"}`) }); deleted != items+1 || changed != 1 {
		t.Fatalf("%d deleted, %d changed", deleted, changed)
	}
}

// TestDeleteOfLongChains: documents that delete each other in a row longer than a transaction are deleted in steps, a ring of
// them, too.
func TestDeleteOfLongChains(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {as: {schema: {required: [to]}, relations: {to: {path: to, to: as, onDelete: cascade}, last: {path: last, to: as, onDelete: unlink}}}}`)
	const length = 2500
	docs := [][2]string{{"as", `{"id":"0","to":"none","last":"2499"}`}}
	for i := 1; i < length; i++ {
		docs = append(docs, [2]string{"as", fmt.Sprintf(`{"id":"%d","to":"%d"}`, i, i-1)})
	}
	importLines(t, s, docs...)
	r := s.Want(http.StatusUnprocessableEntity, http.MethodDelete, "/v1/as/0", "")
	if want := fmt.Sprintf("would write %d documents", length); !strings.Contains(string(r.Body), want) {
		t.Fatalf("%q is not in %s", want, r.Body)
	}
	if deleted, _ := deleteInSteps(t, s, "as/0", func() {}); deleted != length {
		t.Fatalf("%d deleted", deleted)
	}
	docs[0][1] = fmt.Sprintf(`{"id":"0","to":"%d"}`, length-1)
	importLines(t, s, docs...)
	if deleted, _ := deleteInSteps(t, s, "as/0", func() {}); deleted != length {
		t.Fatalf("%d of the ring deleted", deleted)
	}
}

// TestStepsKeepStrictRingsWhole: documents that refer to each other strictly are deleted in one step, wherever it would end
// otherwise.
func TestStepsKeepStrictRingsWhole(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {shops: {}, as: {relations: {shop: {path: shop, to: shops, onDelete: cascade}, next: {path: next, to: as, strict: true}}}}`)
	const rings, size = 100, 7
	var docs, closed []string
	for i := range rings * size {
		next := i + 1
		if next%size == 0 {
			next -= size
		}
		docs = append(docs, fmt.Sprintf(`{"id":"%d","shop":"s"}`, i))
		closed = append(closed, fmt.Sprintf(`{"id":"%d","shop":"s","next":%d}`, i, next))
	}
	s.Put("shops", "s", `{}`)
	for _, lines := range [][]string{docs, closed} {
		s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=as", strings.Join(lines, "\n"), "Content-Type", "application/x-ndjson")
	}
	s.Want(http.StatusConflict, http.MethodDelete, "/v1/as/0?steps=true", "") // the ring's next one stays
	if deleted, _ := deleteInSteps(t, s, "shops/s", func() {}); deleted != rings*size+1 {
		t.Fatalf("%d deleted", deleted)
	}
}
