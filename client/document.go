package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Document is one document as it was read.
type Document[T any] struct {
	Collection, ID string
	Value          T // the body; in a list raw JSON also has the member _meta, which a write drops
	Revision       uint64
	// ETag goes into IfMatch. From Get it goes into IfNoneMatch, too; from a list it lacks the version of the fold.
	ETag string
	// Position says, of Get, which prefix of the log the answer shows; of a list it is the document's last change.
	Position  string
	UpdatedAt time.Time // of the last write; of Get to the second
	CreatedAt time.Time // of a list; zero of Get
}

// Documents reads and writes the documents of one collection as values of type T. For raw JSON, T is json.RawMessage.
type Documents[T any] struct {
	c    *Client
	name string
}

// Collection returns the documents of a collection as values of type T. Nothing is asked of the server.
func Collection[T any](c *Client, name string) *Documents[T] { return &Documents[T]{c: c, name: name} }

// ReadOption says how documents are read.
type ReadOption func(r *request)

// Referenced reads documents as they were written, without derived fields.
func Referenced() ReadOption { return View("referenced") }

// View reads documents in a view by its name: embedded, with derived fields, which is the default, or referenced.
func View(name string) ReadOption { return func(r *request) { r.query.Set("view", name) } }

// Expand puts the documents that the relations refer to into the member _expanded; a dot leads on, as in
// authors.publisher.
func Expand(relations ...string) ReadOption {
	return func(r *request) { r.query.Set("expand", strings.Join(relations, ",")) }
}

// Fields keeps these paths of each document that Get, List, Referring and Page return, such as title or lines[].sku, up to 100.
// The id always stays. A path in a Go query is Query.Fields.
func Fields(paths ...string) ReadOption {
	return func(r *request) { r.query.Set("fields", strings.Join(paths, ",")) }
}

// Strong reads everything that was acknowledged before, on whatever node.
func Strong() ReadOption { return Consistency("strong") }

// Bounded reads from a node that lags by at most maxLag, a number of events, such as 10000, or a time, such as 30s. It
// waits for a node that lags more; the error is Lagging if that takes too long.
func Bounded(maxLag string) ReadOption {
	return func(r *request) {
		r.query.Set("consistency", "bounded")
		r.query.Set("maxLag", maxLag)
	}
}

// Eventual reads the node's present state. It may be an old one, on a node that catches up after its start, and older than
// this client has seen.
func Eventual() ReadOption { return Consistency("eventual") }

// Consistency reads under a level by its name: strong, session, prefix or eventual; bounded is Bounded. A session is what
// reads have without it, unless Options.NoSession says otherwise.
func Consistency(level string) ReadOption {
	return func(r *request) {
		if level != "session" { // the server wants a position with it, and there may be none yet
			r.query.Set("consistency", level)
		}
	}
}

// AtLeast waits until the node shows a position, such as Written.Position. The error is Timeout where it does not.
func AtLeast(position string) ReadOption {
	return func(r *request) { r.header.Set(headerMinPosition, position) }
}

// ReadWithin says how long a read waits for what it is to show; the server's default is 5 s, and a minute the most.
func ReadWithin(d time.Duration) ReadOption {
	return func(r *request) { r.header.Set(headerTimeout, d.String()) }
}

// IfNoneMatch makes Get answer with the error NotModified where the document still has this ETag.
func IfNoneMatch(etag string) ReadOption {
	return func(r *request) { r.header.Set("If-None-Match", etag) }
}

// PageSize says how many documents List and Referring ask for at a time, up to 1,000; the server's default is 100.
func PageSize(documents int) ReadOption {
	return func(r *request) { r.query.Set("limit", strconv.Itoa(documents)) }
}

// Relation names the relation that Referring and Page follow, where several lead from one collection to the other.
func Relation(name string) ReadOption {
	return func(r *request) { r.query.Set("relation", name) }
}

// readRequest returns a request of a read.
func readRequest(path string, opts []ReadOption) *request {
	r := newRequest(http.MethodGet, path)
	r.read = true
	for _, opt := range opts {
		opt(r)
	}
	return r
}

// Get returns a document. It returns NotFound, NotModified under IfNoneMatch, Timeout, and the errors of every call.
func (d *Documents[T]) Get(ctx context.Context, id string, opts ...ReadOption) (*Document[T], error) {
	a, err := d.c.send(ctx, readRequest(documentPath(d.name, id), opts))
	if err != nil {
		return nil, err
	}
	doc := &Document[T]{Collection: d.name, ID: id, ETag: a.header.Get("ETag"), Position: a.header.Get(headerPosition),
		Revision: parseRevision(a.header.Get(headerRevision))}
	doc.UpdatedAt, _ = http.ParseTime(a.header.Get("Last-Modified"))
	return doc, decode(a.body, &doc.Value)
}

// List returns all documents of the collection, by id. It asks for a page when the loop gets there, so that a long list
// shows documents as they are by then, or as they were: see AsOf. An error ends the loop.
func (d *Documents[T]) List(ctx context.Context, opts ...ReadOption) iter.Seq2[*Document[T], error] {
	return d.each(ctx, "/v1/"+url.PathEscape(d.name), opts)
}

// Referring returns the documents of the collection that refer to the one of another collection, in order of creation.
// Otherwise it is List. The error is NotFound where that document is not there, or no relation leads to it.
func (d *Documents[T]) Referring(ctx context.Context, collection, id string, opts ...ReadOption) iter.Seq2[*Document[T], error] {
	return d.each(ctx, documentPath(collection, id, d.name), opts)
}

// each returns the documents of a list, page by page.
func (d *Documents[T]) each(ctx context.Context, path string, opts []ReadOption) iter.Seq2[*Document[T], error] {
	further := append(slices.Clip(opts), func(r *request) { r.query.Del("at") }) // which the cursor carries
	return func(yield func(*Document[T], error) bool) {
		opts := opts // of this loop
		for cursor := ""; ; {
			items, next, err := d.list(ctx, path, cursor, opts)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range items {
				if doc, err := d.item(item); !yield(doc, err) || err != nil {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
			opts = further
		}
	}
}

// list returns the documents of one page of a list, and the cursor of the next page, "" for none.
func (d *Documents[T]) list(ctx context.Context, path, cursor string, opts []ReadOption) (items []json.RawMessage, next string, err error) {
	r := readRequest(path, opts)
	if cursor != "" {
		r.query.Set("cursor", cursor)
	}
	var list struct {
		Items []json.RawMessage
		Next  string
	}
	err = d.c.sendJSON(ctx, r, &list)
	return list.Items, list.Next, err
}

// ListPage returns the documents of one page of the collection, by id. next is the cursor of the next page, "" after the
// last one. The first page's cursor is "". PageSize says how many documents a page has at most.
func (d *Documents[T]) ListPage(ctx context.Context, cursor string, opts ...ReadOption) (docs []*Document[T], next string, err error) {
	items, next, err := d.list(ctx, "/v1/"+url.PathEscape(d.name), cursor, opts)
	if err != nil {
		return nil, "", err
	}
	for _, item := range items {
		doc, err := d.item(item)
		if err != nil {
			return nil, "", err
		}
		docs = append(docs, doc)
	}
	return docs, next, nil
}

// item returns a document of a list.
func (d *Documents[T]) item(text json.RawMessage) (*Document[T], error) {
	var item struct {
		ID   documentID
		Meta struct {
			Rev                  uint64
			Position             string
			CreatedAt, UpdatedAt time.Time
		} `json:"_meta"`
	}
	if err := decode(text, &item); err != nil {
		return nil, err
	}
	doc := &Document[T]{Collection: d.name, ID: string(item.ID), Revision: item.Meta.Rev, Position: item.Meta.Position,
		ETag: listTag(item.Meta.Rev, item.Meta.Position), CreatedAt: item.Meta.CreatedAt, UpdatedAt: item.Meta.UpdatedAt}
	return doc, decode(text, &doc.Value)
}

// Page is one of the fixed pages of the documents that refer to one: pages in the model.
type Page[T any] struct {
	Number, Pages int64
	Documents     []*Document[T]
}

// Page returns a page of the documents that refer to the one of another collection, from 1 on, or the last for 0. The
// error is NotFound where that document, or the page, is not there.
func (d *Documents[T]) Page(ctx context.Context, collection, id string, number int64, opts ...ReadOption) (*Page[T], error) {
	r := readRequest(documentPath(collection, id, d.name), opts)
	if r.query.Set("page", "last"); number != 0 {
		r.query.Set("page", strconv.FormatInt(number, 10))
	}
	var members map[string]json.RawMessage
	if err := d.c.sendJSON(ctx, r, &members); err != nil {
		return nil, err
	}
	p, items := &Page[T]{}, []json.RawMessage{}
	for name, into := range map[string]any{"page": &p.Number, "pages": &p.Pages, d.name: &items} {
		if err := decode(members[name], into); err != nil {
			return nil, err
		}
	}
	for _, item := range items {
		doc, err := d.item(item)
		if err != nil {
			return nil, err
		}
		p.Documents = append(p.Documents, doc)
	}
	return p, nil
}

// sendJSON sends a request and decodes the answer into out. It returns the errors of send.
func (c *Client) sendJSON(ctx context.Context, r *request, out any) error {
	a, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	return decode(a.body, out)
}
