package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// historyModel gives books the name of their one author, and the author a count: it changes with each book.
const historyModel = `{"collections":{"authors":{"derive":{"countOfBooks":{"count":"books.author"}}},"books":{
"relations":{"author":{"path":"author","to":"authors"}},"pages":{"by":"author","size":100},"derive":{"authorName":{"copy":"author","value":"doc.firstName"}}}}}`

// The distances of the states that benchHistory reads, in events.
const (
	nearEvents = 100
	farEvents  = 10_000
)

// bookOf makes the texts of books in a version, by an author.
func bookOf(version, author int) func(i int) string {
	return func(i int) string {
		return fmt.Sprintf(`{"id":"%d","author":"%d","version":%d,"summary":"%0300d"}`, i, author, version, i)
	}
}

// historyBench is a store that is measured.
type historyBench struct {
	*bench
	n            *node.Node
	c            *client.Client
	filled, last uint64 // the last events of the first versions and of all
}

// benchHistory measures reads of what was beside the same reads of what is. Each of so many books is written once by the log's filling,
// and once more by an import.
func benchHistory(ctx context.Context, b *bench) error {
	s := benchStore{model: historyModel, authors: 1, books: b.documents, text: bookOf(1, 0)}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, c *client.Client) (err error) {
		h := historyBench{bench: b, n: n, c: c}
		if h.filled, err = n.Log.LastSeq(ctx); err != nil {
			return err
		}
		if err := importBooks(ctx, c, b.documents, bookOf(2, 0)); err != nil {
			return err
		}
		if h.last, err = n.Log.LastSeq(ctx); err != nil {
			return err
		}
		for _, part := range []func(ctx context.Context) error{h.reads, h.differences, h.children} {
			if err := part(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// comparison is requests for what was beside those for what is.
type comparison struct {
	name  string
	conns int
	ours  func(n int) string // the path of request n
	limit string
	plain func(n int) string
}

// compare measures comparisons.
func (h *historyBench) compare(ctx context.Context, list ...comparison) error {
	for _, c := range list {
		err := h.pair(pair{name: c.name + ", " + connections(c.conns), unit: "requests/s", limit: c.limit,
			ours: rateOf(ctx, h.n.Addr(), c.conns, gets(c.ours)), plain: rateOf(ctx, h.n.Addr(), c.conns, gets(c.plain))})
		if err != nil {
			return err
		}
	}
	return nil
}

// ago returns the parameter for the state some events before the last.
func (h *historyBench) ago(events int) string {
	return "at=" + strconv.FormatUint(h.last-min(uint64(events), h.last-1), 10)
}

// always returns the same path for each request.
func always(path string) func(int) string { return func(int) string { return path } }

// reads measures documents, lists and versions. The author changed with each of the first versions of the books, and the books with each
// of the second ones. The author has as many versions as there are books.
func (h *historyBench) reads(ctx context.Context) error {
	const author, list, versions = "/v1/authors/0", "/v1/books?limit=100", "/v1/authors/0/_history?limit=100&order="
	book := func(n int) string { return "/v1/books/" + strconv.Itoa(n%h.documents) }
	return h.compare(ctx,
		comparison{fmt.Sprintf("GET of the author %d changes ago", nearEvents), 16, always(fmt.Sprintf("%s?at=%d", author, h.filled-nearEvents)), "GET of it now", always(author)},
		comparison{fmt.Sprintf("GET of the author %d changes ago", h.documents), 1, always(author + "?at=3"), "GET of it now", always(author)},
		comparison{"GET of books before their last write", 16, func(n int) string { return fmt.Sprintf("%s?at=%d", book(n), h.filled) }, "GET of them now", book},
		comparison{fmt.Sprintf("list of 100 books %d events ago", farEvents), 16, always(list + "&" + h.ago(farEvents)), "the list now", always(list)},
		comparison{fmt.Sprintf("list of 100 books %d events ago", h.documents), 16, always(list + "&" + h.ago(h.documents)), "the list now", always(list)},
		comparison{fmt.Sprintf("100 of %d versions, desc", h.documents), 1, always(versions + "desc"), "a list of 100 documents", always(list)},
		comparison{fmt.Sprintf("100 of %d versions, asc", h.documents), 1, always(versions + "asc"), "a list of 100 documents", always(list)})
}

// children measures the books of the author, with some that have moved since: one in ten.
func (h *historyBench) children(ctx context.Context) error {
	if err := importBooks(ctx, h.c, h.documents, func(i int) string {
		if i%10 > 0 {
			return ""
		}
		return bookOf(3, 1)(i)
	}); err != nil {
		return err
	}
	at, page := fmt.Sprintf("&at=%d", h.last), fmt.Sprintf("/v1/authors/0/books?page=%d", max(1, h.documents/200))
	const list = "/v1/authors/0/books?limit=100"
	return h.compare(ctx, comparison{"100 children before 10% moved", 16, always(list + at), "the list now", always(list)},
		comparison{"a page before 10% of the children moved", 16, always(page + at), "the page now", always(page)})
}

// differences measures the first page of what differs between two states, and all of them.
func (h *historyBench) differences(ctx context.Context) error {
	from := h.last - min(farEvents, uint64(h.documents))
	return withPlain(h.n.Store, func(db *sql.DB) error {
		for _, all := range []bool{false, true} {
			pages := map[bool]string{false: "the first 1000", true: "all pages"}[all]
			err := h.pair(pair{name: fmt.Sprintf("%s of %d documents that differ", pages, min(farEvents, h.documents)), unit: "1/s", limit: "the bare statement that reads the changes of all",
				ours: perSecond(1, func(run int) error { // other states each time, so that nothing is known of them
					return h.readDifferences(ctx, client.DiffOptions{From: strconv.FormatUint(from+uint64(run)%10, 10), Limit: 1000}, all)
				}), plain: perSecond(1, func(int) error {
					return readAll(ctx, db, fmt.Sprintf("SELECT number, previous FROM change WHERE position > %d", from<<20))
				})})
			if err != nil {
				return err
			}
			from += 10
		}
		return nil
	})
}

// readDifferences reads the first page of what differs, or all of it.
func (h *historyBench) readDifferences(ctx context.Context, opt client.DiffOptions, all bool) error {
	for cursor := ""; ; {
		page, err := h.c.DiffPage(ctx, cursor, opt)
		if err != nil || !all || page.Next == "" {
			return err
		}
		opt.From, opt.To, cursor = page.From, page.To, page.Next
	}
}
