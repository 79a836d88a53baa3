package client

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
)

// AsOf has Get, GetSeveral, List, ListPage, Referring, Page and ExportAs read documents as they were at a position, such as Version.Seq, or at an RFC 3339 time. A
// position inside an event or a transaction stands for its end, and a time for the last event whose time is not later. The read waits
// until the server shows that position. Of Get, Document.Position is the one that was come to. All pages of List show the same state. A
// cursor of ListPage carries the state: pages after the first are asked for without AsOf. Errors are NotFound where the document was not
// there then, Invalid for a time in the future, Timeout, StoreChanged and PositionGone. It goes with neither Consistency nor Bounded, nor
// with Query.
func AsOf(moment string) ReadOption {
	return func(r *request) { r.query.Set("at", moment) }
}

// HistoryOptions say which versions of a document are wanted. The zero value stands for all of them, the newest first.
type HistoryOptions struct {
	OldestFirst bool
	// From and To are the first and the last position that count, or RFC 3339 times; "" for no bound.
	From, To  string
	NoDerived bool // only what was written
	NoDocs    bool // without the documents
	// Limit is how many versions a page has at most, up to 1,000; the server's default is 100.
	Limit int
}

// Version is one change of a document, as the feed tells it in mode All, and the document after it. Patch is a JSON Patch from the
// version before, in the view that was asked for. A create's Patch adds the whole document, and a delete's removes it. One of more than
// 16 MiB is left out. Previous is empty.
type Version[T any] struct {
	Change
	Value T // the document after the change, whose raw JSON also has the member _meta; zero of a delete, and under NoDocs
}

// HistoryPage is one page of a document's history.
type HistoryPage[T any] struct {
	Versions []*Version[T]
	Next     string // the cursor of the next page, "" after the last one
	Oldest   string // the oldest position whose history the store has
}

// History returns the versions of a document, in the view that the option View names. It asks for a page when the loop gets there. A
// document that was deleted and created again has one history. An error ends the loop. It is NotFound if there never was such a
// document, Invalid, Timeout, StoreChanged, or an error of every call.
func (d *Documents[T]) History(ctx context.Context, id string, h HistoryOptions, opts ...ReadOption) iter.Seq2[*Version[T], error] {
	return eachOfPages(func(cursor string) ([]*Version[T], string, error) {
		page, err := d.HistoryPage(ctx, id, cursor, h, opts...)
		if err != nil {
			return nil, "", err
		}
		return page.Versions, page.Next, nil
	})
}

// HistoryPage returns one page of what History returns. The first page's cursor is "". A page may have fewer versions than Limit says,
// and others after it. It returns the errors of History.
func (d *Documents[T]) HistoryPage(ctx context.Context, id, cursor string, h HistoryOptions, opts ...ReadOption) (*HistoryPage[T], error) {
	r := readRequest(documentPath(d.name, id, "_history"), opts)
	h.addTo(r)
	if cursor != "" {
		r.query.Set("cursor", cursor)
	}
	var answer struct {
		Items        []json.RawMessage
		Next, Oldest string
	}
	if err := d.c.sendJSON(ctx, r, &answer); err != nil {
		return nil, err
	}
	page := &HistoryPage[T]{Next: answer.Next, Oldest: answer.Oldest}
	for _, item := range answer.Items {
		change, err := parseChange(item)
		if err != nil {
			return nil, err
		}
		version := &Version[T]{Change: change}
		if version.Value, err = Decode[T](change.Doc); err != nil {
			return nil, err
		}
		page.Versions = append(page.Versions, version)
	}
	return page, nil
}

// addTo adds the options to a request.
func (h *HistoryOptions) addTo(r *request) {
	if h.OldestFirst {
		r.query.Set("order", "asc")
	}
	if h.From != "" {
		r.query.Set("from", h.From)
	}
	if h.To != "" {
		r.query.Set("to", h.To)
	}
	if h.NoDerived {
		r.query.Set("derived", "exclude")
	}
	if h.NoDocs {
		r.query.Set("include_docs", "false")
	}
	if h.Limit != 0 {
		r.query.Set("limit", strconv.Itoa(h.Limit))
	}
}
