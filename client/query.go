package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/wire"
)

// Query says which documents of a collection are wanted, and in which order. The zero value stands for all of them.
type Query struct {
	// Filter is an expression in CEL over doc, params and meta, such as doc.year > params.since; "" for all documents.
	Filter string
	// Params has the values of params in the filter, as a map or struct; nil for none. A value never becomes an expression.
	Params any
	// Sort has paths and expressions, each with "-" before it where it descends, such as -year and lower(doc.title).
	Sort []string
	// Fields has the paths that are kept of each document, which always has its id; nil for all.
	Fields []string
	// Limit is how many documents or groups a page has at most, up to 1,000; the server's default is 100.
	Limit int
	// MaxScan is how many documents the server may look at for one page, up to 100,000; its default is 10,000.
	MaxScan int
	// Partial has a page end early, perhaps without a document, where it would have looked at more. Otherwise the error is
	// NeedsIndex.
	Partial bool
	// Referring names a document of another collection to which those that are wanted refer; nil for all of the collection. The
	// option Relation says by which relation, where there are several.
	Referring *Target
	// OnNoValue is called where nothing matches, with how many documents the filter has no value for: a member may be misspelt.
	OnNoValue func(documents int64)
	// OnHints is called with sentences about members that the query names, where no document of a sample has them, but one with a like name.
	OnHints func(hints []string)
}

// Target names a document: one to which others refer, or one that is to be erased.
type Target struct{ Collection, ID string }

// queryBody is the body of a query's request.
type queryBody struct {
	wire.Query
	referring *Target // of the query
	onNoValue func(documents int64)
	onHints   func(hints []string)
}

// queryPage is the answer to a query.
type queryPage struct {
	Items   []json.RawMessage
	Groups  []*QueryGroup
	Next    string
	Count   int64
	NoValue int64 // documents for which the filter has no value, where nothing matches
	Hints   []string
	Explain json.RawMessage
}

// body returns the body of a request. The error is Invalid where Params cannot be written as JSON.
func (q *Query) body() (queryBody, error) {
	b := queryBody{wire.Query{Filter: q.Filter, Sort: q.Sort, Fields: q.Fields, Limit: q.Limit, MaxScan: q.MaxScan, Partial: q.Partial}, q.Referring, q.OnNoValue, q.OnHints}
	if q.Params == nil {
		return b, nil
	}
	text, err := encode(q.Params)
	b.Params = text
	return b, err
}

// ask sends one query, and passes on what the answer says of its filter.
func (d *Documents[T]) ask(ctx context.Context, body queryBody, opts []ReadOption) (*queryPage, error) {
	page, err := d.askPage(ctx, body, opts)
	if err == nil && page.NoValue > 0 && body.onNoValue != nil {
		body.onNoValue(page.NoValue)
	}
	if err == nil && len(page.Hints) > 0 && body.onHints != nil {
		body.onHints(page.Hints)
	}
	return page, err
}

// askPage sends one query.
func (d *Documents[T]) askPage(ctx context.Context, body queryBody, opts []ReadOption) (*queryPage, error) {
	if body.referring != nil {
		return d.askReferring(ctx, body, opts)
	}
	r := newRequest(http.MethodPost, "/v1/"+url.PathEscape(d.name)+"/_query")
	r.read, r.repeatable = true, true
	for _, opt := range opts {
		opt(r)
	}
	for name, into := range map[string]*string{"view": &body.View, "expand": &body.Expand} { // in the body, which may be long
		if v := r.query.Get(name); v != "" {
			*into = v
			r.query.Del(name)
		}
	}
	if v := r.query.Get("limit"); v != "" {
		limit, err := strconv.Atoi(v)
		if err != nil {
			return nil, &Error{Code: Invalid, Detail: fmt.Sprintf("limit %s is no number", v), Err: err, unsent: true}
		}
		body.Limit = limit
		r.query.Del("limit")
	}
	var err error
	if r.body, err = encode(body); err != nil {
		return nil, err
	}
	r.header.Set("Content-Type", "application/json")
	page := &queryPage{}
	return page, d.c.sendJSON(ctx, r, page)
}

// askReferring sends one query for documents that refer to one, for which there are parameters alone.
func (d *Documents[T]) askReferring(ctx context.Context, body queryBody, opts []ReadOption) (*queryPage, error) {
	to := body.referring
	r := readRequest("/v1/"+url.PathEscape(to.Collection)+"/"+url.PathEscape(to.ID)+"/"+url.PathEscape(d.name), opts)
	for name, value := range map[string]string{"filter": body.Filter, "params": string(body.Params), "cursor": body.Cursor, "sort": strings.Join(body.Sort, ","),
		"fields": strings.Join(body.Fields, ","), "group": strings.Join(body.Group, ","), "compute": strings.Join(body.Compute, ",")} {
		if value != "" {
			r.query.Set(name, value)
		}
	}
	for name, value := range map[string]int{"limit": body.Limit, "maxScan": body.MaxScan} {
		if value != 0 && !r.query.Has(name) {
			r.query.Set(name, strconv.Itoa(value))
		}
	}
	for name, value := range map[string]bool{"count": body.Count, "partial": body.Partial, "explain": body.Explain} {
		if value {
			r.query.Set(name, "true")
		}
	}
	page := &queryPage{}
	return page, d.c.sendJSON(ctx, r, page)
}

// Query returns the documents that a query wants. It asks for a page when the loop gets there. A document that stays in the
// result and keeps its place in the order comes exactly once, however much is written meanwhile. An error ends the loop. It is
// Invalid for a query that cannot be read, and NeedsIndex, with Error.Suggest, for one that would look at too much.
func (d *Documents[T]) Query(ctx context.Context, q Query, opts ...ReadOption) iter.Seq2[*Document[T], error] {
	return eachOfPages(func(cursor string) ([]*Document[T], string, error) { return d.QueryPage(ctx, q, cursor, opts...) })
}

// QueryPage returns one page of what a query wants. next is the cursor of the next page, "" after the last one. The first page's
// cursor is "". It returns the errors of Query.
func (d *Documents[T]) QueryPage(ctx context.Context, q Query, cursor string, opts ...ReadOption) (docs []*Document[T], next string, err error) {
	body, err := q.body()
	if err != nil {
		return nil, "", err
	}
	body.Cursor = cursor
	page, err := d.ask(ctx, body, opts)
	if err != nil {
		return nil, "", err
	}
	for _, item := range page.Items {
		doc, err := d.item(item)
		if err != nil {
			return nil, "", err
		}
		docs = append(docs, doc)
	}
	return docs, page.Next, nil
}

// Count returns how many documents match a query's filter. It returns the errors of Query.
func (d *Documents[T]) Count(ctx context.Context, q Query, opts ...ReadOption) (int64, error) {
	body, err := q.body()
	if err != nil {
		return 0, err
	}
	body.Count, body.Limit, body.Sort, body.Fields = true, 1, nil, []string{"id"}
	page, err := d.ask(ctx, body, opts)
	if err != nil {
		return 0, err
	}
	return page.Count, nil
}

// QueryGroup is one group of documents. Key and Values are JSON objects whose members are named as they were asked for. A document
// without a member is in the group whose key lacks it.
type QueryGroup struct {
	Key    json.RawMessage
	Values json.RawMessage
}

// Group returns the groups of the documents that match a query's filter. They come in the order of their keys, or by the query's
// Sort, which has entries of compute then. by has up to four paths or expressions; without any there is one group. compute has what
// is computed of each group, such as count and sum(price); nil for count. It returns the errors of Query.
func (d *Documents[T]) Group(ctx context.Context, q Query, by, compute []string, opts ...ReadOption) iter.Seq2[*QueryGroup, error] {
	return eachOfPages(func(cursor string) ([]*QueryGroup, string, error) {
		return d.GroupPage(ctx, q, by, compute, cursor, opts...)
	})
}

// GroupPage returns one page of what Group returns. next is the cursor of the next page, "" after the last one.
func (d *Documents[T]) GroupPage(ctx context.Context, q Query, by, compute []string, cursor string, opts ...ReadOption) (groups []*QueryGroup, next string, err error) {
	body, err := q.body()
	if err != nil {
		return nil, "", err
	}
	body.Group, body.Compute, body.Cursor = by, compute, cursor
	if len(by)+len(compute) == 0 {
		body.Compute = []string{"count"}
	}
	page, err := d.ask(ctx, body, opts)
	if err != nil {
		return nil, "", err
	}
	return page.Groups, page.Next, nil
}

// Explain has the server run a query, or the grouping of one where by or compute is given. It returns how the server did it:
// the index that it walked, what it looked at, and an index that would serve it better. It returns the errors of Query, apart
// from NeedsIndex.
func (d *Documents[T]) Explain(ctx context.Context, q Query, by, compute []string, opts ...ReadOption) (*QueryPlan, error) {
	body, err := q.body()
	if err != nil {
		return nil, err
	}
	body.Group, body.Compute, body.Explain = by, compute, true
	page, err := d.ask(ctx, body, opts)
	if err != nil {
		return nil, err
	}
	p := &QueryPlan{Raw: page.Explain}
	return p, decode(page.Explain, p)
}

// QueryPlan tells how a query was answered.
type QueryPlan struct {
	Index      string   // what was walked: an index, unique:members, relation:name or id; "" for all documents
	Conditions []string // the parts of the filter that the index decided
	Ranges     int      // of the index that were walked
	Order      string   // index, sorted or plan
	Residual   string   // what is left of the filter, which each document was asked
	Entries    int64    // of the index that were walked
	Documents  int64    // that were looked at
	Matched    int64
	NoValue    int64 // documents for which the filter has no value
	Complete   bool  // no bound was passed
	Seconds    float64
	Rejected   []struct{ Index, Why string } // why other indexes were not taken
	Suggest    json.RawMessage               // a merge patch for PatchModel with a better index; nil for none
	Raw        json.RawMessage               `json:"-"` // all that the server says
}
