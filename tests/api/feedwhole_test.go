package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
)

// totalsModel sums an order's lines.
const totalsModel = `{collections: {
  orders: {derive: {total: {sum: lines.order, of: amount}}},
  lines: {relations: {order: {path: order, to: orders, onDelete: cascade}}}}}`

// transactAll sends operations as one transaction.
func transactAll(s *harness.Store, operations ...string) {
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(operations, ",")+`]}`)
}

// putOf returns an operation.
func putOf(collection, id, body string) string {
	return fmt.Sprintf(`{"op":"put","collection":%q,"id":%q,"body":%s}`, collection, id, body)
}

// lineOf returns the operation that puts a line of order o.
func lineOf(id string, amount int) string {
	return putOf("lines", id, fmt.Sprintf(`{"order":"o","amount":%d}`, amount))
}

// totalsOf returns what rows say of the order: op, total before and after, and whether it is within.
func totalsOf(rows []harness.Change) (list []string) {
	total := func(doc json.RawMessage) string {
		var d struct{ Total json.RawMessage }
		if doc == nil || json.Unmarshal(doc, &d) != nil {
			return "-"
		}
		return string(d.Total)
	}
	for _, row := range rows {
		text := fmt.Sprintf("%s %s>%s", row.Op, total(row.Previous), total(row.Doc))
		if row.Within {
			text += " within"
		}
		list = append(list, text)
	}
	return list
}

// TestFeedShowsWholeTransactions: a written row has the document as of its transaction's end, and the one before as of its beginning. A filter
// judges what is shown.
func TestFeedShowsWholeTransactions(t *testing.T) {
	s := harness.OpenTemp(t, totalsModel)
	want := func(query string, want ...string) {
		t.Helper()
		rows, _ := s.Changes("mode=all&include_docs=true&collections=orders&" + query)
		if got := totalsOf(rows); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	transactAll(s, putOf("orders", "o", `{"customer":"c"}`), lineOf("l1", 10), lineOf("l2", 5))
	first := []string{"create ->15", "derive ->10 within", "derive ->15 within"}
	want("since=0", first...)
	want("since=0&derived=exclude", first[0])
	want("since=2-0", first[1:]...)
	transactAll(s, `{"op":"delete","collection":"lines","id":"l1"}`, lineOf("l3", 20), putOf("orders", "o", `{"customer":"d"}`), lineOf("l4", 1))
	second := []string{"derive ->5 within", "derive ->25 within", "replace 15>26", "derive ->26 within"}
	want("since=4", second...)
	want("since=0&derived=exclude", first[0], second[2])
	want("since=0&filter="+"doc.total%3E20", second[1:]...) // the total of 5 is passed over
	want("since=0&filter="+"doc.total%3D%3D15", append(slices.Clone(first[:1]), first[2], "leave ->-")...)
	want("since=0&filter=" + "doc.total%3D%3D10") // which nobody could ever read
	want("since=0&filter="+"previous.total%3D%3D15", "derive ->5 within", "replace 15>26")
	s.Put("lines", "l5", `{"order":"o","amount":100}`)
	want("since=8", "derive ->126")
	s.Put("orders", "o", `{"customer":"e"}`)
	want("since=9", "replace 126>126")
	transactAll(s, `{"op":"delete","collection":"lines","id":"l2"}`, `{"op":"delete","collection":"orders","id":"o"}`)
	rows, _ := s.Changes("mode=all&include_docs=true&collections=orders&since=10")
	if last := rows[len(rows)-1]; last.Op != "delete" || !strings.Contains(string(last.Previous), `"total":126`) {
		t.Errorf("a delete shows %+v", rows)
	}
	s.Verify()
}

// TestTransportsShowWholeTransactions: all transports and the history of the document show the same.
func TestTransportsShowWholeTransactions(t *testing.T) {
	s := harness.OpenTemp(t, totalsModel)
	transactAll(s, putOf("orders", "o", `{"customer":"c"}`), lineOf("l1", 10), lineOf("l2", 5))
	const query = "mode=all&include_docs=true&collections=orders&since=0"
	want := []string{"create ->15", "derive ->10 within", "derive ->15 within"}
	check := func(from string, rows []harness.Change) {
		t.Helper()
		if got := totalsOf(rows); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", from, got, want)
		}
	}
	var rows []harness.Change
	events := harness.OpenSSE(t, s, query+"&limit=1&feed=eventsource")
	for range want {
		_, _, row, _ := events.Next()
		rows = append(rows, row)
	}
	check("eventsource", rows)
	conn, _, err := harness.DialFeed(t, s, query+"&limit=1&feed=websocket")
	if err != nil {
		t.Fatal(err)
	}
	rows = nil
	for range want {
		_, message, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, rowOf(t, message))
	}
	check("websocket", rows)
	rows = nil
	for text := range strings.Lines(string(s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?feed=continuous&limit=1&"+query, "").Body)) {
		if row := rowOf(t, []byte(text)); row.ID != "" {
			rows = append(rows, row)
		}
	}
	check("continuous", rows)
	for _, order := range []string{"asc", "desc"} {
		var page struct{ Items []harness.Change }
		body := s.Want(http.StatusOK, http.MethodGet, "/v1/orders/o/_history?order="+order, "").Body
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
		if order == "desc" {
			slices.Reverse(page.Items)
		}
		check("the history", page.Items)
		if !strings.Contains(string(page.Items[0].Patch), `"total":15`) {
			t.Errorf("the patch of the create is %s", page.Items[0].Patch)
		}
	}
}

// rowOf reads a row.
func rowOf(t *testing.T, text []byte) (row harness.Change) {
	t.Helper()
	if err := json.Unmarshal(text, &row); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return row
}

// TestLongTransactionsAreShownWhole: a transaction that many pages of the feed have shows its end from the first row on, from any position. Compactions and erasures leave rows that show the same.
func TestLongTransactionsAreShownWhole(t *testing.T) {
	s := harness.OpenTemp(t, totalsModel)
	const lines = 600
	ops := []string{putOf("orders", "o", `{"customer":"c"}`)}
	for i := range lines {
		ops = append(ops, lineOf(fmt.Sprint("l", i), 1))
	}
	transactAll(s, ops...)
	rows, _ := s.Changes("mode=all&include_docs=true&collections=orders&since=0")
	if got := totalsOf(rows); len(got) != 1+lines || got[0] != "create ->600" || got[lines] != "derive ->600 within" || got[lines/2] != fmt.Sprintf("derive ->%d within", lines/2) {
		t.Errorf("%d rows, %q", len(got), got[:min(3, len(got))])
	}
	for _, at := range []int{1, lines / 3, lines - 1} {
		rest, _ := s.Changes("mode=all&include_docs=true&collections=orders&since=" + rows[at].Seq)
		if got := totalsOf(rest); !slices.Equal(got, totalsOf(rows[at+1:])) {
			t.Errorf("after row %d there are %d rows, %q", at, len(got), got[:min(3, len(got))])
		}
	}
	before := s.Put("orders", "x", `{}`).Header.Get("Fanfold-Position")
	transactAll(s, lineOf("m1", 10), putOf("orders", "o", `{"customer":"d","secret":1}`), lineOf("m2", 20))
	want := []string{"derive ->610 within", "replace 600>630", "derive ->630 within"}
	check := func(since string) {
		t.Helper()
		rows, _ := s.Changes("mode=all&include_docs=true&collections=orders&since=" + since)
		if got := totalsOf(rows); !slices.Equal(got[:min(len(got), 3)], want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(before)
	awaitErasure(t, s, s.Want(http.StatusAccepted, http.MethodPost, "/v1/orders/o/_erase", `{"members":["/secret"]}`))
	check(before)
	awaitErasure(t, s, s.Want(http.StatusAccepted, http.MethodPost, "/v1/lines/m2/_erase", ""))
	feed := "/v1/_changes?mode=all&include_docs=true&since=" + before
	if text := string(s.Want(http.StatusOK, http.MethodGet, feed, "").Body); !strings.Contains(text, `"within":true`) || strings.Contains(text, "secret") || strings.Contains(text, `"total":630`) {
		t.Errorf("after erasures the feed is %s", text)
	}
	rowsOf := func() string {
		rows, _, _ := strings.Cut(string(s.Want(http.StatusOK, http.MethodGet, feed, "").Body), `"last_seq"`)
		return rows
	}
	erased := rowsOf()
	s.Want(http.StatusAccepted, http.MethodPost, "/v1/_compact", `{"before":"`+before+`"}`)
	awaitCompaction(t, s)
	if after := rowsOf(); after != erased {
		t.Errorf("after a compaction the feed is %s, and was %s", after, erased)
	}
	s.Verify()
}

// TestPagesOfWholeTransactions: pages of the read model that end anywhere in transactions have the rows that one page has.
func TestPagesOfWholeTransactions(t *testing.T) {
	s := harness.OpenTemp(t, totalsModel)
	s.Put("orders", "alone", `{}`)
	transactAll(s, putOf("orders", "o", `{"customer":"c"}`), lineOf("l1", 10), lineOf("l2", 5))
	transactAll(s, `{"op":"delete","collection":"lines","id":"l1"}`, lineOf("l3", 20), putOf("orders", "o", `{"customer":"d"}`), lineOf("l4", 1))
	s.Put("lines", "l5", `{"order":"o","amount":100}`)
	transactAll(s, putOf("orders", "p", `{}`), lineOf("l2", 6), putOf("orders", "p2", `{}`))
	transactAll(s, lineOf("l6", 7), putOf("orders", "o", `{"customer":"e"}`), lineOf("l7", 8))
	transactAll(s, `{"op":"delete","collection":"orders","id":"o"}`, putOf("orders", "q", `{}`))
	rows := func(q fanfold.ChangeQuery) (list []string) {
		if err := s.Node.Store.Read(func(sn *sqlite.Snapshot) error {
			for {
				page, err := sn.Changes(q)
				for _, row := range page.Rows {
					text, err := json.Marshal(row)
					if err != nil {
						return err
					}
					list = append(list, string(text))
				}
				if err != nil || page.Last == q.After || page.Pending == 0 {
					return err
				}
				q.After = page.Last
			}
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, q := range []fanfold.ChangeQuery{{}, {Direct: true}, {View: fanfold.Referenced}, {NoCascades: true}, {Collections: []string{"orders"}}} {
		q.Docs, q.Limit = true, 1000
		want := rows(q)
		for q.Limit = 1; q.Limit < 40; q.Limit++ {
			if got := rows(q); !slices.Equal(got, want) {
				t.Errorf("%+v: the rows are\n%s\nwant\n%s", q, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}
