package client

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/wire"
)

// DiffOptions say which states of the store are compared, and in what. From alone is needed.
type DiffOptions struct {
	// From and To are the earlier and the later state: positions, such as Version.Seq, or RFC 3339 times. "" as To stands for the present.
	// AsOf says what a position or a time stands for.
	From, To    string
	Collections []string // nil for all that may be read
	NoDerived   bool     // only documents that differ as they were written
	// Limit is how many documents a page has at most, up to 1,000; the server's default is 100.
	Limit int
}

// DocumentDifference is a document that differs between two states of the store. Before and After have the member _meta. A create has no
// Before and a delete no After.
type DocumentDifference = wire.DocumentDifference

// DiffPage is one page of what differs.
type DiffPage struct {
	From, To    string // the positions of both states
	Differences []*DocumentDifference
	Next        string // the cursor of the next page, "" after the last one
}

// Diff returns the documents that differ between two states of the store, by collection and id, in the view that the option View names. A
// document that came back to what it was is left out. It asks for a page when the loop gets there; all pages compare the same states. An
// error ends the loop. It is Invalid if From is later than To, UnknownCollection, Unprocessable for states that lie too far apart, Busy,
// Timeout, StoreChanged, PositionGone, or an error of every call.
func (c *Client) Diff(ctx context.Context, opt DiffOptions, opts ...ReadOption) iter.Seq2[*DocumentDifference, error] {
	return eachOfPages(func(cursor string) ([]*DocumentDifference, string, error) {
		page, err := c.DiffPage(ctx, cursor, opt, opts...)
		if err != nil {
			return nil, "", err
		}
		if page.Next != "" {
			opt.From, opt.To = page.From, page.To
		}
		return page.Differences, page.Next, nil
	})
}

// DiffPage returns one page of what Diff returns. The first page's cursor is "", and others have the From and To of that page. A page may
// have fewer documents than Limit says, or none, and others after it. It returns the errors of Diff.
func (c *Client) DiffPage(ctx context.Context, cursor string, opt DiffOptions, opts ...ReadOption) (*DiffPage, error) {
	r := readRequest("/v1/_diff", opts)
	opt.addTo(r)
	if cursor != "" {
		r.query.Set("cursor", cursor)
	}
	var answer struct {
		From, To, Next string
		Items          []json.RawMessage
	}
	if err := c.sendJSON(ctx, r, &answer); err != nil {
		return nil, err
	}
	page := &DiffPage{From: answer.From, To: answer.To, Next: answer.Next}
	for _, item := range answer.Items {
		difference := &DocumentDifference{Raw: item}
		if err := decode(item, difference); err != nil {
			return nil, err
		}
		page.Differences = append(page.Differences, difference)
	}
	return page, nil
}

// addTo adds the options to a request.
func (o *DiffOptions) addTo(r *request) {
	r.query.Set("from", o.From)
	if o.To != "" {
		r.query.Set("to", o.To)
	}
	if len(o.Collections) > 0 {
		r.query.Set("collections", strings.Join(o.Collections, ","))
	}
	if o.NoDerived {
		r.query.Set("derived", "exclude")
	}
	if o.Limit != 0 {
		r.query.Set("limit", strconv.Itoa(o.Limit))
	}
}
