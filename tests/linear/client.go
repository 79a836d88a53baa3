package linear

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fanfold/fanfold/tests/harness"
)

// Client is one worker: it talks to one node and remembers the tags of the values it saw.
type Client struct {
	T      *testing.T
	HTTP   *harness.Client
	Worker int
	Rand   *rand.Rand
	Began  time.Time
	Tags   map[string]string
	Last   [GroupDocs]string // the values last seen
	Wide   Width             // of the groups' last documents
	n      int

	History []porcupine.Operation
	Unknown int
}

// Step does one random operation on the group.
func (l *Client) Step(group int) {
	acts := l.choose()
	in := Input{Group: group, Acts: acts}
	call := time.Since(l.Began)
	out, ok := l.do(in)
	end := time.Since(l.Began)
	if !ok {
		return
	}
	if out.Kind == Unknown {
		l.Unknown++
		end = 1 << 60
	}
	if out.Kind == Refused { // what was known is not so any more
		for _, a := range acts {
			l.Last[a.Doc] = ""
		}
	}
	l.History = append(l.History, porcupine.Operation{ClientId: l.Worker, Input: in, Output: out, Call: int64(call), Return: int64(end)})
}

func (l *Client) value() string {
	l.n++
	return fmt.Sprintf("w%d-%d", l.Worker, l.n)
}

func (l *Client) choose() []Act {
	if l.Rand.IntN(4) == 0 { // a transaction over two or three documents
		var acts []Act
		for _, doc := range l.Rand.Perm(GroupDocs)[:2+l.Rand.IntN(GroupDocs-1)] {
			a := Act{Op: []string{"create", "put", "patch", "delete", "check"}[l.Rand.IntN(5)], Doc: doc, Expect: l.Last[doc]}
			if a.Op == "check" && a.Expect == "" {
				a.Op = "put"
			}
			if a.Op == "create" || l.Rand.IntN(3) == 0 && a.Op != "check" {
				a.Expect = ""
			}
			a.Value = l.value()
			acts = append(acts, a)
		}
		return acts
	}
	a := Act{Doc: l.Rand.IntN(GroupDocs)}
	switch l.Rand.IntN(10) {
	case 0:
		return getAll()
	case 1, 2:
		a.Op = "get"
		return []Act{a}
	case 3, 4:
		a.Op = "create"
	case 5, 6:
		a.Op, a.Expect = "put", l.Last[a.Doc]
	case 7:
		a.Op = "put"
	case 8:
		a.Op = "patch"
	default:
		a.Op = "delete"
		if l.Rand.IntN(2) == 0 {
			a.Expect = l.Last[a.Doc]
		}
	}
	a.Value = l.value()
	return []Act{a}
}

// do sends the operation. With a key it is sent again until its outcome is known; ok is false for
// one that certainly did nothing and has nothing to tell.
func (l *Client) do(in Input) (out Output, ok bool) {
	method, path, body, headers := l.request(in)
	keyed := method != http.MethodGet && l.Rand.IntN(2) == 0
	if keyed {
		headers = append(headers, "Idempotency-Key", fmt.Sprintf("g%d-w%d-%d", in.Group, l.Worker, l.n))
	}
	for range 20 {
		r, err := l.HTTP.Do(method, path, []byte(body), headers...)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED): // the node is not there, and was told nothing
		case err != nil:
			out.Kind = Unknown
		case r.Status < 300:
			return l.saw(in, r), true
		case r.Status == http.StatusNotFound && in.Acts[0].Op == "get" && len(in.Acts) == 1:
			return Output{}, true
		case r.Status == http.StatusNotFound || r.Status == http.StatusConflict || r.Status == http.StatusPreconditionFailed:
			return Output{Kind: Refused}, true
		case r.Problem() == "urn:fanfold:problem:outcome-unknown":
			out.Kind = Unknown
		case r.Status == http.StatusServiceUnavailable || r.Status == http.StatusGatewayTimeout:
		default:
			l.T.Errorf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
			return out, false
		}
		if !keyed {
			break
		}
	}
	return out, out.Kind == Unknown && method != http.MethodGet
}

// saw reads what a successful answer tells.
func (l *Client) saw(in Input, r *harness.Response) Output {
	first := in.Acts[0]
	ids := l.Wide.ids(in)
	switch {
	case first.Op == "get" && len(ids) > 1:
		return l.sawSeveral(in, r)
	case first.Op == "get":
		var doc struct{ V string }
		l.decode(r, &doc)
		l.know(first.Doc, doc.V, ids, r.Header.Get("ETag"))
		out := Output{}
		out.Values[first.Doc] = doc.V
		return out
	case len(ids) == 1 && first.Op == "delete":
		l.Last[first.Doc] = ""
		return Output{}
	case len(ids) == 1:
		l.know(first.Doc, first.Value, ids, `"`+r.Header.Get("Fanfold-Revision")+`"`)
		return Output{}
	}
	var answer struct {
		Operations []struct{ Revision uint64 }
		Result     struct{ Operations []struct{ Revision uint64 } }
	}
	l.decode(r, &answer)
	ops := answer.Operations
	if len(ops) == 0 {
		ops = answer.Result.Operations
	}
	for _, a := range in.Acts {
		ids := l.Wide.docIDs(in.Group, a.Doc)
		switch a.Op {
		case "delete":
			l.Last[a.Doc] = ""
		case "check":
		default:
			tags := make([]string, len(ids))
			for i := range ids {
				tags[i] = fmt.Sprintf(`"%d"`, ops[i].Revision)
			}
			l.know(a.Doc, a.Value, ids, tags...)
		}
		ops = ops[len(ids):]
	}
	return Output{}
}

// sawSeveral reads what a list of documents tells. The stored documents of a wide one are alike, or a part of a transaction is shown.
func (l *Client) sawSeveral(in Input, r *harness.Response) (out Output) {
	type document struct {
		ID, V string
		Meta  struct{ Rev uint64 } `json:"_meta"`
	}
	var list struct{ Items []document }
	l.decode(r, &list)
	byID := map[string]document{}
	for _, d := range list.Items {
		byID[d.ID] = d
	}
	for _, a := range in.Acts {
		ids := l.Wide.docIDs(in.Group, a.Doc)
		value := byID[ids[0]].V
		tags := make([]string, len(ids))
		for i, id := range ids {
			d := byID[id]
			tags[i] = fmt.Sprintf(`"%d"`, d.Meta.Rev)
			if d.V != value {
				l.T.Errorf("a part of a transaction is read: %s has %q, and %s %q", ids[0], value, id, d.V)
			}
		}
		l.Last[a.Doc] = ""
		if out.Values[a.Doc] = value; value != "" {
			l.know(a.Doc, value, ids, tags...)
		}
	}
	return out
}

// decode reads an answer.
func (l *Client) decode(r *harness.Response, into any) {
	if err := json.Unmarshal(r.Body, into); err != nil {
		l.T.Errorf("%s: %v", r.Body, err)
	}
}

// know notes a document's value, and by which tags its stored documents have it.
func (l *Client) know(doc int, value string, ids []string, tags ...string) {
	l.Last[doc] = value
	for i, id := range ids {
		l.Tags[id+" "+value] = tags[i]
	}
}

func (l *Client) request(in Input) (method, path, body string, headers []string) {
	a, ids := in.Acts[0], l.Wide.ids(in)
	switch {
	case a.Op == "get" && len(ids) > 1:
		return http.MethodGet, "/v1/docs?consistency=strong&ids=" + strings.Join(ids, ","), "", []string{"Fanfold-Timeout", "20"}
	case len(ids) > 1:
		return http.MethodPost, "/v1/_transactions", l.transaction(in), nil
	}
	id := ids[0]
	if a.Expect != "" {
		headers = []string{"If-Match", l.Tags[id+" "+a.Expect]}
	}
	switch a.Op {
	case "get":
		return http.MethodGet, harness.Path("docs", id) + "?consistency=strong", "", []string{"Fanfold-Timeout", "20"}
	case "create":
		return http.MethodPost, "/v1/docs", document(id, a.Value, 1), headers
	case "patch":
		return http.MethodPatch, harness.Path("docs", id), document(id, a.Value, 1), append(headers, "Content-Type", harness.MergeType)
	case "delete":
		return http.MethodDelete, harness.Path("docs", id), "", headers
	default:
		return http.MethodPut, harness.Path("docs", id), document(id, a.Value, 1), headers
	}
}

// document returns a stored document with a value, written as one of so many. No other one ever has its k.
func document(id, value string, of int) string {
	return fmt.Sprintf(`{"id":%q,"v":%q,"k":%q,"of":%d}`, id, value, id+" "+value, of)
}

// transaction returns the body of an operation on several stored documents.
func (l *Client) transaction(in Input) string {
	of := 0
	for _, a := range in.Acts {
		if a.Op != "check" && a.Op != "delete" {
			of += len(l.Wide.docIDs(in.Group, a.Doc))
		}
	}
	var ops []string
	for _, a := range in.Acts {
		for _, id := range l.Wide.docIDs(in.Group, a.Doc) {
			op := fmt.Sprintf(`{"op":%q,"collection":"docs","id":%q`, a.Op, id)
			switch a.Op {
			case "create", "put":
				op += `,"body":` + document(id, a.Value, of)
			case "patch":
				op += `,"patch":` + document(id, a.Value, of)
			}
			if a.Expect != "" {
				op += fmt.Sprintf(`,"ifMatch":%q`, l.Tags[id+" "+a.Expect])
			}
			ops = append(ops, op+"}")
		}
	}
	return `{"operations":[` + strings.Join(ops, ",") + `]}`
}

// ReadAll reads every document at the end: nothing acknowledged may be lost.
func ReadAll(t *testing.T, c *harness.Client, began time.Time, wide Width, groups int) []porcupine.Operation {
	t.Helper()
	l := &Client{T: t, HTTP: c, Worker: Writers, Began: began, Tags: map[string]string{}, Wide: wide}
	for g := range groups {
		in := Input{Group: g, Acts: getAll()}
		call := time.Since(began)
		method, path, _, _ := l.request(in)
		r, err := c.Do(method, path, nil, "Fanfold-Timeout", "30")
		if err != nil {
			t.Fatalf("reading at the end: %v", err)
		}
		if r.Status != http.StatusOK {
			t.Fatalf("reading at the end: %d %s", r.Status, r.Body)
		}
		out := l.saw(in, r)
		l.History = append(l.History, porcupine.Operation{ClientId: Writers, Input: in, Output: out, Call: int64(call), Return: int64(time.Since(began))})
	}
	return l.History
}
