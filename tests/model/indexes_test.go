package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// ticketsModel has tickets with copies, counts and computed members, and indexes over all of them.
const ticketsModel = `
collections:
  customers: {derive: {open: {count: tickets.customer}}}
  tickets:
    relations: {customer: {path: customerId, to: customers}}
    derive: {customerName: {copy: customer, value: doc.name}, comments: {count: comments.ticket}, hot: {value: doc.comments > 1}}
    indexes:
      byCustomer: [customerId, -openedAt]
      byName: [customerName, status]
      byNameBackwards: [-customerName]
      byTag: ["tags[]", -priority]
      byLine: ["lines[].sku", "lines[].qty"]
      byMail: ["lower(doc.email)"]
      byComments: [-comments, hot]
      newest: [-_meta.createdAt]
      touched: [-_meta.updatedAt]
      mixed: ["doc.customerName + doc.status", customerName]
  comments: {relations: {ticket: {path: ticket, to: tickets}}}
`

// wantOrder fails the test unless an index has these documents, in this order.
func wantOrder(t *testing.T, s *harness.Store, name, want string) {
	t.Helper()
	if got := strings.Join(harness.IndexOrder(t, s, "tickets", name), " "); got != want {
		t.Errorf("%s has %q, want %q", name, got, want)
	}
}

// TestIndexEntries: every write, whatever it changes on which documents, moves the entries of indexes with it.
func TestIndexEntries(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, ticketsModel)
	s.Put("customers", "c1", `{"name":"Zoe"}`)
	s.Put("customers", "c2", `{"name":"Ann"}`)
	s.Put("tickets", "t1", `{"customerId":"c1","openedAt":1,"status":"open","tags":["b","a"],"email":"X@y","lines":[{"sku":"s","qty":2},{"sku":"r","qty":9}]}`)
	s.Put("tickets", "t2", `{"customerId":"c1","openedAt":2,"status":"done","tags":["a","a"],"email":"a@y","lines":[{"sku":"s","qty":1}]}`)
	s.Put("tickets", "t3", `{"customerId":"c2","status":"open","priority":5,"tags":["a"]}`)
	wantOrder(t, s, "byCustomer", "t2 t1 t3")
	wantOrder(t, s, "byName", "t3 t2 t1")
	wantOrder(t, s, "byNameBackwards", "t2 t1 t3")
	wantOrder(t, s, "byTag", "t3 t2 t1 t1")
	wantOrder(t, s, "byLine", "t3 t1 t2 t1")
	wantOrder(t, s, "byMail", "t3 t2 t1")
	wantOrder(t, s, "newest", "t3 t2 t1")
	wantOrder(t, s, "byComments", "t1 t2 t3")
	s.Merge("customers", "c2", `{"name":"zz"}`)
	wantOrder(t, s, "byName", "t2 t1 t3")
	s.Put("comments", "1", `{"ticket":"t1"}`)
	s.Put("comments", "2", `{"ticket":"t1"}`)
	s.Put("comments", "3", `{"ticket":"t2"}`)
	wantOrder(t, s, "byComments", "t1 t2 t3")
	wantOrder(t, s, "touched", "t3 t2 t1")
	s.Merge("tickets", "t1", `{"customerId":"c2","openedAt":null,"tags":[]}`)
	wantOrder(t, s, "byCustomer", "t2 t3 t1")
	wantOrder(t, s, "byTag", "t1 t3 t2")
	wantOrder(t, s, "touched", "t1 t3 t2")
	s.Delete("comments", "1")
	s.Delete("tickets", "t2")
	wantOrder(t, s, "byLine", "t3 t1 t1")
	s.Delete("customers", "c2")
	wantOrder(t, s, "byName", "t1 t3")
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"tickets","id":"t4","body":{"customerId":"c9","tags":["q"]}},{"op":"put","collection":"customers","id":"c9","body":{"name":"B"}},{"op":"patch","collection":"tickets","id":"t3","patch":{"customerId":"c9","tags":["r"]}},{"op":"delete","collection":"tickets","id":"t1"}]}`)
	wantOrder(t, s, "byName", "t4 t3")
	wantOrder(t, s, "byTag", "t4 t3")
	sameAfterReplay(t, s)
}

// TestIndexOverflow: a document with more different elements than an index takes has one entry, before all others.
func TestIndexOverflow(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, ticketsModel)
	tags := func(n int) string {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		text, _ := json.Marshal(all)
		return string(text)
	}
	s.Put("tickets", "many", `{"tags":`+tags(model.MaxIndexElements)+`}`)
	s.Put("tickets", "more", `{"tags":`+tags(model.MaxIndexElements+1)+`}`)
	s.Put("tickets", "names", `{"tags":{"x":1}}`)
	s.Put("tickets", "none", `{}`)
	if got := harness.IndexOrder(t, s, "tickets", "byTag"); len(got) != model.MaxIndexElements+3 || !slices.Equal(got[:4], []string{"more", "names", "none", "many"}) && !slices.Equal(got[:4], []string{"names", "more", "none", "many"}) {
		t.Errorf("the index begins with %v, of %d", got[:4], len(got))
	}
	s.Put("tickets", "more", `{"tags":[1]}`)
	s.Put("tickets", "many", `{"tags":`+tags(model.MaxIndexElements+1)+`}`)
	if got := harness.IndexOrder(t, s, "tickets", "byTag"); len(got) != 4 {
		t.Errorf("the index has %v", got)
	}
	sameAfterReplay(t, s)
}

// TestIndexFanout: a rename moves the entries of all copies, of those that begin with it in one go, and of others one by one.
func TestIndexFanout(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), SetOrientedFrom: 2})
	defer s.Close()
	s.Model(ticketsModel)
	for i := range 3 {
		s.Put("customers", fmt.Sprint(i), `{"name":"Same"}`)
	}
	for i := range 40 {
		s.Put("tickets", fmt.Sprintf("t%02d", i), fmt.Sprintf(`{"customerId":%d,"status":"%d","openedAt":%d}`, i%3%2, i%5, i))
	}
	s.Merge("customers", "1", `{"name":"Another"}`) // few of those with the same name
	s.Verify()
	s.Merge("customers", "0", `{"name":"A"}`) // all that are left
	s.Merge("customers", "1", `{"name":"A"}`)
	s.Merge("customers", "1", `{"name":"`+strings.Repeat("x", 1100)+`1"}`)
	s.Merge("customers", "1", `{"name":"`+strings.Repeat("x", 1100)+`2"}`) // the same key
	s.Merge("customers", "1", `{"name":{"first":"\u0000\u00ff"}}`)
	s.Merge("customers", "1", `{"name":"\u0000\u00ff\u0000"}`)
	sameAfterReplay(t, s)
}

// TestIndexInModels: a patch of the model adds an index, which is built of what there is, and one that goes must be meant.
func TestIndexInModels(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "collections: {tickets: {}, others: {indexes: {kept: [a]}}}")
	for i := range 10 {
		s.Put("tickets", fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"tags":[%d,"x"]}`, i%3, i))
	}
	const patch = `{"collections":{"tickets":{"indexes":{"byN":["n"],"byTag":["tags[]"]}}}}`
	var preview model.Preview
	read := func(r *harness.Response) {
		t.Helper()
		preview = model.Preview{}
		if err := json.Unmarshal(r.Body, &preview); err != nil {
			t.Fatal(err)
		}
	}
	read(s.Want(http.StatusOK, http.MethodPatch, "/v1/_model?dryRun=true", patch, "Content-Type", harness.MergeType))
	if x := preview.Indexes; len(x) != 2 || x[0].Entries != 10 || x[1].Entries != 20 || x[1].Bytes < 100 || x[0].Change != "new" || x[1].Detail() == "" || preview.Work != 0 {
		t.Errorf("the preview tells %+v", x)
	}
	s.Want(http.StatusOK, http.MethodPatch, "/v1/_model", patch, "Content-Type", harness.MergeType)
	wantOrder(t, s, "byN", "0 3 6 9 1 4 7 2 5 8")
	var status wire.Status
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status); err != nil || !slices.Equal(status.Indexes, []wire.Index{{Collection: "others", Name: "kept"}, {Collection: "tickets", Name: "byN", Entries: 10}, {Collection: "tickets", Name: "byTag", Entries: 20}}) {
		t.Errorf("the status has %+v, %v", status.Indexes, err)
	}
	s.Delete("tickets", "0")
	s.Want(http.StatusOK, http.MethodPatch, "/v1/_model", `{"collections":{"tickets":{"indexes":{"byN":["-n"]}}}}`, "Content-Type", harness.MergeType)
	wantOrder(t, s, "byN", "8 5 2 7 4 1 9 6 3")
	const removal = `{"collections":{"tickets":{"indexes":{"byN":null}}}}`
	r := s.Want(http.StatusConflict, http.MethodPatch, "/v1/_model", removal, "Content-Type", harness.MergeType)
	if !strings.Contains(string(r.Body), "collections.tickets.indexes.byN") {
		t.Errorf("the refusal names no index: %s", r.Body)
	}
	read(s.Want(http.StatusOK, http.MethodPatch, "/v1/_model?dryRun=true", removal, "Content-Type", harness.MergeType))
	if x := preview.Indexes; len(x) != 1 || x[0].Change != "removed" || x[0].Entries != 9 {
		t.Errorf("the preview tells %+v", x)
	}
	s.Want(http.StatusOK, http.MethodPatch, "/v1/_model?allowRemoval=true", removal, "Content-Type", harness.MergeType)
	wantOrder(t, s, "byN", "")
	sameAfterReplay(t, s)
}

// TestIndexesInBackground: a model that adds, changes and drops indexes is prepared with what is written meanwhile, and gives the
// same rows as one that is applied at once.
func TestIndexesInBackground(t *testing.T) {
	suite.Parallel(t)
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	s.Model(strings.NewReplacer("byTag:", "older:", "[-_meta.createdAt]", "[status]").Replace(ticketsModel))
	for i := range 30 {
		s.Put("customers", fmt.Sprint(i%4), fmt.Sprintf(`{"name":"N%d"}`, i))
		s.Put("tickets", fmt.Sprint(i), fmt.Sprintf(`{"customerId":%d,"tags":[%d,2]}`, i%4, i%7))
	}
	seq := s.Propose(ticketsModel)
	s.Prepared()
	s.Merge("customers", "1", `{"name":"M"}`)
	s.Put("tickets", "new", `{"customerId":1,"tags":["x"]}`)
	s.Put("comments", "1", `{"ticket":"new"}`)
	s.Delete("tickets", "3")
	s.Merge("tickets", "4", `{"tags":[]}`)
	hold.Release()
	s.Activated(seq)
	s.Put("tickets", "newer", `{"customerId":1,"tags":["x"]}`)
	if got := harness.IndexOrder(t, s, "tickets", "newest")[:3]; !slices.Equal(got, []string{"newer", "new", "29"}) {
		t.Errorf("the newest are %v", got)
	}
	wantOrder(t, s, "older", "")
	sameAfterReplay(t, s)
}

// TestVerifyNamesEntries: entries that are missing or too many are named with their documents, and so are wrong numbers of them.
func TestVerifyNamesEntries(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	defer func() { s.Close() }()
	s.Model("collections: {tickets: {indexes: {byN: [-n], byTag: [\"tags[]\"]}}}")
	s.Put("tickets", "1", `{"n":1,"tags":["a","b"]}`)
	s.Put("tickets", "2", `{"n":2}`)
	s.Verify()
	for _, statement := range []string{
		"DELETE FROM index_entry WHERE idx = 2 AND key = (SELECT max(key) FROM index_entry WHERE idx = 2)",
		"INSERT INTO index_entry (idx, key, tie) SELECT 1, x'0102', tie FROM index_entry WHERE idx = 1 LIMIT 1",
		"INSERT INTO index_entry (idx, key, tie) VALUES (7, x'01', 1)",
	} {
		harness.RunOutside(t, harness.ReadModel(t, dir), statement)
	}
	found, err := inspect.Verify(t.Context(), s.Node.Store, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range found.Wrong {
		got = append(got, w.Document+" "+w.Rule+" "+w.Detail)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{"tickets/1 tickets.indexes.byTag the index lacks", "tickets.indexes.byN the index has an entry", "index number 7",
		"tickets.indexes.byTag the index has 2 entries, where the read model has counted 3", "tickets.indexes.byN the index has 3 entries, where the read model has counted 2"} {
		if !strings.Contains(all, want) {
			t.Errorf("verify does not find %q in\n%s", want, all)
		}
	}
	if len(got) != 5 {
		t.Errorf("verify finds\n%s", all)
	}
}

// TestIndexFailures: an expression that fails makes no write fail, and the status counts it.
func TestIndexFailures(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "collections: {tickets: {indexes: {byMail: [\"lower(doc.email)\"]}}}")
	s.Put("tickets", "1", `{"email":7}`)
	s.Put("tickets", "2", `{}`)
	s.Put("tickets", "3", `{"email":"A"}`)
	wantOrder(t, s, "byMail", "1 2 3")
	if e := s.Node.Projector.Status().RuleErrors; len(e) != 1 || e[0].Rule != "tickets.indexes.byMail" || e[0].Count != 1 || e[0].Document != "tickets/1" {
		t.Errorf("told are %+v", e)
	}
	sameAfterReplay(t, s)
}
