package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// CollectionInfo says how many documents a collection holds.
type CollectionInfo = fanfold.CollectionCount

// Collections returns the collections that the model declares, and those that hold or ever held a document, by name. It asks
// for a page when the loop gets there. An error ends the loop.
func (c *Client) Collections(ctx context.Context, opts ...ReadOption) iter.Seq2[CollectionInfo, error] {
	return eachOfPages(func(cursor string) ([]CollectionInfo, string, error) {
		r := readRequest("/v1", opts)
		if cursor != "" {
			r.query.Set("cursor", cursor)
		}
		var list wire.Collections
		err := c.sendJSON(ctx, r, &list)
		all := make([]CollectionInfo, len(list.Collections))
		for i, of := range list.Collections {
			all[i] = CollectionInfo{Name: of.Name, Uncounted: of.Documents == nil, Declared: of.Declared}
			if of.Documents != nil {
				all[i].Documents = *of.Documents
			}
		}
		return all, list.Next, err
	})
}

// Sequence tells the last number that documents of a collection got.
type Sequence = fanfold.Counter

// Sequences returns the last numbers of a collection's sequences, "" for all collections. It asks for a page when the loop gets there. An
// error ends the loop.
func Sequences(ctx context.Context, c *Client, collection string, opts ...ReadOption) iter.Seq2[Sequence, error] {
	return eachOfPages(func(cursor string) ([]Sequence, string, error) {
		r := readRequest("/v1/_sequences", opts)
		if collection != "" {
			r.query.Set("collection", collection)
		}
		if cursor != "" {
			r.query.Set("cursor", cursor)
		}
		var list wire.Counters
		err := c.sendJSON(ctx, r, &list)
		return list.Items, list.Next, err
	})
}

// Bounds of one request for several documents; the server's are about the same.
const (
	maxIDs     = 1000
	maxIDBytes = 48 << 10 // in the URL
)

// GetSeveral returns the documents with these ids, in this order, all from one prefix of the log, and the ids without a
// document. An id that is given twice counts once. Without ids nothing is asked. It returns Invalid for more than 1,000
// ids or 48 KiB of them, UnknownCollection, Unprocessable for more documents than one answer takes, and the errors of
// every call.
func (d *Documents[T]) GetSeveral(ctx context.Context, ids []string, opts ...ReadOption) (docs []*Document[T], missing []string, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	r := readRequest("/v1/"+url.PathEscape(d.name), opts)
	r.query["id"] = ids
	if size := len(r.query.Encode()); len(ids) > maxIDs || size > maxIDBytes {
		return nil, nil, &Error{Code: Invalid, unsent: true, Detail: fmt.Sprintf("%d ids, of %d bytes in a URL, are more than one request takes: ask for up to %d, of %d bytes, at a time", len(ids), size, maxIDs, maxIDBytes)}
	}
	var list struct {
		Items   []json.RawMessage
		Missing []string
	}
	if err := d.c.sendJSON(ctx, r, &list); err != nil {
		return nil, nil, err
	}
	for _, text := range list.Items {
		doc, err := d.item(text)
		if err != nil {
			return nil, nil, err
		}
		docs = append(docs, doc)
	}
	return docs, list.Missing, nil
}
