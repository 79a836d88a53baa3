package client

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// Operation is one operation of a transaction: see Put, Create, Patch, Delete and Check.
type Operation struct {
	op, collection, id   string
	body                 any
	ifMatch, ifNoneMatch string
	condition            string
	params               any
	refresh              []string
	as, idOf             string
	refs                 map[string]string
}

// Put returns an operation that creates or replaces a document.
func Put(collection, id string, body any) Operation {
	return Operation{op: "put", collection: collection, id: id, body: body}
}

// Create returns an operation that creates a document. If id is "", it is the member id of the body, or the server makes
// one.
func Create(collection, id string, body any) Operation {
	return Operation{op: "create", collection: collection, id: id, body: body}
}

// Patch returns an operation that changes a document by a JSONPatch, or by a merge patch, which is any other value.
func Patch(collection, id string, patch any) Operation {
	return Operation{op: "patch", collection: collection, id: id, body: patch}
}

// Delete returns an operation that deletes a document.
func Delete(collection, id string) Operation {
	return Operation{op: "delete", collection: collection, id: id}
}

// Check returns an operation that changes nothing. It needs a condition, without which the transaction is not made.
func Check(collection, id string) Operation {
	return Operation{op: "check", collection: collection, id: id}
}

// IfMatch returns the operation with the condition that the document has the revision of an ETag.
func (o Operation) IfMatch(etag string) Operation {
	o.ifMatch = etag
	return o
}

// IfRevision returns the operation with the condition that the document has a revision.
// In a store that was restored, revisions that the stores before do not share need the whole ETag: see IfMatch.
func (o Operation) IfRevision(revision uint64) Operation { return o.IfMatch(revisionTag(revision)) }

// IfExists returns the operation with the condition that the document is there.
func (o Operation) IfExists() Operation { return o.IfMatch("*") }

// IfAbsent returns the operation, a put or a check, with the condition that the document is not there.
func (o Operation) IfAbsent() Operation {
	o.ifNoneMatch = "*"
	return o
}

// If returns the operation with a condition that must be true of the document as it was written: see the option If.
func (o Operation) If(condition string, params any) Operation {
	o.condition, o.params = condition, params
	return o
}

// Refresh returns the operation, a put or a patch, which takes frozen copies anew, by their paths.
func (o Operation) Refresh(fields ...string) Operation {
	o.refresh = fields
	return o
}

// As returns the operation, a create, with a name. Later operations of the transaction take the id of its document by
// that: see Ref and WithIDOf. A name is a letter, then letters, digits, - and _, up to 64 of them.
func (o Operation) As(name string) Operation {
	o.as = name
	return o
}

// Ref returns the operation with the id of a document that an earlier one, named by As, creates. The id takes the place of
// a null in the body or patch, to which the JSON pointer leads, such as /ticketId. An operation has up to 100 of them.
func (o Operation) Ref(pointer, name string) Operation {
	o.refs = maps.Clone(o.refs)
	if o.refs == nil {
		o.refs = map[string]string{}
	}
	o.refs[pointer] = name
	return o
}

// WithIDOf returns the operation about a document in another collection. It has the id of the document that an earlier
// operation, named by As, creates.
func (o Operation) WithIDOf(name string) Operation {
	o.idOf = name
	return o
}

// MarshalJSON returns the operation as the API takes it, with the body's bytes as they are.
func (o Operation) MarshalJSON() ([]byte, error) { return o.append(nil) }

// append appends the operation's JSON. Raw JSON stays as it is, byte for byte, which encoding/json does not leave it.
func (o Operation) append(b []byte) ([]byte, error) {
	b = append(b, '{')
	member := func(name string, value any) error {
		text, err := encode(value)
		if err != nil {
			return err
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(b, `"`+name+`":`...), text...)
		return nil
	}
	content := "body"
	if o.op == "patch" {
		content = "patch"
	}
	for _, m := range []struct {
		name  string
		value any
		has   bool
	}{
		{"op", o.op, true}, {"collection", o.collection, true}, {"id", o.id, o.id != "" && o.idOf == ""}, {"id", map[string]string{"ref": o.idOf}, o.idOf != ""}, {content, o.body, o.op != "delete" && o.op != "check"},
		{"ifMatch", o.ifMatch, o.ifMatch != ""}, {"ifNoneMatch", o.ifNoneMatch, o.ifNoneMatch != ""},
		{"if", o.condition, o.condition != ""}, {"params", o.params, o.params != nil}, {"refresh", o.refresh, len(o.refresh) > 0},
		{"as", o.as, o.as != ""}, {"refs", o.refs, len(o.refs) > 0},
	} {
		if m.has {
			if err := member(m.name, m.value); err != nil {
				return nil, err
			}
		}
	}
	return append(b, '}'), nil
}

// TransactionResult says what a transaction did.
type TransactionResult struct {
	wire.TransactionResult
	Folded  bool            `json:"-"` // see Written
	Derived int64           `json:"-"` // how many derived changes it caused
	Report  json.RawMessage `json:"-"` // of a DryRun
}

// OperationResult says what one operation did. Status is 201 where the document was created, and 204 otherwise; 0 where
// the transaction is not folded yet.
type OperationResult = wire.OperationResult

// Transact makes all operations or none, each document being in at most one of them. Everybody sees all of it at once. It
// takes up to 1,000 operations. Of the options those apply that are not about one document. The Operation of an *Error is
// the index of the operation at fault: Stale where a condition does not hold, Exists, NotFound, Restricted, Unprocessable.
func (c *Client) Transact(ctx context.Context, operations []Operation, opts ...WriteOption) (*TransactionResult, error) {
	body := []byte(`{"operations":[`)
	for i, o := range operations {
		if i > 0 {
			body = append(body, ',')
		}
		var err error
		if body, err = o.append(body); err != nil {
			return nil, err
		}
	}
	body = append(body, "]}"...)
	r, err := c.writeRequest(http.MethodPost, "/v1/_transactions", writeBody{json.RawMessage(body), "application/json"}, opts)
	if err != nil {
		return nil, err
	}
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.query.Get("dryRun") == "true" {
		return &TransactionResult{TransactionResult: wire.TransactionResult{Position: a.header.Get(headerPosition)}, Report: a.body}, nil
	}
	var answered struct {
		TransactionResult
		Result *TransactionResult // of one that is stored and not folded yet
	}
	if err := decode(a.body, &answered); err != nil {
		return nil, err
	}
	result := &answered.TransactionResult
	if answered.Result != nil {
		result = answered.Result
	}
	result.Folded, result.Derived = a.status != http.StatusAccepted, derived(a)
	return result, nil
}

// CallResult says what a call of a function did.
type CallResult struct {
	wire.CallResult
	Folded  bool            `json:"-"` // see Written
	Derived int64           `json:"-"` // how many derived changes it caused
	Report  json.RawMessage `json:"-"` // of a DryRun: the whole answer, with log, steps, memory and reads
}

// Into makes a Call fill result with everything that is known of it. Of other writes it changes nothing.
func Into(result *CallResult) WriteOption { return func(r *request) { r.into = result } }

// Now is the time at which a DryRun of a Call runs.
func Now(at time.Time) WriteOption {
	return func(r *request) { r.query.Set("now", at.UTC().Format(time.RFC3339Nano)) }
}

// Seed makes Math.random and the new ids of a DryRun of a Call always the same. It is at most 2^53.
func Seed(n uint64) WriteOption {
	return func(r *request) { r.query.Set("seed", strconv.FormatUint(n, 10)) }
}

// Call calls a function of the model with arguments, nil for null, and returns its result. The function reads, decides and writes, all or
// nothing, on a state that shows what this client has seen. Of the options those apply that are not about one document.
//
// Each call has a key of its own unless you give one, as each write has, so that it happens once. The result of a function that writes has at most 16 KiB then, and
// 64 KiB under Options.NoKeys. Errors are FunctionFailed, FunctionError, FunctionLimit, NotFound, Busy, Transact's, and BadAnswer for a result
// that is no R. The Function of an *Error has the code that the function gave.
func Call[R any](ctx context.Context, c *Client, name string, args any, opts ...WriteOption) (result R, err error) {
	r, err := c.writeRequest(http.MethodPost, "/v1/_functions/"+url.PathEscape(name), writeBody{args, "application/json"}, opts)
	if err != nil {
		return result, err
	}
	r.read = true
	a, err := c.send(ctx, r)
	if err != nil {
		return result, err
	}
	called, err := calledBy(a)
	if err != nil {
		return result, err
	}
	if r.query.Get("dryRun") == "true" {
		called.Report = a.body
	}
	if r.into != nil {
		*r.into = *called
	}
	return result, decode(called.Result, &result)
}

// calledBy returns what the answer to a call says.
func calledBy(a *answer) (*CallResult, error) {
	out := &CallResult{Folded: a.status != http.StatusAccepted, Derived: derived(a)}
	text := a.body
	if !out.Folded {
		var waited struct {
			Detail string // why it is not folded, where the server has waited for that
			Result json.RawMessage
		}
		if err := decode(text, &waited); err != nil {
			return nil, err
		}
		if waited.Detail != "" {
			text = waited.Result
		}
	}
	return out, decode(text, &out.CallResult)
}

// Function says what the model has of one function, and how often this node has run it since it started.
type Function = wire.Function

// Functions returns the functions of the model, by name.
func Functions(ctx context.Context, c *Client) ([]Function, error) {
	var list wire.FunctionList
	err := c.sendJSON(ctx, newRequest(http.MethodGet, "/v1/_functions"), &list)
	return list.Functions, err
}
