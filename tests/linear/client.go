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
	case 0, 1, 2:
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
		case r.Status == http.StatusNotFound && in.Acts[0].Op == "get":
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
	if first.Op == "get" {
		var doc struct{ V string }
		if err := json.Unmarshal(r.Body, &doc); err != nil {
			l.T.Errorf("%s: %v", r.Body, err)
		}
		l.know(first.Doc, doc.V, r.Header.Get("ETag"))
		return Output{Value: doc.V}
	}
	if len(in.Acts) == 1 {
		if first.Op == "delete" {
			l.Last[first.Doc] = ""
		} else {
			l.know(first.Doc, first.Value, `"`+r.Header.Get("Fanfold-Revision")+`"`)
		}
		return Output{}
	}
	var answer struct {
		Operations []struct{ Revision uint64 }
		Result     struct{ Operations []struct{ Revision uint64 } }
	}
	if err := json.Unmarshal(r.Body, &answer); err != nil {
		l.T.Errorf("%s: %v", r.Body, err)
	}
	ops := answer.Operations
	if len(ops) == 0 {
		ops = answer.Result.Operations
	}
	for i, a := range in.Acts {
		switch a.Op {
		case "delete":
			l.Last[a.Doc] = ""
		case "check":
		default:
			l.know(a.Doc, a.Value, fmt.Sprintf(`"%d"`, ops[i].Revision))
		}
	}
	return Output{}
}

func (l *Client) know(doc int, value, tag string) {
	l.Last[doc] = value
	l.Tags[value] = tag
}

func (l *Client) request(in Input) (method, path, body string, headers []string) {
	a := in.Acts[0]
	id := docID(in.Group, a.Doc)
	if len(in.Acts) > 1 {
		var ops []string
		for _, a := range in.Acts {
			op := fmt.Sprintf(`{"op":%q,"collection":"docs","id":%q`, a.Op, docID(in.Group, a.Doc))
			switch a.Op {
			case "create", "put":
				op += fmt.Sprintf(`,"body":{"v":%q}`, a.Value)
			case "patch":
				op += fmt.Sprintf(`,"patch":{"v":%q}`, a.Value)
			}
			if a.Expect != "" {
				op += fmt.Sprintf(`,"ifMatch":%q`, l.Tags[a.Expect])
			}
			ops = append(ops, op+"}")
		}
		return http.MethodPost, "/v1/_transactions", `{"operations":[` + strings.Join(ops, ",") + `]}`, nil
	}
	if a.Expect != "" {
		headers = []string{"If-Match", l.Tags[a.Expect]}
	}
	switch a.Op {
	case "get":
		return http.MethodGet, harness.Path("docs", id) + "?consistency=strong", "", []string{"Fanfold-Timeout", "20"}
	case "create":
		return http.MethodPost, "/v1/docs", fmt.Sprintf(`{"id":%q,"v":%q}`, id, a.Value), headers
	case "patch":
		return http.MethodPatch, harness.Path("docs", id), fmt.Sprintf(`{"v":%q}`, a.Value), append(headers, "Content-Type", harness.MergeType)
	case "delete":
		return http.MethodDelete, harness.Path("docs", id), "", headers
	default:
		return http.MethodPut, harness.Path("docs", id), fmt.Sprintf(`{"v":%q}`, a.Value), headers
	}
}

// ReadAll reads every document at the end: nothing acknowledged may be lost.
func ReadAll(t *testing.T, c *harness.Client, began time.Time, groups int) (history []porcupine.Operation) {
	t.Helper()
	for g := range groups {
		for doc := range GroupDocs {
			call := time.Since(began)
			r, err := c.Do(http.MethodGet, harness.Path("docs", docID(g, doc))+"?consistency=strong", nil, "Fanfold-Timeout", "30")
			var d struct{ V string }
			switch {
			case err != nil || r.Status != http.StatusOK && r.Status != http.StatusNotFound:
				t.Fatalf("reading at the end: %v %+v", err, r)
			case r.Status == http.StatusOK:
				if err := json.Unmarshal(r.Body, &d); err != nil {
					t.Fatal(err)
				}
			}
			history = append(history, porcupine.Operation{ClientId: Writers, Input: Input{Group: g, Acts: []Act{{Op: "get", Doc: doc}}},
				Output: Output{Value: d.V}, Call: int64(call), Return: int64(time.Since(began))})
		}
	}
	return history
}
