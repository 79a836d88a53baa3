package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// transact sends a transaction that must be answered with status.
func transact(s *harness.Client, status int, ops string, headers ...string) *harness.Response {
	return s.Want(status, http.MethodPost, "/v1/_transactions", `{"operations":[`+ops+`]}`, headers...)
}

// TestP13Transaction: a book and its two authors in one transaction; sixteen readers, of one
// snapshot and of the feed, never see half of it.
func TestP13Transaction(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, harness.Bookshop)
	write := func(n int) {
		transact(s.Client, http.StatusOK, fmt.Sprintf(`{"op":"put","collection":"books","id":"b1","body":{"n":%d,"authors":[{"id":"a1"},{"id":"a2"}]}},
			{"op":"put","collection":"authors","id":"a1","body":{"n":%d,"firstName":"F%d","lastName":"L"}},
			{"op":"put","collection":"authors","id":"a2","body":{"n":%d,"firstName":"F%d","lastName":"L"}}`, n, n, n, n, n))
	}
	write(0)
	var stop atomic.Bool
	var reads atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for !stop.Load() {
				readWhole(t, s, i%2 == 0)
				reads.Add(1)
			}
		})
	}
	for n := range suite.Amount(50, 200) {
		write(n + 1)
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d reads beside the transactions", reads.Load())
}

// readWhole reads the book and its authors, by expansion or from the feed, and fails the test if
// they are not of one transaction.
func readWhole(t *testing.T, s *harness.Store, expand bool) {
	type author struct {
		N    int
		Name string
	}
	if expand {
		var book struct {
			N        int
			Authors  []author
			Expanded struct{ Authors map[string]author } `json:"_expanded"`
		}
		harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, "/v1/books/b1?expand=authors", "").Body, &book)
		for i, a := range book.Authors {
			if e := book.Expanded.Authors[fmt.Sprint("a", i+1)]; e.N != book.N || a.Name != fmt.Sprintf("F%d L", book.N) {
				t.Errorf("half a transaction: %+v", book)
			}
		}
		return
	}
	rows, _ := s.Changes("include_docs=true&limit=1") // the newest change of each document
	seen := map[int]bool{}
	for _, row := range rows {
		var doc struct{ N int }
		harness.Decode(t, row.Doc, &doc)
		seen[doc.N] = true
	}
	if len(seen) != 1 {
		t.Errorf("the feed's page has half a transaction: %v", seen)
	}
}

func TestTransactionIsAllOrNothing(t *testing.T) {
	s := harness.OpenTemp(t, harness.Bookshop)
	s.Put("books", "b1", `{"n":1}`)
	rev := harness.Tag(s, "/v1/books/b1")
	r := transact(s.Client, http.StatusOK, `{"op":"put","collection":"books","id":"b1","body":{"n":2},"ifMatch":`+harness.QuoteJSON(rev)+`},
		{"op":"create","collection":"books","body":{"n":3}},
		{"op":"create","collection":"books","body":{"id":7,"n":4}},
		{"op":"check","collection":"authors","id":"a1","ifNoneMatch":"*"}`)
	var answer struct {
		Tx         string
		Position   string
		Operations []struct {
			Op, Collection, ID, ETag string
			Status                   int
			Revision                 uint64
		}
	}
	harness.Decode(t, r.Body, &answer)
	ops := answer.Operations
	if len(ops) != 4 || ops[0].Status != 204 || ops[1].Status != 201 || ops[2].ID != "7" || ops[3].Status != 204 ||
		ops[1].Revision != ops[0].Revision+1 || r.Header.Get("Fanfold-Position") != answer.Position || answer.Tx == "" {
		t.Fatalf("the answer is %s", r.Body)
	}
	if got := harness.Tag(s, "/v1/books/"+ops[1].ID); got != ops[1].ETag {
		t.Errorf("the created book's tag is %s, told was %s", got, ops[1].ETag)
	}
	rows, _ := s.Changes("mode=all")
	tx := 0
	for _, row := range rows {
		if row.Tx == answer.Tx {
			tx++
		}
	}
	if tx != 3 || len(rows) != 4 || rows[0].Tx != "" {
		t.Fatalf("%d rows of the transaction in %+v", tx, rows)
	}
	before := s.Digest()
	put := `{"op":"put","collection":"books","id":"b9","body":{}}`
	for _, bad := range []struct {
		status, at int
		op         string
	}{
		{412, 1, `{"op":"put","collection":"books","id":"b1","body":{},"ifMatch":` + harness.QuoteJSON(rev) + `}`},
		{412, 1, `{"op":"put","collection":"books","id":"b1","body":{},"ifNoneMatch":"*"}`},
		{412, 1, `{"op":"put","collection":"books","id":"none","body":{},"ifMatch":"*"}`},
		{409, 1, `{"op":"create","collection":"books","body":{"id":7}}`},
		{404, 1, `{"op":"delete","collection":"books","id":"none"}`},
		{404, 1, `{"op":"patch","collection":"books","id":"none","patch":{}}`},
		{409, 1, `{"op":"patch","collection":"books","id":"b1","patch":[{"op":"test","path":"/n","value":9}]}`},
		{412, 1, `{"op":"check","collection":"books","id":"b1","ifMatch":1}`},
		{412, 1, `{"op":"check","collection":"books","id":"b1","ifNoneMatch":"*"}`},
		{412, 1, `{"op":"check","collection":"books","id":"none","ifMatch":"*"}`},
		{422, 1, `{"op":"put","collection":"books","id":"b9","body":{}}`},
		{422, 1, `{"op":"put","collection":"books","id":"x","body":{"_x":1}}`},
		{400, 1, `{"op":"put","collection":"books","id":"x"}`},
		{400, 1, `{"op":"check","collection":"books","id":"x"}`},
		{400, 1, `{"op":"drop","collection":"books","id":"x"}`},
		{400, 1, `{"op":"put","collection":"9books","id":"x","body":{}}`},
		{400, 1, `{"op":"put","collection":"books","id":"x","body":{},"nonsense":1}`},
		{400, 1, `{"op":"patch","collection":"books","id":"b1","patch ifMatch":{"n":9}}`},
		{400, 1, `{"op":"patch","collection":"books","id":"b1","patch":{"n":9},"ifMatch refresh":1}`},
		{400, 1, `{"op":"put","collection":"books","id":"x","body ifMatch":{}}`},
		{400, 1, `{"op":"check","collection":"books","id":"x","ifMatch ifNoneMatch":1,"ifNoneMatch":"*"}`},
		{400, 1, `{"op":"delete","collection":"books","id":"b1","":1}`},
		{400, 1, `{"op":"delete","collection":"books"}`},
		{400, 1, `7`},
	} {
		r := transact(s.Client, bad.status, put+","+bad.op)
		var p struct{ Operation *int }
		harness.Decode(t, r.Body, &p)
		if p.Operation == nil || *p.Operation != bad.at {
			t.Errorf("%s: the operation at fault is not named: %s", bad.op, r.Body)
		}
	}
	if s.Digest() != before {
		t.Error("a refused transaction changed something")
	}
}

func TestTransactionLimits(t *testing.T) {
	s := harness.OpenTemp(t, "")
	ops := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"op":"put","collection":"books","id":"%d","body":{"n":%d}}`, i, i))
		}
		return strings.Join(list, ",")
	}
	if r := transact(s.Client, http.StatusUnprocessableEntity, ops(1001)); !strings.Contains(string(r.Body), "1001") {
		t.Errorf("the count is not named: %s", r.Body)
	}
	transact(s.Client, http.StatusOK, ops(1000))
	rows, last := s.Changes("mode=all&limit=1")
	if len(rows) != 1000 || rows[0].Tx == "" || rows[999].Tx != rows[0].Tx || harness.Bare(last) != "1000-0" {
		t.Fatalf("a page of the feed has %d rows of the transaction, up to %s", len(rows), last)
	}
	// As many bytes as a transaction takes, and more.
	big := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"op":"put","collection":"big","id":"%d","body":{"x":%q}}`, i, strings.Repeat("x", 2<<20-100)))
		}
		return strings.Join(list, ",")
	}
	transact(s.Client, http.StatusOK, big(30), "Fanfold-Timeout", "60")
	transact(s.Client, http.StatusRequestEntityTooLarge, big(33))
}

// TestTransactionsCheckWhatTheyRead: one of two documents must stay on. Transactions that check the one and switch
// off the other never both win.
func TestTransactionsCheckWhatTheyRead(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	for round := range 30 {
		for _, id := range []string{"x", "y"} {
			s.Put("switches", id, `{"on":true}`)
		}
		x, y := harness.Tag(s, "/v1/switches/x"), harness.Tag(s, "/v1/switches/y")
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			off, stay, stayTag := "x", "y", y
			if i%2 == 0 {
				off, stay, stayTag = "y", "x", x
			}
			wg.Go(func() {
				r, err := s.Do(http.MethodPost, "/v1/_transactions", fmt.Appendf(nil, `{"operations":[{"op":"check","collection":"switches","id":%q,"ifMatch":%s},
					{"op":"patch","collection":"switches","id":%q,"patch":{"on":false,"by":%d}}]}`, stay, harness.QuoteJSON(stayTag), off, i))
				if err != nil {
					t.Error(err)
					return
				}
				if r.Status == http.StatusOK {
					won.Add(1)
				} else if r.Status != http.StatusPreconditionFailed {
					t.Errorf("%d %s", r.Status, r.Body)
				}
			})
		}
		wg.Wait()
		on := strings.Contains(s.Get("switches", "x"), "true") || strings.Contains(s.Get("switches", "y"), "true")
		if !on || won.Load() == 0 {
			t.Fatalf("round %d: both are off, or nobody won (%d)", round, won.Load())
		}
	}
}

// TestDerivedChangesAreOfTheTransaction: every row of a transaction has its tx, and no page ends
// within it, whatever else it changes.
func TestDerivedChangesAreOfTheTransaction(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {derive: {n: {count: books.author}}}
  books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}
`)
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "1", `{"author":"a"}`)
	_, before := s.Changes("mode=all")
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[
		{"op":"patch","collection":"authors","id":"a","patch":{"name":"Bea"}},
		{"op":"put","collection":"books","id":"2","body":{"author":"a"}},
		{"op":"put","collection":"books","id":"3","body":{"author":"a"}}]}`)
	rows, _ := s.Changes("mode=all&limit=1&since=" + before)
	var ops []string
	for _, row := range rows {
		ops = append(ops, row.Op+" "+row.Collection+"/"+row.ID)
		if row.Tx == "" || row.Tx != rows[0].Tx {
			t.Errorf("%+v has another transaction than %s", row, rows[0].Tx)
		}
	}
	harness.WantText(t, strings.Join(ops, ", "), "patch authors/a, derive books/1, create books/2, derive authors/a, create books/3, derive authors/a")
}

// TestDerivedChangesOfChecks: a transaction of checks alone causes no derived changes. So it is also where its answer is made after
// another transaction was folded, as for a repeated request.
func TestDerivedChangesOfChecks(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {derive: {n: {count: books.author}}}, books: {relations: {author: {path: author, to: authors}}}}")
	s.Put("authors", "a", `{}`)
	checks := `{"op":"check","collection":"authors","id":"a","ifMatch":"*"},{"op":"check","collection":"books","id":"1","ifNoneMatch":"*"}`
	book := `{"op":"put","collection":"books","id":"1","body":{"author":"a"}}`
	author := `{"op":"check","collection":"authors","id":"a","ifMatch":"*"},`
	want := func(key, ops, derived string) {
		t.Helper()
		r := transact(s.Client, http.StatusOK, ops, "Idempotency-Key", key)
		harness.WantText(t, r.Header.Get("Fanfold-Derived-Changes"), derived)
	}
	want("checks", checks, "0")
	want("first", author+book, "1")
	want("second", `{"op":"delete","collection":"books","id":"1"}`, "1")
	want("checks", checks, "0")
	want("first", author+book, "1")
	want("second", `{"op":"delete","collection":"books","id":"1"}`, "1")
}
