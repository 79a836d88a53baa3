package tests

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

// linearClient is one worker: it talks to one node and remembers the tags of the values it saw.
type linearClient struct {
	t      *testing.T
	c      *harness.Client
	worker int
	rng    *rand.Rand
	began  time.Time
	tags   map[string]string
	last   [groupDocs]string // the values last seen
	n      int

	history []porcupine.Operation
	unknown int
}

// step does one random operation on the group.
func (l *linearClient) step(group int) {
	acts := l.choose()
	in := linearInput{Group: group, Acts: acts}
	call := time.Since(l.began)
	out, ok := l.do(in)
	end := time.Since(l.began)
	if !ok {
		return
	}
	if out.Kind == wasUnknown {
		l.unknown++
		end = 1 << 60
	}
	if out.Kind == wasRefused { // what was known is not so any more
		for _, a := range acts {
			l.last[a.Doc] = ""
		}
	}
	l.history = append(l.history, porcupine.Operation{ClientId: l.worker, Input: in, Output: out, Call: int64(call), Return: int64(end)})
}

func (l *linearClient) value() string {
	l.n++
	return fmt.Sprintf("w%d-%d", l.worker, l.n)
}

func (l *linearClient) choose() []act {
	if l.rng.IntN(4) == 0 { // a transaction over two or three documents
		var acts []act
		for _, doc := range l.rng.Perm(groupDocs)[:2+l.rng.IntN(groupDocs-1)] {
			a := act{Op: []string{"create", "put", "patch", "delete", "check"}[l.rng.IntN(5)], Doc: doc, Expect: l.last[doc]}
			if a.Op == "check" && a.Expect == "" {
				a.Op = "put"
			}
			if a.Op == "create" || l.rng.IntN(3) == 0 && a.Op != "check" {
				a.Expect = ""
			}
			a.Value = l.value()
			acts = append(acts, a)
		}
		return acts
	}
	a := act{Doc: l.rng.IntN(groupDocs)}
	switch l.rng.IntN(10) {
	case 0, 1, 2:
		a.Op = "get"
		return []act{a}
	case 3, 4:
		a.Op = "create"
	case 5, 6:
		a.Op, a.Expect = "put", l.last[a.Doc]
	case 7:
		a.Op = "put"
	case 8:
		a.Op = "patch"
	default:
		a.Op = "delete"
		if l.rng.IntN(2) == 0 {
			a.Expect = l.last[a.Doc]
		}
	}
	a.Value = l.value()
	return []act{a}
}

// do sends the operation. With a key it is sent again until its outcome is known; ok is false for
// one that certainly did nothing and has nothing to tell.
func (l *linearClient) do(in linearInput) (out linearOutput, ok bool) {
	method, path, body, headers := l.request(in)
	keyed := method != http.MethodGet && l.rng.IntN(2) == 0
	if keyed {
		headers = append(headers, "Idempotency-Key", fmt.Sprintf("g%d-w%d-%d", in.Group, l.worker, l.n))
	}
	for range 20 {
		r, err := l.c.Do(method, path, []byte(body), headers...)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED): // the node is not there, and was told nothing
		case err != nil:
			out.Kind = wasUnknown
		case r.Status < 300:
			return l.saw(in, r), true
		case r.Status == http.StatusNotFound && in.Acts[0].Op == "get":
			return linearOutput{}, true
		case r.Status == http.StatusNotFound || r.Status == http.StatusConflict || r.Status == http.StatusPreconditionFailed:
			return linearOutput{Kind: wasRefused}, true
		case r.Problem() == "urn:fanfold:problem:outcome-unknown":
			out.Kind = wasUnknown
		case r.Status == http.StatusServiceUnavailable || r.Status == http.StatusGatewayTimeout:
		default:
			l.t.Errorf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
			return out, false
		}
		if !keyed {
			break
		}
	}
	return out, out.Kind == wasUnknown && method != http.MethodGet
}

// saw reads what a successful answer tells.
func (l *linearClient) saw(in linearInput, r *harness.Response) linearOutput {
	first := in.Acts[0]
	if first.Op == "get" {
		var doc struct{ V string }
		if err := json.Unmarshal(r.Body, &doc); err != nil {
			l.t.Errorf("%s: %v", r.Body, err)
		}
		l.know(first.Doc, doc.V, r.Header.Get("ETag"))
		return linearOutput{Value: doc.V}
	}
	if len(in.Acts) == 1 {
		if first.Op == "delete" {
			l.last[first.Doc] = ""
		} else {
			l.know(first.Doc, first.Value, `"`+r.Header.Get("Fanfold-Revision")+`"`)
		}
		return linearOutput{}
	}
	var answer struct {
		Operations []struct{ Revision uint64 }
		Result     struct{ Operations []struct{ Revision uint64 } }
	}
	if err := json.Unmarshal(r.Body, &answer); err != nil {
		l.t.Errorf("%s: %v", r.Body, err)
	}
	ops := answer.Operations
	if len(ops) == 0 {
		ops = answer.Result.Operations
	}
	for i, a := range in.Acts {
		switch a.Op {
		case "delete":
			l.last[a.Doc] = ""
		case "check":
		default:
			l.know(a.Doc, a.Value, fmt.Sprintf(`"%d"`, ops[i].Revision))
		}
	}
	return linearOutput{}
}

func (l *linearClient) know(doc int, value, tag string) {
	l.last[doc] = value
	l.tags[value] = tag
}

func (l *linearClient) request(in linearInput) (method, path, body string, headers []string) {
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
				op += fmt.Sprintf(`,"ifMatch":%q`, l.tags[a.Expect])
			}
			ops = append(ops, op+"}")
		}
		return http.MethodPost, "/v1/_transactions", `{"operations":[` + strings.Join(ops, ",") + `]}`, nil
	}
	if a.Expect != "" {
		headers = []string{"If-Match", l.tags[a.Expect]}
	}
	switch a.Op {
	case "get":
		return http.MethodGet, harness.Path("docs", id) + "?consistency=strong", "", []string{"Fanfold-Timeout", "20"}
	case "create":
		return http.MethodPost, "/v1/docs", fmt.Sprintf(`{"id":%q,"v":%q}`, id, a.Value), headers
	case "patch":
		return http.MethodPatch, harness.Path("docs", id), fmt.Sprintf(`{"v":%q}`, a.Value), append(headers, "Content-Type", mergeType)
	case "delete":
		return http.MethodDelete, harness.Path("docs", id), "", headers
	default:
		return http.MethodPut, harness.Path("docs", id), fmt.Sprintf(`{"v":%q}`, a.Value), headers
	}
}

func docID(group, doc int) string { return fmt.Sprintf("g%d-%d", group, doc) }
