//go:build !nofunctions

package fn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/js"
)

// defaultLimit is how many documents a query of a test gives that says nothing else, as for a function.
const defaultLimit = 100

// store answers what tests ask of their store.
type store struct{ c *client.Client }

// given are the arguments of a call, as JSON texts, without its name.
type given []json.RawMessage

// at returns an argument, nil where it is not given, or null.
func (g given) at(i int) json.RawMessage {
	if i >= len(g) || string(g[i]) == "null" {
		return nil
	}
	return g[i]
}

// text returns an argument as a text: a string's, or a number's, which an id may be.
func (g given) text(i int) string {
	var text string
	if raw := g.at(i); raw != nil && json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return text
}

// answer answers a call: see js.Host.
func (s *store) answer(ctx context.Context, _ string, arguments []byte) ([]byte, error) {
	var list given
	if err := json.Unmarshal(arguments, &list); err != nil {
		return nil, err
	}
	text, err := s.ask(ctx, list.text(0), list[1:])
	var e *client.Error
	switch {
	case !errors.As(err, &e):
		return text, err
	case e.Function.Code != "":
		return nil, &js.Error{Kind: js.Refused, Code: e.Function.Code, Message: e.Detail}
	}
	message := e.Detail
	for _, p := range e.Problems {
		message += "\n  " + p.String()
	}
	return nil, &js.Error{Kind: js.Refused, Code: string(e.Code), Message: message}
}

// ask makes a request. The error is a *client.Error, or ctx's.
func (s *store) ask(ctx context.Context, what string, g given) ([]byte, error) {
	docs := client.Collection[json.RawMessage](s.c, g.text(0))
	switch what {
	case "call":
		return client.Call[json.RawMessage](ctx, s.c, g.text(0), g.at(1))
	case "get":
		doc, err := docs.Get(ctx, g.text(1))
		if errors.Is(err, client.NotFound) || errors.Is(err, client.UnknownCollection) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return doc.Value, nil
	case "query":
		return found(ctx, docs, client.Query{}, g.at(1))
	case "children":
		return found(ctx, client.Collection[json.RawMessage](s.c, g.text(2)), client.Query{Referring: &client.Target{Collection: g.text(0), ID: g.text(1)}}, g.at(3))
	}
	w, err := written(ctx, docs, what, g)
	if err != nil {
		return nil, err
	}
	return w.Body, nil
}

// written makes a write of one document.
func written(ctx context.Context, docs *client.Documents[json.RawMessage], what string, g given) (*client.Written, error) {
	full := client.ReturnBody()
	switch what {
	case "put":
		return docs.Put(ctx, g.text(1), g.at(2), full)
	case "create":
		return docs.Create(ctx, g.at(1), full)
	case "delete":
		return docs.Delete(ctx, g.text(1))
	}
	patch := g.at(2)
	if !bytes.HasPrefix(patch, []byte("[")) {
		return docs.Patch(ctx, g.text(1), patch, full)
	}
	var list client.JSONPatch
	d := json.NewDecoder(bytes.NewReader(patch))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return nil, &client.Error{Code: client.Invalid, Detail: "the patch cannot be read: " + err.Error()}
	}
	return docs.JSONPatch(ctx, g.text(1), list, full)
}

// found returns the documents of a query with options, as an array.
func found(ctx context.Context, docs *client.Documents[json.RawMessage], q client.Query, options json.RawMessage) ([]byte, error) {
	o := struct {
		Filter, Relation string
		Params           json.RawMessage
		Sort             any
		Limit            int
	}{Limit: defaultLimit}
	if options != nil {
		d := json.NewDecoder(bytes.NewReader(options))
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil {
			return nil, &client.Error{Code: client.Invalid, Detail: "the options cannot be read: " + err.Error()}
		}
	}
	q.Filter = o.Filter
	if o.Params != nil {
		q.Params = o.Params
	}
	switch sort := o.Sort.(type) {
	case string:
		q.Sort = []string{sort}
	case []any:
		for _, by := range sort {
			text, _ := by.(string)
			q.Sort = append(q.Sort, text)
		}
	}
	var opts []client.ReadOption
	if o.Relation != "" {
		opts = append(opts, client.Relation(o.Relation))
	}
	return arrayOf(docs.Query(ctx, q, opts...), o.Limit)
}

// arrayOf returns the first documents as an array.
func arrayOf(docs iter.Seq2[*client.Document[json.RawMessage], error], most int) ([]byte, error) {
	out := []byte{'['}
	for doc, err := range docs {
		if err != nil {
			return nil, err
		}
		if most--; most < 0 {
			break
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, doc.Value...)
	}
	return append(out, ']'), nil
}
