package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// transactionAnswer is the answer to a transaction, as far as these tests look.
type transactionAnswer struct {
	Position   string
	Operations []struct{ Collection, ID string }
}

// TestNamesInTransactions: later operations of a transaction use an id that the store makes, in their contents and as their own ids. A
// text is never taken for a name.
func TestNamesInTransactions(t *testing.T) {
	s := harness.OpenTemp(t, `{"collections":{"tickets":{"derive":{"comments":{"count":"comments.ticket"}}},"comments":{"relations":{"ticket":{"path":"ticketId","to":"tickets","strict":true}}}}}`)
	s.Put("lists", "l", `{"open":["a"]}`)
	s.Put("totals", "t", `{"last":"x","n":1}`)
	const ops = `{"operations":[
		{"op":"create","collection":"tickets","as":"ticket","body":{"title":"$ticket","ref":{"ref":"ticket"}}},
		{"op":"create","collection":"comments","as":"c-1","refs":{"/ticketId":"ticket","/deep/1/a~1b":"ticket","/":"ticket"},"body":{"text":"ticket","ticketId":null,"deep":[null, {"a/b" : null ,"x":null}],"":null}},
		{"op":"put","collection":"details","id":{"ref":"ticket"},"refs":{"/id":"ticket"},"body":{"id":null,"of":"ticket"}},
		{"op":"patch","collection":"lists","id":"l","refs":{"/0/value":"c-1"},"patch":[{"op":"add","path":"/open/-","value":null},{"op":"add","path":"/none","value":null}]},
		{"op":"patch","collection":"totals","id":"t","refs":{"/last":"ticket"},"patch":{"last":null,"n":null}},
		{"op":"check","collection":"gone","id":{"ref":"ticket"},"ifNoneMatch":"*"}]}`
	var first transactionAnswer
	harness.Decode(t, s.Want(http.StatusOK, "POST", "/v1/_transactions", ops, "Idempotency-Key", "k").Body, &first)
	ticket, comment := first.Operations[0].ID, first.Operations[1].ID
	if len(ticket) != 36 || first.Operations[2].ID != ticket || first.Operations[5].ID != ticket || comment == ticket {
		t.Errorf("the answer is %+v", first)
	}
	want := func() {
		t.Helper()
		s.WantDoc("tickets", ticket, fmt.Sprintf(`{"id":%q,"title":"$ticket","ref":{"ref":"ticket"},"comments":1}`, ticket))
		s.WantDoc("comments", comment, fmt.Sprintf(`{"id":%q,"text":"ticket","ticketId":%q,"deep":[null,{"a/b":%[2]q,"x":null}],"":%[2]q}`, comment, ticket))
		s.WantDoc("details", ticket, fmt.Sprintf(`{"id":%q,"of":"ticket"}`, ticket))
		s.WantDoc("lists", "l", fmt.Sprintf(`{"id":"l","open":["a",%q],"none":null}`, comment))
		s.WantDoc("totals", "t", fmt.Sprintf(`{"id":"t","last":%q}`, ticket))
	}
	want()
	for _, headers := range [][]string{nil, {"Prefer", "respond-async"}, {"Fanfold-Timeout", "0"}} { // under the key, the ids of then
		var again transactionAnswer
		harness.Decode(t, s.Want(http.StatusOK, "POST", "/v1/_transactions", ops, append(headers, "Idempotency-Key", "k")...).Body, &again)
		if fmt.Sprint(again.Operations) != fmt.Sprint(first.Operations) || again.Position != first.Position {
			t.Errorf("sent again it is answered with %+v, first with %+v", again, first)
		}
	}
	want()
	s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"create","collection":"a","id":7,"as":"seven","body":{}},{"op":"create","collection":"b","id":{"ref":"seven"},"refs":{"/a":"seven"},"body":{"a":null}}]}`)
	s.WantDoc("b", "7", `{"id":"7","a":"7"}`)
	s.Want(http.StatusOK, "POST", "/v1/_transactions?dryRun=true", strings.Replace(ops, `"ticketId":null`, `"ticketId":null,"n":2`, 1))
	r, err := s.Do("POST", "/v1/_transactions", []byte(ops), "Content-Type", "application/json", "Idempotency-Key", "k2", "Prefer", "respond-async")
	if err != nil || r.Status/100 != 2 || r.Status == http.StatusAccepted && strings.Count(string(r.Body), `"id":`) != 2 { // of the operations that name a document themselves
		t.Errorf("before it is folded the answer is %+v, %v", r, err)
	}
}

// TestBadNames: what is no name, or names nothing that was made before, is told with its operation, and nothing is written.
func TestBadNames(t *testing.T) {
	s := harness.OpenTemp(t, "")
	make1 := `{"op":"create","collection":"a","as":"x","body":{}}`
	refs := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"/l/%d":"x"`, i)
		}
		return `{"op":"create","collection":"b","body":{"l":[null` + strings.Repeat(",null", n-1) + `]},"refs":{` + strings.Join(list, ",") + `}}`
	}
	b := func(refs, body string) string {
		return make1 + `,{"op":"create","collection":"b","body":` + body + `,"refs":` + refs + `}`
	}
	for _, c := range []struct {
		ops  string
		at   int
		says string
	}{
		{make1 + "," + make1, 1, "already"},
		{`{"op":"create","collection":"b","body":{"a":null},"refs":{"/a":"x"}},` + make1, 0, `has "as":"x"`},
		{`{"op":"create","collection":"b","as":"me","body":{"a":null},"refs":{"/a":"me"}}`, 0, `has "as":"me"`},
		{`{"op":"delete","collection":"b","id":{"ref":"x"}}`, 0, `has "as":"x"`},
		{make1 + `,{"op":"put","collection":"b","id":{"ref":"y"},"body":{}}`, 1, `has "as":"y"`},
		{make1 + `,{"op":"put","collection":"b","id":{"ref":1},"body":{}}`, 1, "name"},
		{make1 + `,{"op":"put","collection":"b","id":{"of":"x"},"body":{}}`, 1, `{\"ref\":\"name\"}`},
		{make1 + `,{"op":"put","collection":"b","id":{"ref":"x","y":1},"body":{}}`, 1, `{\"ref\":\"name\"}`},
		{make1 + `,{"op":"put","collection":"b","id":{},"body":{}}`, 1, `{\"ref\":\"name\"}`},
		{make1 + `,{"op":"put","collection":"b","id":"1","as":"y","body":{}}`, 1, "unknown member"},
		{make1 + `,{"op":"delete","collection":"b","id":"1","refs":{"/a":"x"}}`, 1, "unknown member"},
		{make1 + `,{"op":"patch","collection":"a","id":{"ref":"x"},"patch":{}}`, 1, "in operation 0 already"},
		{`{"op":"create","collection":"b","as":"","body":{}}`, 0, "a letter"}, {`{"op":"create","collection":"b","as":"$x","body":{}}`, 0, "a letter"},
		{`{"op":"create","collection":"b","as":1,"body":{}}`, 0, "a letter"}, {`{"op":"create","collection":"b","as":"` + strings.Repeat("n", 65) + `","body":{}}`, 0, "64"},
		{b(`{}`, `{}`), 1, "refs is an object"}, {b(`[]`, `{}`), 1, "refs is an object"}, {b(`{"/a":2}`, `{"a":null}`), 1, "name"},
		{b(`{"/a":"x"}`, `{}`), 1, "nothing is at /a"}, {b(`{"/a":"x"}`, `{"a":"x"}`), 1, "is not null"}, {b(`{"/a":"x"}`, `{"a":[null]}`), 1, "is not null"},
		{b(`{"/a/b":"x"}`, `{"a":null}`), 1, "nothing is at /a/b"}, {b(`{"/a/1":"x"}`, `{"a":[null]}`), 1, "nothing is at /a/1"}, {b(`{"/a/00":"x"}`, `{"a":[null]}`), 1, "nothing is at /a/00"},
		{b(`{"/a/-":"x"}`, `{"a":[null]}`), 1, "nothing is at /a/-"}, {b(`{"":"x"}`, `{}`), 1, "JSON pointer"}, {b(`{"a":"x"}`, `{"a":null}`), 1, "JSON pointer"},
		{b(`{"/~2":"x","/~02":"x"}`, `{"~2":null}`), 1, "one place"}, {b(`{"/a":"x","/a/b":"x"}`, `{"a":null}`), 1, "not null"},
		{b(`{"/`+strings.Repeat("a", 1024)+`":"x"}`, `{}`), 1, "1024"},
		{make1 + "," + refs(101), 1, "100"},
		{b(`{"/id":"x"}`, `{"id":null,"_x":1}`), 1, "_x"},
	} {
		r, err := s.Do("POST", "/v1/_transactions", []byte(`{"operations":[`+c.ops+`]}`), "Content-Type", "application/json")
		var p struct {
			Detail    string
			Operation *int
		}
		if err != nil || json.Unmarshal(r.Body, &p) != nil || r.Status/100 != 4 || p.Operation == nil || *p.Operation != c.at || !strings.Contains(string(r.Body), strings.ReplaceAll(c.says, `"as":"`, `\"as\":\"`)[:len(c.says)]) {
			t.Errorf("%.200s: %v, %d %s", c.ops, err, r.Status, r.Body)
		}
	}
	s.Want(http.StatusNotFound, "GET", "/v1/b", "")
	s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[`+make1+`,`+refs(100)+`]}`)
}
