//go:build !nofunctions

package function

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/js"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// Bounds of what one run reads.
const (
	MaxReads     = 1000    // documents
	MaxReadBytes = 8 << 20 // of their bodies
	MaxQueries   = 10      // query and children together
	defaultLimit = 100     // documents of a query that says nothing else
)

// host answers the calls of one run.
type host struct {
	world   writer.World
	model   *model.Model
	reads   int
	bytes   int
	queries int
	thrown  map[*js.Error]error
}

// newHost returns what answers the calls of one run.
func newHost(world writer.World, m *model.Model) *host {
	return &host{world: world, model: m, thrown: map[*js.Error]error{}}
}

// arguments are what a call was given, as JSON texts.
type arguments struct {
	name string
	list []json.RawMessage
}

// answer answers a call: see js.Host.
func (h *host) answer(ctx context.Context, name string, given []byte) ([]byte, error) {
	a := arguments{name: name}
	var text []byte
	var err error
	if json.Unmarshal(given, &a.list) == nil {
		text, err = h.call(ctx, a)
	} else { // the function has changed how arrays are written
		err = a.mistake("what it is given is written as no array")
	}
	if err == nil {
		return text, nil
	}
	if !slices.Contains(refusals, fanfold.CodeOf(err)) {
		return nil, err
	}
	e := &js.Error{Kind: js.Refused, Code: codeOf(err), Message: fanfold.MessageOf(err)}
	h.thrown[e] = err
	return nil, e
}

// refusals are the errors that are thrown in a function. Any other ends it.
var refusals = []fanfold.Code{fanfold.Invalid, fanfold.NotFound, fanfold.Exists, fanfold.Stale, fanfold.ConditionFailed, fanfold.CheckFailed, fanfold.Conflict,
	fanfold.Restricted, fanfold.Unprocessable, fanfold.TooLarge, fanfold.Forbidden, fanfold.NeedsIndex, fanfold.UnknownCollection,
	fanfold.FunctionFailed, fanfold.FunctionError}

// codeOf returns what a function is told as the code of an error: a trigger has given it to ctx.fail, or it is the type of the problem.
func codeOf(err error) string {
	if e, ok := err.(*fanfold.Error); ok && e.Function != nil && e.Function.Code != "" { //nolint:errorlint // the error itself is asked
		return e.Function.Code
	}
	return string(fanfold.CodeOf(err))
}

// call answers one call.
func (h *host) call(ctx context.Context, a arguments) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch a.name {
	case "get":
		return h.get(a)
	case "query":
		return h.query(a)
	case "children":
		return h.children(a)
	case "uuid":
		return jsondoc.Quote(h.world.UUID()), nil
	}
	return h.write(a)
}

// mistake returns the Invalid of a call.
func (a arguments) mistake(format string, args ...any) error {
	return fanfold.Errorf(fanfold.Invalid, "ctx.%s: %s", a.name, fmt.Sprintf(format, args...))
}

// at returns an argument, nil where it is not given, or null.
func (a arguments) at(i int) json.RawMessage {
	if i >= len(a.list) || string(a.list[i]) == "null" {
		return nil
	}
	return a.list[i]
}

// text returns an argument that is a text, "" where it is not given.
func (a arguments) text(i int, what string) (s string, err error) {
	if raw := a.at(i); raw == nil || json.Unmarshal(raw, &s) != nil {
		return "", a.mistake("%s must be a string", what)
	}
	return s, nil
}

// key returns the document that the first two arguments name.
func (a arguments) key() (key fanfold.Key, err error) {
	if key.Collection, err = a.text(0, "the collection"); err != nil {
		return key, err
	}
	raw := a.at(1)
	switch {
	case raw == nil:
		return key, a.mistake("the id must be a string or a number")
	case raw[0] == '"':
		key.ID, err = a.text(1, "the id")
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		key.ID = string(raw)
	default:
		return key, a.mistake("the id must be a string or a number")
	}
	if err == nil {
		err = key.Validate()
	}
	return key, err
}

// options reads an argument that is an object of options.
func (a arguments) options(i int, into any) error {
	raw := a.at(i)
	if raw == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return a.mistake("the options cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// most returns an Invalid where more arguments are given than a call takes.
func (a arguments) most(n int) error {
	if len(a.list) > n {
		return a.mistake("takes %d arguments at most", n)
	}
	return nil
}

// read counts a document that is read. The error is a FunctionLimit.
func (h *host) read(body []byte) error {
	h.reads++
	h.bytes += len(body)
	switch {
	case h.reads > MaxReads:
		return limit("reads", "the function reads more than %d documents: do less in one call", MaxReads)
	case h.bytes > MaxReadBytes:
		return limit("bytes", "the function reads more than %d MiB of documents: do less in one call", MaxReadBytes>>20)
	}
	return nil
}

// limit returns the FunctionLimit of a bound.
func limit(name, message string, args ...any) error {
	e := fanfold.Errorf(fanfold.FunctionLimit, message, args...)
	e.Function = &fanfold.FunctionFault{Limit: name}
	return e
}

// get answers ctx.get(collection, id, {view}).
func (h *host) get(a arguments) ([]byte, error) {
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	var options struct{ View string }
	if err := a.options(2, &options); err != nil {
		return nil, err
	}
	if v := options.View; v != "" && v != "embedded" && v != "referenced" {
		return nil, a.mistake("view is embedded or referenced, and not %q", fanfold.Clip(v))
	}
	if err := a.most(3); err != nil {
		return nil, err
	}
	body, err := h.world.Get(key, options.View == "embedded")
	if err != nil {
		return nil, err
	}
	return body, h.read(body)
}

// query answers ctx.query(collection, {filter, params, sort, limit}).
func (h *host) query(a arguments) ([]byte, error) {
	var options struct {
		Filter string
		Params json.RawMessage
		Sort   sortList
		Limit  *int
	}
	q := writer.Question{}
	var err error
	if q.Collection, err = a.text(0, "the collection"); err == nil {
		err = a.options(1, &options)
	}
	if err == nil {
		err = a.most(2)
	}
	if err != nil {
		return nil, err
	}
	q.Filter, q.Sort = options.Filter, options.Sort
	if q.Params = options.Params; string(q.Params) == "null" {
		q.Params = nil
	}
	return h.ask(a, q, options.Limit)
}

// sortList is one entry of a sort, or a list of them.
type sortList []string

// UnmarshalJSON takes a string or an array of strings.
func (s *sortList) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*s = make(sortList, 1)
		return json.Unmarshal(text, &(*s)[0])
	}
	return json.Unmarshal(text, (*[]string)(s))
}

// children answers ctx.children(collection, id, child, {relation, limit}).
func (h *host) children(a arguments) ([]byte, error) {
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	var options struct {
		Relation string
		Limit    *int
	}
	q := writer.Question{Target: key.ID}
	if q.Collection, err = a.text(2, "the collection of the children"); err == nil {
		err = a.options(3, &options)
	}
	if err == nil {
		err = a.most(4)
	}
	if err == nil {
		q.Relation, err = h.relation(a, q.Collection, key.Collection, options.Relation)
	}
	if err != nil {
		return nil, err
	}
	return h.ask(a, q, options.Limit)
}

// relation returns the full name of the relation by which a collection's documents refer to another one's. name may be "" where there is one only.
func (h *host) relation(a arguments, from, to, name string) (full string, err error) {
	var names []string
	for _, r := range h.model.RelationsTo(to) {
		if r.Collection == from && (name == "" || r.Name == name) {
			full = r.FullName()
			names = append(names, r.Name)
		}
	}
	switch {
	case len(names) == 0 && name != "":
		return "", a.mistake("%s has no relation %q to %s", from, fanfold.Clip(name), to)
	case len(names) == 0:
		return "", a.mistake("%s has no relation to %s", from, to)
	case len(names) > 1:
		return "", a.mistake("%s has several relations to %s: say which, {relation: %q}", from, to, names[0])
	}
	return full, nil
}

// ask answers a question with an array of documents.
func (h *host) ask(a arguments, q writer.Question, most *int) ([]byte, error) {
	if q.Limit = defaultLimit; most != nil {
		q.Limit = *most
	}
	if q.Limit < 1 || q.Limit > MaxReads {
		return nil, a.mistake("limit is from 1 to %d", MaxReads)
	}
	if h.queries++; h.queries > MaxQueries {
		return nil, limit("queries", "the function makes more than %d queries: do less in one call", MaxQueries)
	}
	out := []byte{'['}
	err := h.world.Ask(q, func(doc *fanfold.Document) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, doc.Body...)
		return h.read(doc.Body)
	})
	return append(out, ']'), err
}

// write answers ctx.put, create, patch and delete.
func (h *host) write(a arguments) (body []byte, err error) {
	op := &writer.Operation{Kind: writer.OperationKind(a.name), PatchType: fanfold.MergePatch}
	at := 2
	switch op.Kind {
	case writer.Create:
		at = 1
		op.Key.Collection, err = a.text(0, "the collection")
		if err == nil {
			err = fanfold.CheckCollection(op.Key.Collection)
		}
	case writer.Put, writer.Patch, writer.Delete:
		op.Key, err = a.key()
	default:
		return nil, a.mistake("there is no such call")
	}
	if err != nil {
		return nil, err
	}
	if op.Kind == writer.Delete {
		if err := a.most(2); err != nil {
			return nil, err
		}
		_, err := h.world.Write(op)
		return nil, err
	}
	if op.Content = a.at(at); op.Content == nil {
		return nil, a.mistake("the document is missing")
	}
	if op.Kind == writer.Patch && op.Content[0] == '[' {
		op.PatchType = fanfold.JSONPatch
	}
	if err := a.most(at + 1); err != nil {
		return nil, err
	}
	return h.world.Write(op)
}
