package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
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

// historyBook returns the text of a book in a version.
func historyBook(i, version int) string { return bookOf(i, version, 0) }

// bookOf returns the text of a book in a version, by an author.
func bookOf(i, version, author int) string {
	return fmt.Sprintf(`{"id":"%d","author":"%d","version":%d,"summary":"%0300d"}`, i, author, version, i)
}

// benchHistory measures reads of what was beside the same reads of what is. Each of so many books is written once by the log's filling,
// and once more by an import.
func benchHistory(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	s := benchStore{model: historyModel, authors: 1, books: documents, text: func(i int) string { return historyBook(i, 1) }}
	err = s.run(ctx, dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
		filled, err := n.Log.LastSeq(ctx)
		if err != nil {
			return err
		}
		if err := writeAgain(ctx, c, documents, func(i int) string { return historyBook(i, 2) }); err != nil {
			return err
		}
		h := historyBench{n: n, c: c, books: documents, filled: filled}
		if h.last, err = n.Log.LastSeq(ctx); err != nil {
			return err
		}
		for _, part := range []func(ctx context.Context) error{h.reads, h.differences, h.children} {
			if err := part(ctx); err != nil {
				return err
			}
		}
		results = h.results
		return nil
	})
	return results, err
}

// writeAgain imports the next version of every book, "" for none.
func writeAgain(ctx context.Context, c *client.Client, documents int, text func(i int) string) error {
	const piece = 10_000
	for from := 0; from < documents; from += piece {
		var lines strings.Builder
		for i := from; i < min(from+piece, documents); i++ {
			if line := text(i); line != "" {
				lines.WriteString(line + "\n")
			}
		}
		if _, err := c.Import(ctx, strings.NewReader(lines.String()), client.ImportOptions{Collection: "books"}); err != nil {
			return err
		}
	}
	return nil
}

// historyBench is a store that is measured.
type historyBench struct {
	n            *node.Node
	c            *client.Client
	books        int
	filled, last uint64 // the last events of the first versions and of all
	results      []bench.Result
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
		r, err := bench.Pair{Name: c.name, Unit: "requests/s", Limit: c.limit,
			Ours: bench.Rate(ctx, h.n.Addr(), c.conns, bench.Gets(c.ours)), Plain: bench.Rate(ctx, h.n.Addr(), c.conns, bench.Gets(c.plain))}.Run()
		if err != nil {
			return err
		}
		h.results = append(h.results, r)
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
	book := func(n int) string { return "/v1/books/" + strconv.Itoa(n%h.books) }
	return h.compare(ctx,
		comparison{fmt.Sprintf("GET of the author %d changes ago, 16 connections", nearEvents), 16, always(fmt.Sprintf("%s?at=%d", author, h.filled-nearEvents)), "GET of it now", always(author)},
		comparison{fmt.Sprintf("GET of the author %d changes ago, 1 connection", h.books), 1, always(author + "?at=3"), "GET of it now", always(author)},
		comparison{"GET of books before their last write, 16 connections", 16, func(n int) string { return fmt.Sprintf("%s?at=%d", book(n), h.filled) }, "GET of them now", book},
		comparison{fmt.Sprintf("list of 100 books %d events ago, 16 connections", farEvents), 16, always(list + "&" + h.ago(farEvents)), "the list now", always(list)},
		comparison{fmt.Sprintf("list of 100 books %d events ago, 16 connections", h.books), 16, always(list + "&" + h.ago(h.books)), "the list now", always(list)},
		comparison{fmt.Sprintf("100 of %d versions, desc, 1 connection", h.books), 1, always(versions + "desc"), "a list of 100 documents", always(list)},
		comparison{fmt.Sprintf("100 of %d versions, asc, 1 connection", h.books), 1, always(versions + "asc"), "a list of 100 documents", always(list)})
}

// movedBooks says that one book in so many moves to another author.
const movedBooks = 10

// children measures the books of the author, with some that have moved since.
func (h *historyBench) children(ctx context.Context) error {
	if err := writeAgain(ctx, h.c, h.books, func(i int) string {
		if i%movedBooks > 0 {
			return ""
		}
		return bookOf(i, 3, 1)
	}); err != nil {
		return err
	}
	at, page := fmt.Sprintf("&at=%d", h.last), fmt.Sprintf("/v1/authors/0/books?page=%d", max(1, h.books/200))
	const list = "/v1/authors/0/books?limit=100"
	return h.compare(ctx, comparison{"100 children before 10% moved, 16 connections", 16, always(list + at), "the list now", always(list)},
		comparison{"a page before 10% of the children moved, 16 connections", 16, always(page + at), "the page now", always(page)})
}

// differences measures the first page of what differs between two states, and all of them.
func (h *historyBench) differences(ctx context.Context) error {
	file, err := bench.CurrentFile(h.n.Store)
	if err != nil {
		return err
	}
	db, err := bench.OpenPlain(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	from := h.last - min(farEvents, uint64(h.books))
	statement := fmt.Sprintf("SELECT number, previous FROM change WHERE position > %d", from<<20)
	for _, pages := range []string{"the first 1000", "all pages"} {
		r, err := bench.Pair{Name: fmt.Sprintf("%s of %d documents that differ", pages, min(farEvents, h.books)), Unit: "1/s", Limit: "the bare statement that reads the changes of all",
			Ours: func(run int) (float64, error) {
				// other states each time, so that nothing is known of them
				return differencesRate(ctx, h.c, client.DiffOptions{From: strconv.FormatUint(from+uint64(run)%10, 10), Limit: 1000}, pages == "all pages")
			}, Plain: func(int) (float64, error) {
				took, err := bench.PlainSeconds(ctx, db, statement)
				return 1 / took, err
			}}.Run()
		if err != nil {
			return err
		}
		h.results = append(h.results, r)
		from += 10
	}
	return nil
}

// differencesRate returns how many times a second the first page of what differs, or all of it, is read.
func differencesRate(ctx context.Context, c *client.Client, opt client.DiffOptions, all bool) (float64, error) {
	began := time.Now()
	for cursor := ""; ; {
		page, err := c.DiffPage(ctx, cursor, opt)
		if err != nil || !all || page.Next == "" {
			return 1 / time.Since(began).Seconds(), err
		}
		opt.From, opt.To, cursor = page.From, page.To, page.Next
	}
}
